//! Owners and permissions of the files of a disk cache.

use std::io;
use std::path::{Path, PathBuf};

/// A reason not to trust a file or folder of a [`DiskCache`](super::DiskCache); in the `io::Error` of its
/// functions, and in [`Cached::Untrusted`](crate::program::Cached::Untrusted).
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CacheTrustError {
    /// It belongs to another user.
    #[error("{} belongs to user {owner}, and this process runs as user {user}; use a folder of your own", path.display())]
    Owner {
        /// The file or folder.
        path: PathBuf,
        /// The user that it belongs to.
        owner: u32,
        /// The user that the process runs as.
        user: u32,
    },

    /// Users other than its owner may write to it.
    #[error(
        "{} has mode {mode:03o}, which lets users other than its owner write to it; change that with `chmod go-w`, or use a \
         folder of your own",
        path.display()
    )]
    Writable {
        /// The file or folder.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
}

/// Refuses a file or folder that users other than this process's, and root, may have written to. An absent
/// one is no reason to.
pub(super) fn check_path(path: &Path) -> io::Result<()> {
    match path.metadata() {
        Ok(about) => check(path, &about),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// As [`check_path`], for a file that is open: another may have its name by now.
#[cfg(unix)]
pub(super) fn check(path: &Path, about: &std::fs::Metadata) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt as _;
    let judged = judge(path, about.uid(), about.mode(), effective_user());
    judged.map_err(|reason| io::Error::new(io::ErrorKind::PermissionDenied, reason))
}

/// Elsewhere than on Unix, files have other permissions, and folders of a user are trusted.
#[cfg(not(unix))]
pub(super) fn check(_: &Path, _: &std::fs::Metadata) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
const ROOT: u32 = 0;

/// The write permissions of the group and of all others. Where there is an access list, the group's
/// permissions are an upper bound of it.
#[cfg(unix)]
const WRITABLE_BY_OTHERS: u32 = 0o022;

#[cfg(unix)]
fn judge(path: &Path, owner: u32, mode: u32, user: u32) -> Result<(), CacheTrustError> {
    if owner != user && owner != ROOT {
        return Err(CacheTrustError::Owner { path: path.to_owned(), owner, user });
    }
    if mode & WRITABLE_BY_OTHERS != 0 {
        return Err(CacheTrustError::Writable { path: path.to_owned(), mode: mode & 0o7777 });
    }
    Ok(())
}

#[cfg(unix)]
#[expect(unsafe_code, reason = "calls the C library")]
fn effective_user() -> u32 {
    // SAFETY: it takes nothing, and always succeeds.
    unsafe { libc::geteuid() }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_user_and_of_root_are_trusted_unless_others_may_write_them() {
        let path = Path::new("/cache/ab");
        let judged = |owner, mode| judge(path, owner, mode, 1000);
        for mode in [0o100600, 0o100644, 0o040700, 0o040755, 0o040500] {
            assert_eq!((judged(1000, mode), judged(ROOT, mode)), (Ok(()), Ok(())), "{mode:o}");
        }
        for (mode, shown) in [(0o100620, 0o620), (0o100602, 0o602), (0o040770, 0o770), (0o041777, 0o1777)] {
            assert_eq!(judged(1000, mode), Err(CacheTrustError::Writable { path: path.into(), mode: shown }));
        }
        let owner = CacheTrustError::Owner { path: path.into(), owner: 1001, user: 1000 };
        assert_eq!(judged(1001, 0o100600), Err(owner.clone()));
        assert_eq!(
            owner.to_string(),
            "/cache/ab belongs to user 1001, and this process runs as user 1000; use a folder of your own"
        );
        assert!(judged(1000, 0o040777).unwrap_err().to_string().contains("/cache/ab has mode 777"));
    }
}
