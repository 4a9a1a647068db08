//! Device files of NVIDIA's kernel modules, and the rights to open them.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use super::{lacking, present};
use crate::report::{Health, Subject};

const MODULE: &str = "/proc/driver/nvidia/version";

/// A row for the kernel module and one for the device files; none if there is no module.
pub(super) fn subjects() -> Vec<Subject> {
    let mut rows = Vec::new();
    if let Ok(text) = std::fs::read_to_string(MODULE) {
        let line = text.lines().next().unwrap_or_default();
        rows.push(present("kernel module", line.trim_start_matches("NVRM version:").trim().to_owned()));
    }
    let files = files(Path::new("/dev"));
    if files.is_empty() && rows.is_empty() {
        return rows;
    }
    let closed: Vec<&PathBuf> =
        files.iter().filter(|file| access(*file, Access::READ_OK | Access::WRITE_OK).is_err()).collect();
    let uvm = files.iter().any(|file| file.ends_with("nvidia-uvm"));
    rows.push(if let Some(file) = closed.first() {
        let group = std::fs::metadata(file).map_or(0, |about| about.gid());
        lacking(
            "device files",
            Health::Bad,
            format!("{} cannot be opened for reading and writing", file.display()),
            format!(
                "add your user to the group of the file ({group}): sudo usermod -aG $(stat -c %G {0}) $USER",
                file.display()
            ),
        )
    } else if !uvm {
        let step = "sudo nvidia-modprobe -u -c 0".to_owned();
        lacking("device files", Health::Bad, "/dev/nvidia-uvm is not there".to_owned(), step)
    } else {
        present("device files", format!("{} in /dev, all can be opened", files.len()))
    });
    rows
}

/// `nvidiactl`, `nvidia-uvm` and the devices; the others are for tools.
fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let is_needed = |name: &str| {
        name == "nvidiactl"
            || name == "nvidia-uvm"
            || name
                .strip_prefix("nvidia")
                .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.file_name().is_some_and(|name| is_needed(&name.to_string_lossy())));
    files.sort();
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_files_are_known_by_their_names() -> std::io::Result<()> {
        let folder = std::env::temp_dir().join(format!("warploom-dev-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let names = ["nvidiactl", "nvidia0", "nvidia12", "nvidia-uvm", "nvidia-uvm-tools", "nvidia", "null"];
        let made = names.iter().try_for_each(|name| std::fs::write(folder.join(name), ""));
        let found = files(&folder);
        std::fs::remove_dir_all(&folder)?;
        made?;
        assert_eq!(found, ["nvidia-uvm", "nvidia0", "nvidia12", "nvidiactl"].map(|name| folder.join(name)));
        Ok(())
    }
}
