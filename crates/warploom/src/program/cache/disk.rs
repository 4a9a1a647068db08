//! A cache in a folder, shared by processes.

use std::ffi::OsString;
use std::fs::{self, File, FileTimes, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use super::{CacheKey, ProgramCache};

/// A file that is still written to is not older than this; an older one was left behind by a process that
/// ended.
const STALE: Duration = Duration::from_secs(3600);

/// Keeps bytes in files of a folder, up to a total size; the least recently used entry goes first.
///
/// ```text
/// FOLDER/3f/9c…       an entry: the key in hexadecimal, after two digits
/// FOLDER/tmp/…        files being written
/// ```
///
/// Any number of processes and threads may use one folder. A file is written beside the others and then
/// renamed, so that it is there whole or not at all; when it was last used is its time of modification. The
/// limit is enforced by each writer, and may be exceeded until it has done so.
///
/// The folder and its files are for the user alone. Every user with write access to it can have code run: do
/// not share it.
///
/// ```
/// use warploom::program::{CacheKey, DiskCache, ProgramCache};
///
/// # fn main() -> std::io::Result<()> {
/// # let folder = std::env::temp_dir().join(format!("warploom-example-{}", std::process::id()));
/// let key = CacheKey::builder("example").part("what", b"a text").finish();
/// DiskCache::open(&folder, 64 << 20)?.put(&key, b"bytes")?;
/// let later = DiskCache::open(&folder, 64 << 20)?;
/// assert_eq!(later.get(&key)?.as_deref(), Some(&b"bytes"[..]));
/// # std::fs::remove_dir_all(folder)
/// # }
/// ```
#[derive(Debug)]
pub struct DiskCache {
    folder: PathBuf,
    limit: u64,
}

struct Entry {
    path: PathBuf,
    bytes: u64,
    used: SystemTime,
}

impl DiskCache {
    /// The cache in this folder, which is made if it is not there, for at most `limit` bytes.
    ///
    /// # Errors
    ///
    /// If the folder cannot be made.
    pub fn open(folder: impl Into<PathBuf>, limit: u64) -> io::Result<DiskCache> {
        let cache = DiskCache { folder: folder.into(), limit };
        make_folder(&cache.unfinished())?;
        cache.sweep();
        Ok(cache)
    }

    /// The user's own: `warploom/programs` in `XDG_CACHE_HOME` or, if that is not set, in `.cache` of `HOME`.
    ///
    /// # Errors
    ///
    /// If neither is set to a folder's full path, and as [`DiskCache::open`].
    pub fn open_default(limit: u64) -> io::Result<DiskCache> {
        DiskCache::open(default_folder(|name| std::env::var_os(name))?, limit)
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn unfinished(&self) -> PathBuf {
        self.folder.join("tmp")
    }

    fn path(&self, key: &CacheKey) -> PathBuf {
        let digits = key.to_string();
        let (first, rest) = digits.split_at(2);
        self.folder.join(first).join(rest)
    }

    /// All entries, without those that other processes remove meanwhile.
    fn entries(&self) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for shelf in fs::read_dir(&self.folder)?.flatten() {
            let is_shelf = shelf.file_name().to_str().is_some_and(|name| is_hex(name, 2));
            let Some(files) = is_shelf.then(|| fs::read_dir(shelf.path()).ok()).flatten() else { continue };
            for file in files.flatten().filter(|file| file.file_name().to_str().is_some_and(|name| is_hex(name, 62))) {
                let Ok(about) = file.metadata() else { continue };
                let used = about.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                entries.push(Entry { path: file.path(), bytes: about.len(), used });
            }
        }
        Ok(entries)
    }

    /// Removes the least recently used entries until there is room.
    fn make_room(&self, kept: &Path) -> io::Result<()> {
        let mut entries = self.entries()?;
        let mut bytes: u64 = entries.iter().map(|entry| entry.bytes).sum();
        entries.sort_by_key(|entry| entry.used);
        for entry in entries.iter().filter(|entry| entry.path != kept) {
            if bytes <= self.limit {
                break;
            }
            remove_file(&entry.path)?;
            bytes -= entry.bytes;
        }
        Ok(())
    }

    /// Removes unfinished files. Nothing depends on it, so that errors are ignored.
    fn sweep(&self) {
        let Ok(files) = fs::read_dir(self.unfinished()) else { return };
        for file in files.flatten() {
            let age = file.metadata().and_then(|about| about.modified()).ok().and_then(|time| time.elapsed().ok());
            if age.is_some_and(|age| age > STALE) {
                remove_file(&file.path()).ok();
            }
        }
    }

    fn write(&self, temporary: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut file = new_file(temporary)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        drop(file);
        path.parent().map_or(Ok(()), make_folder)?;
        fs::rename(temporary, path)
    }
}

impl ProgramCache for DiskCache {
    fn get(&self, key: &CacheKey) -> io::Result<Option<Vec<u8>>> {
        let path = self.path(key);
        // Opening what is no file may wait for ever, and what is larger than the cache is none of its own.
        match fs::symlink_metadata(&path) {
            Ok(about) if about.is_file() && about.len() <= self.limit => {}
            Ok(_) => return Ok(None),
            Err(error) => return absent(error, None),
        }
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) => return absent(error, None),
        };
        let mut bytes = Vec::new();
        (&file).take(self.limit).read_to_end(&mut bytes)?;
        // If that is not permitted, the entry is only evicted sooner.
        file.set_times(FileTimes::new().set_modified(SystemTime::now())).ok();
        Ok(Some(bytes))
    }

    fn put(&self, key: &CacheKey, bytes: &[u8]) -> io::Result<()> {
        if bytes.len() as u64 > self.limit {
            return self.remove(key);
        }
        let (temporary, path) = (self.unfinished().join(unique()), self.path(key));
        // Someone may have removed the folder since it was opened.
        make_folder(&self.unfinished())?;
        if let Err(error) = self.write(&temporary, &path, bytes) {
            remove_file(&temporary)?;
            return Err(error);
        }
        self.sweep();
        self.make_room(&path)
    }

    fn remove(&self, key: &CacheKey) -> io::Result<()> {
        remove_file(&self.path(key))
    }

    fn clear(&self) -> io::Result<()> {
        self.entries()?.iter().try_for_each(|entry| remove_file(&entry.path))
    }

    fn len(&self) -> io::Result<usize> {
        Ok(self.entries()?.len())
    }
}

