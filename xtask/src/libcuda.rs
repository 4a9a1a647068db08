//! Puts the simulated driver, as a shared library, where programs can be pointed at it.
//!
//! Cargo's own copy has another file name on purpose: under the driver's name, tests would take it for the
//! system's.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::workspace::{at, build};

/// The name that programs load.
const LIBRARY: &str = "libcuda.so.1";
/// The name that linkers look for.
const LINK: &str = "libcuda.so";
/// The environment variable that the simulated driver reads; no other driver contains its name.
const MARK: &[u8] = b"WARPLOOM_MACHINE";

/// Builds the library and puts it into the folder under both names.
pub(crate) fn install(folder: &Path) -> Result<String, String> {
    let (library, link) = (folder.join(LIBRARY), folder.join(LINK));
    refuse_foreign(&library)?;
    refuse_foreign(&link)?;
    let built = built()?;
    fs::create_dir_all(folder).map_err(at(folder))?;
    replace(Path::new(&built), &library)?;
    if fs::symlink_metadata(&link).is_ok() {
        fs::remove_file(&link).map_err(at(&link))?;
    }
    symlink(LIBRARY, &link).map_err(at(&link))?;
    let folder = folder.display();
    Ok(format!(
        "libcuda: in {folder}\n\
         start a program with LD_LIBRARY_PATH={folder} and, for another machine than one H200, WARPLOOM_MACHINE=NAME"
    ))
}

/// The library, as cargo built it.
fn built() -> Result<String, String> {
    // With the command, whose build gives some dependencies more features: alone, all of them are built again.
    let artifacts = build(&["build", "--release", "--package", "warploom-libcuda", "--package", "warploom-cli"])?;
    let ours = artifacts.iter().filter(|artifact| artifact["target"]["name"] == "warploom_cuda");
    let mut files = ours.filter_map(|artifact| artifact["filenames"].as_array()).flatten();
    let library = files.find_map(|file| file.as_str().filter(|file| file.ends_with(".so")));
    library.map(str::to_owned).ok_or_else(|| "cargo reports no shared library".to_owned())
}

/// Puts a new file in the place of an old one. Programs that run on the old one keep it: what they have
/// mapped must not change under them.
fn replace(new: &Path, place: &Path) -> Result<(), String> {
    let beside = place.with_extension("new");
    fs::copy(new, &beside).map_err(at(&beside))?;
    fs::rename(&beside, place).map_err(at(place))
}

/// Leaves a real driver alone.
fn refuse_foreign(path: &Path) -> Result<(), String> {
    match fs::read(path) {
        Ok(bytes) if !bytes.windows(MARK.len()).any(|window| window == MARK) => {
            Err(format!("{} is another driver; name another folder", path.display()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io;

    use super::*;

    #[test]
    fn a_program_keeps_the_library_it_runs_on() {
        let folder = std::env::temp_dir().join(format!("warploom-replace-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (new, place) = (folder.join("new"), folder.join(LIBRARY));
        fs::write(&new, "new").unwrap();
        fs::write(&place, "old").unwrap();
        let running = File::open(&place).unwrap();
        let replaced = replace(&new, &place);
        let (kept, now) = (io::read_to_string(running).unwrap(), fs::read_to_string(&place).unwrap());
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!((replaced, kept.as_str(), now.as_str()), (Ok(()), "old", "new"));
    }

    #[test]
    fn another_driver_is_left_alone() {
        let path = std::env::temp_dir().join(format!("warploom-libcuda-{}", std::process::id()));
        assert_eq!(refuse_foreign(&path), Ok(()));
        fs::write(&path, "the real one").unwrap();
        let refused = refuse_foreign(&path).unwrap_err();
        assert!(refused.ends_with("is another driver; name another folder"), "{refused}");
        fs::write(&path, [b"..".as_slice(), MARK, b".."].concat()).unwrap();
        assert_eq!(refuse_foreign(&path), Ok(()));
        fs::remove_file(&path).unwrap();
    }
}
