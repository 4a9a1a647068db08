//! Records of processes, one file each in one folder.

use warploom_cuda::{CHECK_VARIABLE, MACHINE_VARIABLE, RECORD_VARIABLE};
use warploom_record::{End, OpKind, Record};

use crate::child::{Outcome, Program};

/// The records that a program leaves.
fn records(program: &str, test: &str) -> Outcome<Vec<Record>> {
    let program = Program::named(program, test)?.with(RECORD_VARIABLE, "left/records").with(CHECK_VARIABLE, "report");
    let ended = program.with(MACHINE_VARIABLE, "hgx-a100-4").run()?;
    // Some programs exit with a code of their own.
    assert!(ended.output.status.code().is_some(), "{}", ended.said());
    assert_eq!(ended.files()?, ["left"], "{}", ended.said());
    Ok(warploom_record::read_folder(ended.path("left/records"))?)
}

#[test]
fn a_record_has_the_ops_calls_and_command_of_its_process() -> Outcome {
    let [record] = records("copies", "record")?.try_into().map_err(|_| "one process")?;
    assert_eq!((record.machine.name.as_str(), record.machine.devices.len()), ("hgx-a100-4", 4));
    let copies: Vec<_> = record.ops.iter().filter(|op| op.kind == OpKind::Copy).collect();
    let ways = copies.iter().map(|op| (record.ways[op.subject as usize].to, op.amount));
    assert_eq!(ways.collect::<Vec<_>>(), [(End::Device(0), 4096), (End::Host, 1000)]);
    assert!(record.calls.iter().any(|call| call.function == "cuMemcpyHtoD_v2"));
    assert!(record.process.command.iter().any(|argument| argument == "--ignored"), "{:?}", record.process);
    Ok(())
}

#[test]
fn findings_name_the_lines_that_made_the_calls() -> Outcome {
    let [record] = records("races", "record-findings")?.try_into().map_err(|_| "one process")?;
    let kinds: Vec<&str> = record.findings.iter().map(|finding| finding.kind.as_str()).collect();
    assert!(kinds[0] == "race" && kinds.contains(&"leak"), "{kinds:?}");
    for (site, function) in record.findings[0].sites.iter().zip(["cuMemsetD8Async", "cuMemcpyDtoDAsync_v2"]) {
        let source = site.source.as_ref().ok_or("it was compiled with its lines")?;
        assert!(source.file.ends_with("exit/programs.rs"), "{source:?}");
        let line = source.lines.iter().find(|line| line.number == source.line).ok_or("the file is there")?;
        assert!(line.text.contains(function), "{line:?}");
    }
    Ok(())
}

#[test]
fn parent_and_child_leave_a_record_each() -> Outcome {
    let both = records("forks before use", "record-fork")?;
    assert_eq!(both.len(), 2);
    assert_ne!(both[0].process.id, both[1].process.id);
    Ok(())
}

#[test]
fn a_record_is_left_by_a_process_that_exits_in_the_middle_of_work() -> Outcome {
    for program in ["exits while work runs", "exits in a host function", "exits while others call"] {
        let records = records(program, &format!("record {program}"))?;
        assert_eq!(records.len(), 1, "{program}");
        assert!(records[0].functions.iter().any(|function| function.name == "cuInit"), "{program}");
    }
    Ok(())
}

#[test]
fn a_folder_that_cannot_be_written_is_named_and_no_more() -> Outcome {
    let ended = Program::named("copies", "record-unwritable")?.with(RECORD_VARIABLE, "/proc/records").run()?;
    assert!(ended.output.status.success(), "{}", ended.said());
    assert!(ended.said().contains("the record could not be written into /proc/records: "), "{}", ended.said());
    Ok(())
}