/// The user's cache folder, from the environment.
fn default_folder(variable: impl Fn(&str) -> Option<OsString>) -> io::Result<PathBuf> {
    let full = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = full("XDG_CACHE_HOME").or_else(|| full("HOME").map(|home| home.join(".cache")));
    let missing = "neither XDG_CACHE_HOME nor HOME names a folder; open one by its path";
    Ok(base.ok_or_else(|| io::Error::new(ErrorKind::NotFound, missing))?.join("warploom/programs"))
}

fn is_hex(name: &str, len: usize) -> bool {
    name.len() == len && name.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// A name that no other thread and no other process has.
fn unique() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.as_nanos());
    format!("{}-{now:x}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

fn absent<T>(error: io::Error, none: T) -> io::Result<T> {
    if error.kind() == ErrorKind::NotFound { Ok(none) } else { Err(error) }
}

/// Removes a file, if it is still there.
fn remove_file(path: &Path) -> io::Result<()> {
    fs::remove_file(path).or_else(|error| absent(error, ()))
}

fn make_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(path)
}

fn new_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.write(true).create_new(true).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(cache: Option<&str>, home: Option<&str>) -> Result<PathBuf, ErrorKind> {
        let found = default_folder(|name| if name == "HOME" { home } else { cache }.map(OsString::from));
        found.map_err(|error| error.kind())
    }

    #[test]
    fn the_users_cache_is_where_the_environment_says() {
        let own = |path: &str| Ok(PathBuf::from(path));
        assert_eq!(folder(Some("/cache"), Some("/home/a")), own("/cache/warploom/programs"));
        assert_eq!(folder(None, Some("/home/a")), own("/home/a/.cache/warploom/programs"));
        assert_eq!(folder(Some("cache"), Some("/home/a")), own("/home/a/.cache/warploom/programs"), "no full path");
        assert_eq!(folder(None, Some("a")), Err(ErrorKind::NotFound));
        assert_eq!(folder(None, None), Err(ErrorKind::NotFound));
    }
}
