//! Journals that the processes of a run have left.

use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use crate::failure::Failure;
use crate::report::ProcessReport;

/// A line of a journal, as `warploom-libcuda` writes it.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Start { process: u32, parent: u32, arguments: Vec<String>, machine: String, devices: usize },
    Finding { text: String, finding: Value },
    End { texts: Vec<String>, report: Value },
}

/// The processes of a run, in the order of their start.
pub(super) fn read(folder: &Path) -> Result<Vec<ProcessReport>, Failure> {
    let mut journals = Vec::new();
    for entry in fs::read_dir(folder).map_err(|error| Failure::file(folder, error))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            let text = fs::read_to_string(&path).map_err(|error| Failure::file(&path, error))?;
            let started = fs::metadata(&path).and_then(|about| about.created().or_else(|_| about.modified())).ok();
            journals.extend(process(&text).map(|process| (started, process)));
        }
    }
    journals.sort_by_key(|(started, process)| (*started, process.process));
    Ok(journals.into_iter().map(|(_, process)| process).collect())
}

/// The process of a journal; none if it has no start. A line that was cut off when the process was killed is
/// left out.
fn process(text: &str) -> Option<ProcessReport> {
    let mut lines = text.lines().map_while(|line| serde_json::from_str(line).ok());
    let Some(Line::Start { process, parent, arguments, machine, devices }) = lines.next() else { return None };
    let mut all = ProcessReport { process, parent, arguments, machine, devices, ..ProcessReport::default() };
    for line in lines {
        match line {
            Line::Start { .. } => {}
            Line::Finding { text, finding } => {
                all.findings.push(finding);
                all.finding_texts.push(text);
            }
            Line::End { texts, mut report } => {
                // The report has all of them, with the leaks.
                all.finding_texts = texts;
                if let Value::Array(findings) = report["findings"].take() {
                    all.findings = findings;
                }
                if let Some(fields) = report.as_object_mut() {
                    ["findings", "process", "machine", "devices"].iter().for_each(|known| drop(fields.remove(*known)));
                }
                all.report = Some(report);
            }
        }
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: &str = r#"{"start":{"process":7,"parent":1,"arguments":["a"],"machine":"h200","devices":1}}"#;

    #[test]
    fn a_killed_process_has_the_findings_before_its_end() {
        let found = r#"{"finding":{"text":"race: x","finding":{"kind":"race"}}}"#;
        let killed = process(&format!("{START}\n{found}\n{}", &found[..20])).expect("it has a start");
        assert_eq!((killed.finding_texts.as_slice(), killed.report.is_none()), (&["race: x".to_owned()][..], true));
        assert!(process(&START[..20]).is_none());
    }

    #[test]
    fn the_report_at_the_end_has_all_findings() {
        let found = r#"{"finding":{"text":"race: x","finding":{"kind":"race"}}}"#;
        let end = r#"{"end":{"texts":["race: x","leak: y"],"report":{"process":7,"calls":[],"findings":[{},{}]}}}"#;
        let ended = process(&format!("{START}\n{found}\n{end}\n")).expect("it has a start");
        assert_eq!((ended.findings.len(), ended.finding_texts.len()), (2, 2));
        assert_eq!(ended.report, Some(serde_json::json!({"calls": []})));
    }
}
