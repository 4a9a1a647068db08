//! Puts the simulated driver, as a shared library, where programs can be pointed at it.
//!
//! Cargo's own copy has another file name on purpose: under the driver's name, tests would take it for the system's.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::workspace::{at, build};

/// What programs ask the loader for.
const LIBRARY: &str = "libcuda.so.1";
/// What linkers look for.
const LINK: &str = "libcuda.so";
/// What no driver but ours contains: the variable that it reads.
const MARK: &[u8] = b"WARPLOOM_MACHINE";

/// Builds the library and puts it into the folder under both names.
pub(crate) fn install(folder: &Path) -> Result<String, String> {
    let (library, link) = (folder.join(LIBRARY), folder.join(LINK));
    refuse_foreign(&library)?;
    refuse_foreign(&link)?;
    let built = built()?;
    fs::create_dir_all(folder).map_err(at(folder))?;
    fs::copy(&built, &library).map_err(at(&library))?;
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
    let artifacts = build(&["build", "--release", "--package", "warploom-libcuda"])?;
    let ours = artifacts.iter().filter(|artifact| artifact["target"]["name"] == "warploom_cuda");
    let mut files = ours.filter_map(|artifact| artifact["filenames"].as_array()).flatten();
    let library = files.find_map(|file| file.as_str().filter(|file| file.ends_with(".so")));
    library.map(str::to_owned).ok_or_else(|| "cargo reports no shared library".to_owned())
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
    use super::*;

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
