//! The HTML page of a run.

use std::io::{self, Write};
use std::path::Path;

use warploom_page::PageError;

/// The folder of records in the folder of the run.
pub(super) const FOLDER: &str = "records";

/// Writes one page of all processes that have left a record.
pub(super) fn write(run: &Path, to: &mut impl Write) -> io::Result<()> {
    match warploom_page::write_folder(run.join(FOLDER), to) {
        Ok(_) => Ok(()),
        Err(PageError::Io(error)) => Err(error),
        Err(error) => Err(io::Error::other(error)),
    }
}
