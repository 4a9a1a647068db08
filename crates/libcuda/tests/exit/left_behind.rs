//! Reports and timelines.

use serde_json::Value;
use warploom_cuda::{CHECK_VARIABLE, MACHINE_VARIABLE, REPORT_VARIABLE, RUN_VARIABLE, TIMELINE_VARIABLE};

use crate::child::{Outcome, Program};

#[test]
fn a_report_counts_calls_and_bytes() -> Outcome {
    let ended = Program::named("copies", "report")?.with(MACHINE_VARIABLE, "dgx-h100").succeed()?;
    let report = ended.json("report.json")?;
    assert_eq!((&report["machine"], &report["devices"]), (&"dgx-h100".into(), &8.into()), "{report}");
    let moved = serde_json::json!([
        {"from": "host", "to": "device 0", "operations": 1, "bytes": 4096},
        {"from": "device 0", "to": "host", "operations": 1, "bytes": 1000},
    ]);
    assert_eq!(report["moved"], moved);
    let free = serde_json::json!(
        {"function": "cuMemFree_v2", "calls": 1, "failed": [{"code": "CUDA_ERROR_INVALID_VALUE", "calls": 1}]});
    assert!(report["calls"].as_array().ok_or("a report has calls")?.contains(&free), "{report}");
    let refused = report["refused"].as_array().ok_or("a report has what was refused")?;
    assert!(
        refused.iter().any(|line| line.as_str().is_some_and(|line| line.starts_with("cuMemFree_v2: "))),
        "{report}"
    );
    Ok(())
}

#[test]
fn a_report_counts_no_calls_but_the_programs() -> Outcome {
    let report = Program::named("initialises", "own")?.succeed()?.json("report.json")?;
    assert_eq!(report["calls"], serde_json::json!([{"function": "cuInit", "calls": 2, "failed": []}]));
    Ok(())
}

#[test]
fn findings_and_leaks_are_in_the_report() -> Outcome {
    let program = Program::named("races", "findings")?.with(CHECK_VARIABLE, "report");
    let report = program.succeed()?.json("report.json")?;
    let findings = report["findings"].as_array().ok_or("a report has findings")?;
    let kinds: Vec<&str> = findings.iter().filter_map(|finding| finding["kind"].as_str()).collect();
    assert_eq!(kinds.first(), Some(&"race"), "{report}");
    assert!(kinds[1..].iter().all(|kind| *kind == "leak") && kinds.len() > 3, "memory, two streams: {kinds:?}");
    let call = findings[0]["call"].as_u64().ok_or("it was found in a call")?;
    assert!(call > 1, "calls are numbered");
    Ok(())
}

#[test]
fn without_a_report_findings_and_leaks_are_said_on_standard_error() -> Outcome {
    let ended = Program::named("races", "said")?.with(CHECK_VARIABLE, "report").run()?;
    assert!(ended.output.status.success(), "{}", ended.said());
    for beginning in ["warploom: race: ", "warploom: leak: "] {
        assert!(ended.said().lines().any(|line| line.starts_with(beginning)), "{beginning}: {}", ended.said());
    }
    Ok(())
}

#[test]
fn a_call_with_a_finding_fails_if_that_is_asked_for() -> Outcome {
    let ended = Program::named("races", "fails")?.with(CHECK_VARIABLE, "fail").run()?;
    assert_eq!(ended.output.status.code(), Some(1), "{}", ended.said());
    Ok(())
}

#[test]
fn nothing_is_found_unless_asked_for() -> Outcome {
    for value in ["", "off"] {
        let ended = Program::named("races", "unchecked")?.with(CHECK_VARIABLE, value).succeed()?;
        assert_eq!(ended.json("report.json")?["findings"], serde_json::json!([]));
        assert!(!ended.said().contains("warploom: "), "{}", ended.said());
    }
    Ok(())
}

#[test]
fn a_timeline_is_left_behind() -> Outcome {
    let timeline = Program::named("copies", "timeline")?.succeed()?.json("timeline.json")?;
    let events = timeline["traceEvents"].as_array().ok_or("a timeline has events")?;
    for name in ["copy 4096 B host→device 0", "copy 1000 B device 0→host", "cuMemcpyHtoD_v2"] {
        assert!(events.iter().any(|event| event["name"] == name && event["ph"] == "X"), "{name}: {timeline}");
    }
    Ok(())
}

#[test]
fn nothing_is_left_behind_unless_asked_for() -> Outcome {
    let ended = Program::named("copies", "nothing")?.run()?;
    assert!(ended.output.status.success() && ended.files()?.is_empty(), "{:?}", ended.files());
    assert!(!ended.said().contains("warploom"), "{}", ended.said());
    Ok(())
}

#[test]
fn people_read_the_report_on_standard_error_or_in_a_file_of_any_other_name() -> Outcome {
    for value in ["-", "stderr"] {
        let ended = Program::named("copies", "text")?.with(REPORT_VARIABLE, value).run()?;
        assert!(ended.said().contains("host→device 0, in 1 copies"), "{}", ended.said());
        assert!(ended.files()?.is_empty());
    }
    let ended = Program::named("copies", "text")?.with(REPORT_VARIABLE, "report.txt").run()?;
    let text = ended.text("report.txt")?;
    assert!(text.contains("cuMemFree_v2, of these 1 CUDA_ERROR_INVALID_VALUE (1)"), "{text}");
    Ok(())
}

