//! Record files: one for each process of a run, in one folder.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::{Record, VERSION, check};

/// The end of the name of a record file.
pub const EXTENSION: &str = "record.json";

/// A record that cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// A file or a folder cannot be read.
    #[error("{} cannot be read: {error}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The reason.
        #[source]
        error: io::Error,
    },
    /// The text is not a record.
    #[error("no record of a run: {0}")]
    Format(#[from] serde_json::Error),
    /// The record has another version.
    #[error("the record has version {found}, and this program reads version {VERSION}: use the same release for both")]
    Version {
        /// Its version.
        found: u32,
    },
    /// Parts of the record do not fit each other.
    #[error("a damaged record: {0}")]
    Damaged(String),
    /// A file of a folder is not a record.
    #[error("{}: {error}", path.display())]
    InFile {
        /// The file.
        path: PathBuf,
        /// The problem.
        #[source]
        error: Box<RecordError>,
    },
}

/// The one field that every version has.
#[derive(Deserialize)]
struct Versioned {
    version: u32,
}

impl Record {
    /// The record as JSON.
    pub fn to_json(&self) -> Result<String, RecordError> {
        Ok(serde_json::to_string(self)?)
    }

    /// Reads a record from JSON, and checks that its parts fit each other.
    pub fn from_json(text: &str) -> Result<Self, RecordError> {
        let Versioned { version } = serde_json::from_str(text)?;
        if version != VERSION {
            return Err(RecordError::Version { found: version });
        }
        let record: Self = serde_json::from_str(text)?;
        record.checked()
    }

    /// The record, if its parts fit each other.
    pub fn checked(self) -> Result<Self, RecordError> {
        self.check()?;
        Ok(self)
    }

    /// Checks that its parts fit each other: columns have one length, and indexes name entries that exist.
    pub fn check(&self) -> Result<(), RecordError> {
        match check::problem(self) {
            Some(problem) => Err(RecordError::Damaged(problem)),
            None => Ok(()),
        }
    }

    /// Reads a record file.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, RecordError> {
        let path = path.as_ref();
        let text = fs::read_to_string(path).map_err(|error| RecordError::Io { path: path.to_owned(), error })?;
        let in_file = |error| RecordError::InFile { path: path.to_owned(), error: Box::new(error) };
        Self::from_json(&text).map_err(in_file)
    }

    /// Writes the record into a folder, which is created if it is not there. Returns the path of the file,
    /// which is named for the process; it appears there only when it is complete.
    pub fn write_into(&self, folder: impl AsRef<Path>) -> io::Result<PathBuf> {
        let folder = folder.as_ref();
        fs::create_dir_all(folder)?;
        let path = folder.join(format!("{}.{EXTENSION}", self.process.id));
        let partial = folder.join(format!("{}.{EXTENSION}.partial", self.process.id));
        let mut file = BufWriter::new(File::create(&partial)?);
        serde_json::to_writer(&mut file, self)?;
        file.flush()?;
        drop(file);
        fs::rename(&partial, &path)?;
        Ok(path)
    }
}

/// The records of a folder, in the order of their processes' numbers. Other files are passed over.
pub fn read_folder(folder: impl AsRef<Path>) -> Result<Vec<Record>, RecordError> {
    let folder = folder.as_ref();
    let failed = |error| RecordError::Io { path: folder.to_owned(), error };
    let mut records = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.to_string_lossy().ends_with(&format!(".{EXTENSION}")) {
            records.push(Record::read(path)?);
        }
    }
    records.sort_by_key(|record| record.process.id);
    Ok(records)
}
