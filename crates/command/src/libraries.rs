//! Shared libraries that the command carries, and the folder in which programs find them.
//!
//! A release build carries the libraries as bytes, and writes them once into a private cache folder, under a
//! name made of their contents. A debug build links to the files that cargo built.

use std::fs::{self, DirBuilder};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, symlink};
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::{Carried, Library};

/// The name by which programs load the driver.
const DRIVER_NAME: &str = "libcuda.so.1";
/// The name that linkers, and some programs, look for.
const DRIVER_LINK: &str = "libcuda.so";
const PRELOAD_NAME: &str = "libwarploom_preload.so";

/// Libraries in their folder.
#[derive(Debug)]
pub(crate) struct Libraries {
    /// The folder for `LD_LIBRARY_PATH`.
    pub(crate) folder: PathBuf,
    pub(crate) driver: PathBuf,
    /// The library for `LD_PRELOAD`.
    pub(crate) preload: PathBuf,
}

impl Libraries {
    /// Puts the libraries into the cache folder, unless they are there.
    pub(crate) fn place(carried: Carried) -> Result<Self, Failure> {
        let (Some(driver), Some(preload)) = (carried.driver, carried.preload) else {
            return Err(Failure::new("this build of warploom carries no simulated library")
                .hint("build it with `cargo build --release` or `cargo install`"));
        };
        let mut hasher = DefaultHasher::new();
        (driver, preload).hash(&mut hasher);
        let folder = cache_folder()?.join(format!("libraries-{:016x}", hasher.finish()));
        let placed = || -> io::Result<Self> {
            private_folder(&folder)?;
            let libraries =
                Self { driver: folder.join(DRIVER_NAME), preload: folder.join(PRELOAD_NAME), folder: folder.clone() };
            place(driver, &libraries.driver)?;
            place(preload, &libraries.preload)?;
            link(Path::new(DRIVER_NAME), &folder.join(DRIVER_LINK))?;
            Ok(libraries)
        };
        placed().map_err(|error| Failure::file(&folder, error).hint("set XDG_CACHE_HOME to a folder of your own"))
    }
}

/// Writes a library, or links to the one that cargo built.
fn place((built, bytes): (&str, &[u8]), path: &Path) -> io::Result<()> {
    if bytes.is_empty() {
        fs::metadata(built).map_err(|error| io::Error::new(error.kind(), format!("{built}: {error}")))?;
        return link(Path::new(built), path);
    }
    if fs::read(path).is_ok_and(|present| present == bytes) {
        return Ok(());
    }
    // Programs that run on an older file keep it: the new one takes its place as a whole.
    let beside = beside(path);
    fs::write(&beside, bytes)?;
    fs::rename(&beside, path)
}

fn link(to: &Path, path: &Path) -> io::Result<()> {
    if fs::read_link(path).is_ok_and(|present| present == to) {
        return Ok(());
    }
    let beside = beside(path);
    match fs::remove_file(&beside) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => symlink(to, &beside)?,
    }
    fs::rename(&beside, path)
}

/// A name in the same folder that no other process uses.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}", std::process::id()));
    path.with_file_name(name)
}

/// The folder for what the command keeps: in `XDG_CACHE_HOME`, in `~/.cache`, else in the folder for
/// temporary files. It belongs to this user, and no other can write into it.
pub(crate) fn cache_folder() -> Result<PathBuf, Failure> {
    let set = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let user = rustix::process::geteuid().as_raw();
    let candidates = [
        set("XDG_CACHE_HOME").map(|cache| cache.join("warploom")),
        set("HOME").map(|home| home.join(".cache/warploom")),
        Some(std::env::temp_dir().join(format!("warploom-{user}"))),
    ];
    let mut problems = Vec::new();
    for folder in candidates.into_iter().flatten() {
        match private_folder(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) => problems.push(format!("{}: {error}", folder.display())),
        }
    }
    Err(Failure::new(format_args!("there is no folder for the simulated library: {}", problems.join("; ")))
        .hint("set XDG_CACHE_HOME to a folder of your own"))
}

/// Creates a folder that only this user can use, or checks one that is there.
pub(crate) fn private_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let about = fs::symlink_metadata(folder)?;
    let user = rustix::process::geteuid().as_raw();
    let problem = if !about.is_dir() {
        "it is a link, not a folder".to_owned()
    } else if about.uid() != user {
        format!("it belongs to user {}, and this is user {user}", about.uid())
    } else if about.mode() & 0o022 != 0 {
        format!("others can write into it (mode {:o}); chmod 700 it", about.mode() & 0o777)
    } else {
        return Ok(());
    };
    Err(io::Error::new(ErrorKind::PermissionDenied, problem))
}

/// Size and origin of a library, in words.
pub(crate) fn description(library: Library) -> Option<String> {
    let (path, bytes) = library?;
    let size = bytes.len();
    Some(if size == 0 { format!("a link to {path}") } else { format!("{} KiB in this program", size / 1024) })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn folder(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("warploom-libraries-{}-{name}", std::process::id()))
    }

    #[test]
    fn a_folder_that_others_can_write_is_refused() -> io::Result<()> {
        let folder = folder("open");
        private_folder(&folder)?;
        let mode = fs::metadata(&folder)?.mode() & 0o777;
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777))?;
        let open = private_folder(&folder);
        let link = folder.join("link");
        symlink(std::env::temp_dir(), &link)?;
        let linked = private_folder(&link);
        fs::remove_dir_all(&folder)?;
        assert_eq!(mode, 0o700);
        assert!(open.is_err_and(|error| error.to_string().contains("others can write into it (mode 777)")));
        assert!(linked.is_err_and(|error| error.to_string().contains("it is a link")));
        Ok(())
    }

    #[test]
    fn a_file_with_other_bytes_is_replaced_as_a_whole() -> io::Result<()> {
        let folder = folder("replaced");
        private_folder(&folder)?;
        let path = folder.join(DRIVER_NAME);
        fs::write(&path, "changed")?;
        let running = fs::File::open(&path)?;
        place(("", b"as built"), &path)?;
        let (present, kept) = (fs::read(&path)?, io::read_to_string(running)?);
        let inode = fs::metadata(&path)?.ino();
        place(("", b"as built"), &path)?;
        let (unchanged, files) = (fs::metadata(&path)?.ino() == inode, fs::read_dir(&folder)?.count());
        fs::remove_dir_all(&folder)?;
        assert_eq!((present.as_slice(), kept.as_str(), unchanged, files), (&b"as built"[..], "changed", true, 1));
        Ok(())
    }

    #[test]
    fn a_library_that_cargo_has_removed_is_named() {
        let error = place(("/absent/library.so", b""), &folder("absent")).map_err(|error| error.to_string());
        assert!(error.is_err_and(|error| error.contains("/absent/library.so")));
    }
}
