//! Files for the results of a run, tested before the program starts.

use std::fs::File;
use std::io::{self, BufWriter, Seek as _, Write};
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// A file that can be written. One that was created for it and is not written goes with it.
#[derive(Debug)]
pub(super) struct OutputFile {
    path: PathBuf,
    file: File,
    is_new: bool,
}

impl OutputFile {
    /// Opens a file for writing. Its contents stay until there are new ones; a new file is written to, so
    /// that a full disk shows before the program has run.
    pub(super) fn prepare(path: &Path) -> Result<Self, Failure> {
        let is_new = !path.exists();
        let opened = || -> io::Result<File> {
            let mut file = File::options().write(true).create(true).truncate(false).open(path)?;
            if file.metadata()?.is_file() && rustix::fs::fstatvfs(&file)?.f_bavail == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            if file.metadata()?.len() == 0 {
                file.write_all(b" ")?;
                file.flush()?;
            }
            Ok(file)
        };
        let file = opened().map_err(|error| {
            Failure::file(path, format_args!("the file cannot be written: {error}"))
                .hint("name a file in a folder that is there and that you can write to; the program was not run")
        })?;
        Ok(Self { path: path.to_owned(), file, is_new })
    }

    /// Replaces the contents.
    pub(super) fn write(mut self, write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>) -> Result<(), Failure> {
        self.is_new = false;
        let written = || -> io::Result<()> {
            let mut file = &self.file;
            // A pipe or a terminal has no length.
            if file.metadata()?.is_file() {
                file.set_len(0)?;
                file.rewind()?;
            }
            let mut writer = BufWriter::new(file);
            write(&mut writer)?;
            writer.flush()
        };
        written().map_err(|error| Failure::file(&self.path, error))
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        if self.is_new {
            // It may be gone already.
            drop(std::fs::remove_file(&self.path));
        }
    }
}
