//! One self-contained HTML page of runs on a simulated machine.
//!
//! The page shows a timeline of ops and driver calls, findings with both of their places in the program, the
//! machine with the traffic of its links, memory in use, kernels, and calls by function. It needs no network
//! and no other file, and opens from a disk.
//!
//! A machine's record becomes a page in two lines:
//!
//! ```
//! use warploom_sim::Machine;
//! use warploom_sim::trace::Trace;
//!
//! let machine = Machine::builder().trace(Trace::timeline()).start()?;
//! // … open a driver on it, and use that …
//! let record = machine.record().expect("the machine was started with a timeline");
//! let mut page = Vec::new();
//! warploom_page::write(&[record], &mut page)?;
//! assert!(page.starts_with(b"<!DOCTYPE html>"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Processes that ran on the simulated `libcuda.so.1` with `WARPLOOM_RECORD=FOLDER` leave a record each;
//! [`write_folder`] makes one page of them.
//!
//! ```text
//!   records ─▶ Escaped: JSON without `<` ─▶ page.html ◀─ style (*.css), script (*.js as one module)
//! ```

mod escape;
mod parts;

/// Compiles and runs the programs of the guide.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/page.md")]
struct Guide;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use warploom_record::{Record, RecordError, read_folder};

use escape::{Escaped, escape};

/// A page that cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PageError {
    /// There are no records to show.
    #[error("no records to show: a page needs at least one")]
    NoRecords,
    /// A folder has no records.
    #[error(
        "{} has no record of a process: none ran on the simulated library with WARPLOOM_RECORD set to this \
         folder, or none has exited", folder.display()
    )]
    EmptyFolder {
        /// The folder.
        folder: PathBuf,
    },
    /// A record cannot be read, or is damaged.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The page cannot be written.
    #[error("the page cannot be written: {0}")]
    Io(#[from] io::Error),
}

/// Writes the page of one or several processes. Give it a buffered writer.
pub fn write(records: &[Record], to: &mut impl Write) -> Result<(), PageError> {
    let first = records.first().ok_or(PageError::NoRecords)?;
    for record in records {
        // The page's script relies on it.
        record.check()?;
    }
    for part in parts::page() {
        match part {
            parts::Part::Text(text) => to.write_all(text.as_bytes())?,
            parts::Part::Title => to.write_all(escape(&title(first, records.len())).as_bytes())?,
            parts::Part::Style => to.write_all(parts::style().as_bytes())?,
            parts::Part::Script => to.write_all(parts::script().as_bytes())?,
            parts::Part::Records => {
                let mut escaped = Escaped::new(&mut *to);
                serde_json::to_writer(&mut escaped, records).map_err(io::Error::from)?;
            }
        }
    }
    Ok(to.flush()?)
}

/// Writes the page of all processes that left a record in a folder. Returns their number.
///
/// ```
/// let folder = std::env::temp_dir().join("no-records-here");
/// std::fs::create_dir_all(&folder)?;
/// let error = warploom_page::write_folder(&folder, &mut Vec::new()).expect_err("it is empty");
/// assert!(error.to_string().contains("has no record of a process"));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn write_folder(folder: impl AsRef<Path>, to: &mut impl Write) -> Result<usize, PageError> {
    let folder = folder.as_ref();
    let records = read_folder(folder)?;
    if records.is_empty() {
        return Err(PageError::EmptyFolder { folder: folder.to_owned() });
    }
    write(&records, to)?;
    Ok(records.len())
}

/// The title of the page: the program, and the machine.
fn title(first: &Record, processes: usize) -> String {
    let program = first.process.command.first().map_or("", |path| path.rsplit('/').next().unwrap_or_default());
    let others = if processes > 1 { format!(" and {} more", processes - 1) } else { String::new() };
    let machine = if first.machine.name.is_empty() { "a simulated machine" } else { &first.machine.name };
    format!("{program}{others} on {machine} – warploom")
}
