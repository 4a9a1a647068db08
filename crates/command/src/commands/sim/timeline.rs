//! One timeline of all processes.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

/// The file of a process in the folder of the run; `%p` is its number.
pub(super) const TEMPLATE: &str = "timeline-%p.json";

/// Rows of a process begin at a multiple of this; a machine has fewer devices.
const ROWS: u64 = 1000;

/// Writes the timelines in a folder as one. Each process has its own rows, under its number.
pub(super) fn merge(folder: &Path, writer: &mut impl Write) -> io::Result<()> {
    let files = files(folder)?;
    if let [(_, file)] = files.as_slice() {
        return io::copy(&mut fs::File::open(file)?, writer).map(|_| ());
    }
    let mut all = Map::new();
    let mut events = Vec::new();
    for (index, (process, file)) in files.iter().enumerate() {
        let Value::Object(mut timeline) = serde_json::from_slice(&fs::read(file)?)? else { continue };
        if let Some(Value::Array(own)) = timeline.remove("traceEvents") {
            events.extend(own.into_iter().map(|event| of_process(event, index as u64, process)));
        }
        all.extend(timeline);
    }
    all.insert("traceEvents".to_owned(), Value::Array(events));
    Ok(serde_json::to_writer(writer, &all)?)
}

/// Timelines with the number of their process, in the order of these.
fn files(folder: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if let Some(process) = name.strip_prefix("timeline-").and_then(|name| name.strip_suffix(".json")) {
            files.push((process.to_owned(), path));
        }
    }
    files.sort_by_key(|(process, _)| process.parse::<u64>().unwrap_or(u64::MAX));
    Ok(files)
}

/// An event under the rows of its process.
fn of_process(mut event: Value, index: u64, process: &str) -> Value {
    if let Some(row) = event["pid"].as_u64() {
        event["pid"] = (row + index * ROWS).into();
    }
    match event["name"].as_str() {
        Some("process_name") => {
            let name = event["args"]["name"].as_str().unwrap_or_default();
            event["args"]["name"] = format!("process {process}, {name}").into();
        }
        Some("process_sort_index") => {
            event["args"]["sort_index"] = event["pid"].clone();
        }
        _ => {}
    }
    event
}
