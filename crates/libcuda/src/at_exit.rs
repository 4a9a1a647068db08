//! Reports at the exit of the process.
//!
//! The loader runs it after the program's own exit handlers and after the destructors of what was linked
//! against the library, so that late calls are counted, too. Nothing is torn down, and a call that comes
//! later still is answered. A process that ends without exiting (`_exit`, a signal, `abort`) leaves nothing
//! behind but the journal of its start and findings.
#![expect(unsafe_code, reason = "places a function where the loader looks for what to run in the end")]

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use crate::complaint::complain;
use crate::process::{Process, started};
use crate::report::{self, Report};
use crate::settings::Destination;

// The section has pointers to functions without arguments, and this is one.
#[used]
#[unsafe(link_section = ".fini_array")]
static AT_EXIT: extern "C" fn() = at_exit;

extern "C" fn at_exit() {
    // A child of `fork` would write over what its parent writes.
    let own = started().filter(|process| process.machine.is_of_this_process());
    if let Some(process) = own
        && catch_unwind(AssertUnwindSafe(|| leave(process))).is_err()
    {
        complain("the simulator panicked when it wrote what it was asked for: a bug in warploom");
    }
}

fn leave(process: &Process) {
    let id = std::process::id();
    match &process.settings.report {
        Some(Destination::StandardError) => {
            // An error, such as a closed standard error, is ignored.
            write!(io::stderr().lock(), "{}", Report::of(process)).unwrap_or_default();
        }
        Some(Destination::File(template)) => {
            let path = template.path(id);
            let is_json = path.extension().is_some_and(|extension| extension == "json");
            write_file("report", &path, |file| {
                let report = Report::of(process);
                if is_json { Ok(serde_json::to_writer_pretty(file, &report)?) } else { write!(file, "{report}") }
            });
        }
        None if process.journal.is_some() => {}
        None => {
            report::leaks(process).iter().for_each(complain);
            process.machine.advice().iter().flat_map(|advice| advice.lines()).for_each(complain);
        }
    }
    if let Some(journal) = &process.journal {
        journal.end(&Report::of(process));
    }
    if let Some(template) = &process.settings.timeline
        && let Some(timeline) = process.machine.timeline()
    {
        write_file("timeline", &template.path(id), |file| timeline.write_chrome(file));
    }
    if let Some(folder) = &process.settings.record
        && let Some(mut record) = process.machine.record_at_end()
    {
        record.machine.name.clone_from(&process.settings.name);
        if let Err(error) = record.write_into(folder) {
            complain(format_args!("the record could not be written into {}: {error}", folder.display()));
        }
    }
}

/// Writes a file, or says which could not be written.
fn write_file(what: &str, path: &Path, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) {
    let written = File::create(path).map(BufWriter::new).and_then(|mut file| {
        write(&mut file)?;
        file.flush()
    });
    if let Err(error) = written {
        complain(format_args!("the {what} could not be written to {}: {error}", path.display()));
    }
}