#[test]
fn advice_about_machine_code_is_given_once_in_two_lines() -> Outcome {
    let ended = Program::named("loads machine code", "advice")?.with(REPORT_VARIABLE, "report.txt").run()?;
    let text = ended.text("report.txt")?;
    let advice: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("advice: ")).collect();
    assert_eq!(advice.len(), 2, "{text}");
    assert!(advice[0].contains("-lineinfo") && advice[1].contains("-arch=compute_"), "{text}");
    assert_eq!(text.matches("lineinfo=True").count(), 2, "for two libraries: {text}");
    let said = Program::named("loads machine code", "advice")?.run()?.said();
    assert_eq!(said.lines().filter(|line| line.starts_with("warploom: ")).count(), 2, "{said}");
    Ok(())
}

#[test]
fn a_path_can_have_the_number_of_the_process() -> Outcome {
    let ended = Program::named("copies", "number")?.with(REPORT_VARIABLE, "report-%p.json").run()?;
    let files = ended.files()?;
    let [file] = files.as_slice() else { return Err(format!("one file: {files:?}").into()) };
    assert_eq!(file, &format!("report-{}.json", ended.json(file)?["process"]));
    Ok(())
}

#[test]
fn a_process_of_a_run_leaves_a_journal() -> Outcome {
    let ended = Program::named("races", "journal")?.with(CHECK_VARIABLE, "report").with(RUN_VARIABLE, ".").run()?;
    assert!(!ended.said().contains("warploom: "), "{}", ended.said());
    let files = ended.files()?;
    let [file] = files.as_slice() else { return Err(format!("one file: {files:?}").into()) };
    let text = ended.text(file)?;
    let lines = text.lines().map(serde_json::from_str).collect::<Result<Vec<Value>, _>>()?;
    let start = &lines.first().ok_or("it has lines")?["start"];
    assert_eq!((format!("{}.jsonl", start["process"]), &start["machine"]), (file.clone(), &"h200".into()));
    assert!(start["arguments"].as_array().is_some_and(|arguments| arguments.len() > 3), "{start}");
    let found = &lines.get(1).ok_or("it has findings")?["finding"];
    assert_eq!(found["finding"]["kind"], "race");
    assert!(found["text"].as_str().is_some_and(|text| text.starts_with("race: ")), "{found}");
    let end = &lines.last().ok_or("it has an end")?["end"];
    let (findings, texts) = (end["report"]["findings"].as_array(), end["texts"].as_array());
    assert!(findings.is_some_and(|findings| findings.len() > 3) && findings.map(Vec::len) == texts.map(Vec::len));
    Ok(())
}

#[test]
fn a_killed_process_leaves_its_start_and_its_findings() -> Outcome {
    let program = Program::named("races, then is killed", "killed")?;
    let ended = program.with(CHECK_VARIABLE, "report").with(RUN_VARIABLE, ".").run()?;
    let files = ended.files()?;
    let [file] = files.as_slice() else { return Err(format!("one file: {files:?}").into()) };
    let text = ended.text(file)?;
    let keys = text.lines().map(serde_json::from_str).collect::<Result<Vec<Value>, _>>()?;
    assert!(
        matches!(&keys[..], [start, found] if start["start"].is_object() && found["finding"].is_object()),
        "{text}"
    );
    Ok(())
}

#[test]
fn a_folder_of_a_run_that_is_not_there_is_named_and_no_more() -> Outcome {
    let ended = Program::named("copies", "no run")?.with(RUN_VARIABLE, "/absent").run()?;
    assert!(ended.output.status.success() && ended.said().contains("no journal can be written in /absent"));
    Ok(())
}

#[test]
fn a_path_that_cannot_be_written_is_named_and_no_more() -> Outcome {
    let program = Program::named("copies", "unwritable")?;
    let ended =
        program.with(REPORT_VARIABLE, "/absent/report.json").with(TIMELINE_VARIABLE, "/absent/timeline").run()?;
    let said = ended.said();
    let lines: Vec<&str> = said.lines().filter(|line| line.starts_with("warploom: ")).collect();
    assert!(ended.output.status.success(), "{said}");
    assert!(
        matches!(lines[..], [report, timeline] if report.contains("/absent/report.json") && timeline.contains("/absent/timeline")),
        "{said}"
    );
    Ok(())
}

#[test]
fn a_variable_that_means_nothing_is_named_once_and_nothing_works() -> Outcome {
    for (variable, value) in [
        (MACHINE_VARIABLE, "dgx-h1000"),
        (CHECK_VARIABLE, "yes"),
        (REPORT_VARIABLE, "folder/"),
        (TIMELINE_VARIABLE, "stderr"),
    ] {
        let ended = Program::named("cannot initialise", "nonsense")?.with(variable, value).run()?;
        let said = ended.said();
        assert!(ended.output.status.success(), "{said}");
        let lines: Vec<&str> = said.lines().filter(|line| line.starts_with("warploom: ")).collect();
        assert!(matches!(lines[..], [line] if line.contains(variable) && line.contains(value)), "{said}");
    }
    Ok(())
}
