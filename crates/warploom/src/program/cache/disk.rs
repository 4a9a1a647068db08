//! A cache in a folder, shared by processes.
#![expect(unsafe_code, reason = "trusts entries in files that only the user may write to")]

use std::ffi::OsString;
use std::fs::{self, File, FileTimes, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use super::trust::{check, check_path};
use super::{CacheEntry, CacheKey, ProgramCache};

/// A file that is still written to is not older than this; an older one was left behind by a process that
/// ended.
const STALE: Duration = Duration::from_secs(3600);

/// Keeps entries in files of a folder, up to a total size; the least recently used entry goes first.
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
/// # Trust
///
/// Code in an entry is loaded and linked without further checks: a user with write access to the folder can
/// have code run by this process. So an entry is used only if
///
/// - the folder, the folder in it and the file belong to the user that the process runs as, or to root, and
///   neither their group nor others may write to them. They are made that way, and checked at every use, on
///   Unix; otherwise there is a [`CacheTrustError`](super::CacheTrustError), and the program is compiled as
///   without a cache;
/// - the key in it is the one asked for, and its digest is that of its content: damage is found.
///
/// The user, root, and all programs that they run are trusted. Folders above this one are not checked: nobody
/// else should be able to rename it.
///
/// ```
/// use warploom::program::{Cached, DiskCache, Linker, ObjectCode};
/// use warploom::Driver;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = std::env::temp_dir().join(format!("warploom-example-{}", std::process::id()));
/// let context = Driver::open(&warploom_sim::Machine::preset("h200")?)?.device(0)?.context()?;
/// let ptx = ".version 8.3\n.target sm_75\n.address_size 64\n.visible .entry k() { ret; }";
/// let code = ObjectCode::from_ptx("k", ptx)?;
/// let linker = Linker::new("k", context.device().compute_capability()?).input(code);
/// linker.link_cached_by_driver(&context, &DiskCache::open(&folder, 64 << 20)?)?;
/// let later = linker.link_cached_by_driver(&context, &DiskCache::open(&folder, 64 << 20)?)?;
/// assert_eq!(later.cached, Cached::Hit);
/// # std::fs::remove_dir_all(folder)?;
/// # Ok(())
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
    /// If the folder cannot be made, and a [`CacheTrustError`](super::CacheTrustError) in an error of the
    /// kind `PermissionDenied` if other users may write to it.
    pub fn open(folder: impl Into<PathBuf>, limit: u64) -> io::Result<DiskCache> {
        let cache = DiskCache { folder: folder.into(), limit };
        check_path(&cache.folder)?;
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

    /// Refuses an entry's folders if other users may write to them.
    fn check_folders(&self, path: &Path) -> io::Result<()> {
        check_path(&self.folder)?;
        path.parent().map_or(Ok(()), check_path)
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
        self.check_folders(path)?;
        fs::rename(temporary, path)
    }
}

impl ProgramCache for DiskCache {
    fn get(&self, key: &CacheKey) -> io::Result<Option<CacheEntry>> {
        let path = self.path(key);
        // Opening what is no file may wait for ever, and what is larger than the cache is none of its own.
        match fs::symlink_metadata(&path) {
            Ok(about) if about.is_file() && about.len() <= self.limit => {}
            Ok(_) => return Ok(None),
            Err(error) => return absent(error, None),
        }
        self.check_folders(&path)?;
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) => return absent(error, None),
        };
        check(&path, &file.metadata()?)?;
        let mut bytes = Vec::new();
        (&file).take(self.limit).read_to_end(&mut bytes)?;
        // If that is not permitted, the entry is only evicted sooner.
        file.set_times(FileTimes::new().set_modified(SystemTime::now())).ok();
        // SAFETY: only this user and root have written to the file and its folders, which they are trusted
        // with: both could change this very program. The key and the digest are compared by the caller.
        Ok(Some(unsafe { CacheEntry::from_bytes(bytes) }))
    }

    fn put(&self, key: &CacheKey, entry: &CacheEntry) -> io::Result<()> {
        let bytes = entry.as_bytes();
        if bytes.len() as u64 > self.limit {
            return self.remove(key);
        }
        let (temporary, path) = (self.unfinished().join(unique()), self.path(key));
        check_path(&self.folder)?;
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
