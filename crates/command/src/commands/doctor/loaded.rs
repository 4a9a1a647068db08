//! Files of libraries that this process has loaded.

use std::path::{Path, PathBuf};

/// The loaded file whose name begins like this.
pub(super) fn file(name: &str) -> Option<PathBuf> {
    find(&std::fs::read_to_string("/proc/self/maps").ok()?, name)
}

fn find(maps: &str, name: &str) -> Option<PathBuf> {
    // Address, rights, offset, device, inode, and the path, which may have spaces.
    let paths = maps.lines().filter_map(|line| Some(Path::new(line.get(line.find('/')?..)?)));
    let named = |path: &&Path| path.file_name().is_some_and(|file| file.to_string_lossy().starts_with(name));
    paths.into_iter().find(named).map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_is_found_by_its_name() {
        let maps = "7f00-7f01 r--p 00000000 00:00 0 \n\
                    7f01-7f02 r-xp 00000000 fe:00 7   /usr/lib/my files/libnvrtc.so.13.4\n\
                    7f02-7f03 r-xp 00000000 fe:00 8   /usr/lib/libc.so.6\n";
        assert_eq!(find(maps, "libnvrtc.so"), Some(PathBuf::from("/usr/lib/my files/libnvrtc.so.13.4")));
        assert_eq!(find(maps, "libcuda.so"), None);
        assert!(file("libc.so").is_some(), "this process has the C library");
    }
}
