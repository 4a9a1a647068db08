//! Disk caches, shared by processes.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use warploom::program::{CacheKey, Cached, DiskCache, ProgramCache, Target};

use crate::caches::key;
use crate::trusted::entry;
use crate::{fake, program};

/// A folder of a test's own, gone when that ends.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("warploom-programs-{name}-{}", std::process::id()));
        fs::remove_dir_all(&path).ok();
        Folder(path)
    }

    pub(crate) fn open(&self, limit: u64) -> DiskCache {
        DiskCache::open(&self.0, limit).expect("the folder can be made")
    }

    pub(crate) fn file(&self, key: &CacheKey) -> PathBuf {
        let digits = key.to_string();
        self.0.join(&digits[..2]).join(&digits[2..])
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}

fn last_used(path: &Path, seconds_ago: u64) {
    let time = SystemTime::now() - Duration::from_secs(seconds_ago);
    File::options().write(true).open(path).and_then(|file| file.set_modified(time)).expect("the file is there");
}

#[test]
fn entries_survive_reopening_the_cache() -> warploom::Result<()> {
    let (nvrtc, folder) = (fake::open(), Folder::new("next"));
    let first = program("a").compile_cached(&nvrtc, Target::Cubin, &folder.open(1 << 20))?;
    assert_eq!(first.cached, Cached::Stored);
    fake::calls();
    let second = program("a").compile_cached(&nvrtc, Target::Cubin, &folder.open(1 << 20))?;
    assert_eq!((second.cached, second.code, fake::calls().len()), (Cached::Hit, first.code, 0));
    Ok(())
}

#[test]
fn a_damaged_truncated_or_empty_file_is_compiled_anew() -> warploom::Result<()> {
    let (nvrtc, folder) = (fake::open(), Folder::new("damaged"));
    let (cache, given) = (folder.open(1 << 20), program("a"));
    let file = folder.file(&given.cache_key(&nvrtc, Target::Ptx)?);
    given.compile_cached(&nvrtc, Target::Ptx, &cache)?;
    let whole = fs::read(&file).unwrap();
    let mut turned = whole.clone();
    *turned.last_mut().unwrap() ^= 0x80;
    for bytes in [&turned[..], &whole[..whole.len() - 1], &whole[..16], &[]] {
        fs::write(&file, bytes).unwrap();
        assert_eq!(given.compile_cached(&nvrtc, Target::Ptx, &cache)?.cached, Cached::Stored);
        assert_eq!(given.compile_cached(&nvrtc, Target::Ptx, &cache)?.cached, Cached::Hit);
        assert_eq!(fs::read(&file).unwrap(), whole);
    }
    Ok(())
}

/// A folder that only the user may write to, for any umask.
fn private_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(path)
}

#[test]
fn foreign_files_are_misses() -> io::Result<()> {
    let folder = Folder::new("foreign");
    let cache = folder.open(100);
    private_folder(&folder.file(&key("folder")))?;
    assert_eq!(cache.get(&key("folder"))?, None);
    private_folder(folder.file(&key("large")).parent().unwrap())?;
    fs::write(folder.file(&key("large")), [0; 101])?;
    assert_eq!(cache.get(&key("large"))?, None);
    #[cfg(unix)]
    {
        let link = folder.file(&key("link"));
        private_folder(link.parent().unwrap())?;
        std::os::unix::fs::symlink("/dev/zero", link)?;
        assert_eq!(cache.get(&key("link"))?, None);
    }
    Ok(())
}

#[test]
fn the_disk_is_limited_and_the_least_recently_used_entry_goes_first() -> io::Result<()> {
    let folder = Folder::new("limit");
    let cache = folder.open(30);
    for (name, ago) in [("a", 300), ("b", 200), ("c", 100)] {
        cache.put(&key(name), &entry(&[1; 10]))?;
        last_used(&folder.file(&key(name)), ago);
    }
    assert_eq!(cache.get(&key("a"))?, Some(entry(&[1; 10])));
    cache.put(&key("d"), &entry(&[2; 10]))?;
    let there = ["a", "b", "c", "d"].map(|name| cache.get(&key(name)).unwrap().is_some());
    assert_eq!((there, cache.len()?), ([true, false, true, true], 3));
    // As large as the cache: there is room for nothing else. Larger: it goes, and what was there before with
    // it.
    cache.put(&key("e"), &entry(&[3; 30]))?;
    assert_eq!((cache.get(&key("e"))?, cache.len()?), (Some(entry(&[3; 30])), 1));
    cache.put(&key("e"), &entry(&[4; 31]))?;
    assert_eq!((cache.get(&key("e"))?, cache.is_empty()?), (None, true));
    Ok(())
}

