//! A source written to a file for debuggers.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::{NvrtcError, Program};
use crate::Result;

/// A file with the source of a program, removed when this is dropped. Keep it while debugging.
#[derive(Debug)]
#[must_use = "the file goes when this does"]
pub struct SourceFile {
    path: PathBuf,
    is_kept: bool,
}

impl Program {
    /// The same program, with its source in a temporary file of its own, whose path is its name from now on:
    /// debuggers and profilers show the lines if it is compiled with [`debug`](super::CompileOptions::debug)
    /// or [`line_info`](super::CompileOptions::line_info).
    ///
    /// The file is for the user alone, and goes with the [`SourceFile`]. A cache does not find the program by
    /// another path, and nothing is included from beside the file.
    ///
    /// ```no_run
    /// use warploom::program::{Architecture, CompileOptions, Nvrtc, Program, Target};
    ///
    /// # fn main() -> warploom::Result<()> {
    /// let source = "extern \"C\" __global__ void k(int *p) { *p = 1; }";
    /// let program = Program::new("k.cu", source, CompileOptions::new(Architecture::sm(90)).debug());
    /// let (program, file) = program.with_source_file()?; // /tmp/warploom-4711-0-k.cu
    /// let code = program.compile(&Nvrtc::load()?, Target::Cubin)?.code;
    /// // … and a debugger shows the source, until:
    /// drop(file);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`NvrtcError::SourceFile`] if it cannot be written; nothing is left behind then.
    pub fn with_source_file(self) -> Result<(Program, SourceFile)> {
        let file = SourceFile::write(&std::env::temp_dir(), &self.name, &self.source)?;
        let name = file.path.to_str().ok_or_else(|| refused(&file.path, "its path is not UTF-8"))?.to_owned();
        Ok((Program { name, ..self }, file))
    }
}

impl SourceFile {
    fn write(folder: &Path, name: &str, source: &str) -> Result<SourceFile, NvrtcError> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '_' | '-');
        let last = name.rsplit('/').next().unwrap_or(name);
        let plain: String = last.chars().map(|letter| if is_plain(letter) { letter } else { '_' }).take(100).collect();
        loop {
            let number = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = folder.join(format!("warploom-{}-{number}-{plain}", std::process::id()));
            match create(&path) {
                Ok(mut opened) => {
                    let file = SourceFile { path, is_kept: false };
                    opened.write_all(source.as_bytes()).map_err(|error| refused(&file.path, error))?;
                    return Ok(file);
                }
                // Left behind by a process of the same number, or made by another user.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(refused(&path, error)),
            }
        }
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Leaves it there, for good.
    pub fn keep(mut self) -> PathBuf {
        self.is_kept = true;
        std::mem::take(&mut self.path)
    }
}

impl Drop for SourceFile {
    fn drop(&mut self) {
        if !self.is_kept {
            // Nothing depends on it any more; who emptied the folder has done the same.
            drop(fs::remove_file(&self.path));
        }
    }
}

/// A file that was not there, which only the user reads.
fn create(path: &Path) -> io::Result<fs::File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn refused(path: &Path, why: impl ToString) -> NvrtcError {
    NvrtcError::SourceFile { path: path.to_owned(), why: why.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_letters_and_digits_only() {
        let file = SourceFile::write(&std::env::temp_dir(), "../a b/k<float>.cu", "text").unwrap();
        assert_eq!(file.path().parent(), Some(&*std::env::temp_dir()));
        assert!(file.path().to_str().unwrap().ends_with("-k_float_.cu"), "{file:?}");
        assert_eq!(fs::read_to_string(file.path()).unwrap(), "text");
    }

    #[test]
    fn a_folder_that_cannot_be_written_to_is_named() {
        let error = SourceFile::write(Path::new("/warploom-absent"), "k.cu", "").expect_err("there is none");
        assert!(error.to_string().contains("/warploom-absent/warploom-"), "{error}");
    }
}
