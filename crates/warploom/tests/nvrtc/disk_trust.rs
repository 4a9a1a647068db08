//! Files of a disk cache that other users may have written.
#![cfg(unix)]

use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::Path;

use warploom::program::{CacheTrustError, Cached, DiskCache, ProgramCache as _, Target};

use crate::disk::Folder;
use crate::{fake, program};

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("the file is there");
}

fn reason(error: io::Error) -> CacheTrustError {
    assert_eq!(error.kind(), ErrorKind::PermissionDenied);
    error.downcast().expect("the reason is typed")
}

#[test]
fn a_folder_that_others_may_write_to_is_not_opened() {
    let folder = Folder::new("shared");
    fs::create_dir_all(&folder.0).expect("there is a folder for it");
    for mode in [0o770, 0o707, 0o1777] {
        set_mode(&folder.0, mode);
        let refused = DiskCache::open(&folder.0, 1).map(drop).map_err(reason);
        assert_eq!(refused, Err(CacheTrustError::Writable { path: folder.0.clone(), mode }));
    }
    set_mode(&folder.0, 0o755);
    assert!(DiskCache::open(&folder.0, 1).is_ok());
}

/// The program is compiled as without a cache, and nothing is stored.
#[test]
fn an_entry_in_a_folder_that_others_may_write_to_is_not_used() -> warploom::Result<()> {
    let (nvrtc, folder) = (fake::open(), Folder::new("loosened"));
    let (cache, given) = (folder.open(1 << 20), program("a"));
    let first = given.compile_cached(&nvrtc, Target::Cubin, &cache)?;
    let file = folder.file(&given.cache_key(&nvrtc, Target::Cubin)?);
    let shelf = file.parent().expect("it is in a folder");
    for path in [&*folder.0, shelf] {
        set_mode(path, 0o770);
        fake::calls();
        let again = given.compile_cached(&nvrtc, Target::Cubin, &cache)?;
        let reason = CacheTrustError::Writable { path: path.to_owned(), mode: 0o770 };
        assert_eq!((again.cached, &again.code), (Cached::Untrusted { reason }, &first.code));
        assert_ne!(fake::calls().len(), 0);
        let other = program("b").compile_cached(&nvrtc, Target::Cubin, &cache)?.cached;
        assert_eq!(matches!(other, Cached::Untrusted { .. }), path == folder.0, "{other:?}");
        set_mode(path, 0o700);
    }
    assert_eq!(given.compile_cached(&nvrtc, Target::Cubin, &cache)?.cached, Cached::Hit);
    Ok(())
}

#[test]
fn an_entry_that_others_may_have_written_is_replaced() -> warploom::Result<()> {
    let (nvrtc, folder) = (fake::open(), Folder::new("entry"));
    let (cache, given) = (folder.open(1 << 20), program("a"));
    given.compile_cached(&nvrtc, Target::Cubin, &cache)?;
    let file = folder.file(&given.cache_key(&nvrtc, Target::Cubin)?);
    set_mode(&file, 0o666);
    let reason = CacheTrustError::Writable { path: file.clone(), mode: 0o666 };
    assert_eq!(given.compile_cached(&nvrtc, Target::Cubin, &cache)?.cached, Cached::Untrusted { reason });
    assert_eq!(given.compile_cached(&nvrtc, Target::Cubin, &cache)?.cached, Cached::Hit);
    // Only root may give files away.
    if chown(&file, Some(12_345), None).is_ok() {
        let reason = CacheTrustError::Owner { path: file, owner: 12_345, user: 0 };
        assert_eq!(given.compile_cached(&nvrtc, Target::Cubin, &cache)?.cached, Cached::Untrusted { reason });
        assert_eq!(given.compile_cached(&nvrtc, Target::Cubin, &cache)?.cached, Cached::Hit);
    }
    assert_eq!(cache.len().expect("the folder is there"), 1);
    Ok(())
}