#[test]
fn keys_are_removed_and_all_is_cleared() -> io::Result<()> {
    let folder = Folder::new("clear");
    let cache = folder.open(1 << 20);
    for name in ["a", "b", "c"] {
        cache.put(&key(name), &entry(name.as_bytes()))?;
    }
    cache.remove(&key("a"))?;
    cache.remove(&key("a"))?;
    assert_eq!((cache.get(&key("a"))?, cache.len()?), (None, 2));
    fs::write(folder.0.join("note.txt"), "not of the cache's making")?;
    cache.clear()?;
    assert!(cache.is_empty()? && folder.0.join("note.txt").exists());
    Ok(())
}

#[test]
fn unfinished_files_of_ended_processes_are_removed_after_an_hour() -> io::Result<()> {
    let folder = Folder::new("sweep");
    let cache = folder.open(1 << 20);
    let (old, new) = (folder.0.join("tmp/old"), folder.0.join("tmp/new"));
    fs::write(&old, "")?;
    fs::write(&new, "")?;
    last_used(&old, 2 * 3600);
    cache.put(&key("a"), &entry(b"a"))?;
    assert!(!old.exists() && new.exists());
    assert_eq!(fs::read_dir(folder.0.join("tmp"))?.count(), 1);
    Ok(())
}

#[test]
fn a_folder_that_vanished_is_made_again() -> io::Result<()> {
    let folder = Folder::new("vanished");
    let cache = folder.open(1 << 20);
    fs::remove_dir_all(&folder.0)?;
    assert_eq!(cache.get(&key("a"))?, None);
    cache.put(&key("a"), &entry(b"a"))?;
    assert_eq!(cache.get(&key("a"))?, Some(entry(b"a")));
    Ok(())
}

#[test]
fn a_folder_that_cannot_be_is_an_error() -> io::Result<()> {
    let folder = Folder::new("file");
    fs::write(&folder.0, "a file")?;
    let opened = DiskCache::open(&folder.0, 1);
    fs::remove_file(&folder.0)?;
    assert!(opened.is_err());
    Ok(())
}

#[cfg(unix)]
#[test]
fn folders_and_files_are_for_the_user_alone() -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new("private");
    folder.open(1 << 20).put(&key("a"), &entry(b"a"))?;
    let file = folder.file(&key("a"));
    for (path, mode) in [(folder.0.as_path(), 0o700), (file.parent().unwrap(), 0o700), (&file, 0o600)] {
        assert_eq!(fs::metadata(path)?.permissions().mode() & 0o777, mode, "{}", path.display());
    }
    Ok(())
}

const SHARED: &str = "WARPLOOM_TEST_SHARED_CACHE";

/// The body of each of several processes; run as an ordinary test it has no folder, and does nothing.
#[test]
fn one_of_several_processes() -> io::Result<()> {
    let Some(folder) = std::env::var_os(SHARED) else { return Ok(()) };
    let cache = DiskCache::open(folder, 4 * 1024)?;
    let mut hits = 0;
    for round in 0..200_u32 {
        let name = (round % 8).to_string();
        match cache.get(&key(&name))? {
            Some(found) => {
                hits += 1;
                let bytes = found.as_bytes();
                assert!(bytes.len() >= 900 && bytes.iter().all(|byte| *byte == bytes[0]), "a file that is not whole");
            }
            None => cache.put(&key(&name), &entry(&vec![round.to_le_bytes()[0]; 900 + round as usize]))?,
        }
        if round % 16 == 0 {
            cache.remove(&key(&name))?;
        }
    }
    assert!(hits > 0);
    Ok(())
}

#[test]
fn several_processes_share_a_folder_and_each_file_is_whole() -> io::Result<()> {
    let folder = Folder::new("processes");
    let program = std::env::current_exe()?;
    let start = |_| {
        let mut command = Command::new(&program);
        command.args(["--exact", "disk::one_of_several_processes"]).env(SHARED, &folder.0);
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn()
    };
    let children = (0..4).map(start).collect::<io::Result<Vec<_>>>()?;
    for child in children {
        let output = child.wait_with_output()?;
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("1 passed"), "{said}");
    }
    let cache = folder.open(4 * 1024);
    cache.put(&key("last"), &entry(&[7; 900]))?;
    assert!(cache.len()? <= 4, "more than the limit was left");
    assert_eq!(fs::read_dir(folder.0.join("tmp"))?.count(), 0);
    Ok(())
}
