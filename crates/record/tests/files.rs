//! Record files: what is written is read, and damaged files are refused.

use std::path::PathBuf;

use warploom_record::{
    Call, Calls, Device, Dropped, End, Finding, KernelCount, LaunchShape, MemoryKind, MemorySeries, Op, OpKind, Record,
    RecordError, Stream, Way, read_folder,
};

type TestResult<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// A record with something in each of its parts.
fn sample(process: u32) -> Record {
    let mut record = Record::default();
    record.process.id = process;
    record.machine.devices.push(Device { name: "NVIDIA H200".to_owned(), memory: 1 << 37, numa_node: 0 });
    record.streams.push(Stream { device: 0, id: 3 });
    record.ways.push(Way { from: Some(End::Host), to: End::Device(0) });
    record.kernels.push(KernelCount { name: "saxpy".to_owned(), launches: 1, ..KernelCount::default() });
    record.shapes.push(LaunchShape { grid: [4, 1, 1], block: [256, 1, 1], shared: 0 });
    for (index, (kind, amount)) in [(OpKind::Copy, 4096), (OpKind::Kernel, 0)].into_iter().enumerate() {
        let start_ns = 1_000 + 5_000 * index as u64;
        record.ops.push(Op { kind, start_ns, time_ns: 2_000, stream: 0, call: 9 - index as u64, subject: 0, amount });
    }
    let call =
        |function, number| Call { function, code: "CUDA_SUCCESS", number, thread: 1, start_ns: number, time_ns: 5 };
    record.calls = Calls::of([call("cuInit", 1), call("cuMemAlloc_v2", 2), call("cuInit", 3)]);
    record.memory.push(MemorySeries {
        name: "device 0".to_owned(),
        kind: MemoryKind::Device,
        device: Some(0),
        capacity: 1 << 37,
        time_ns: vec![10, 500],
        peak: vec![64, 128],
        last: vec![64, 0],
    });
    record.findings.push(Finding { kind: "race".to_owned(), title: "</script>".to_owned(), ..Finding::default() });
    record.dropped = Dropped { events: 1, findings: 2 };
    record
}

/// A folder of this test, empty.
fn folder(name: &str) -> TestResult<PathBuf> {
    let folder = std::env::temp_dir().join(format!("warploom-record-{name}-{}", std::process::id()));
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    Ok(folder)
}

#[test]
fn a_folder_holds_one_file_for_each_process() -> TestResult {
    let folder = folder("each")?;
    let records = [sample(12), sample(7)];
    for record in &records {
        let path = record.write_into(&folder)?;
        assert_eq!(Record::read(path)?, *record);
    }
    std::fs::write(folder.join("notes.txt"), "nothing of ours")?;
    std::fs::write(folder.join("99.record.json.partial"), "{\"version\":")?;
    let read = read_folder(&folder)?;
    std::fs::remove_dir_all(&folder)?;
    assert_eq!(read, [records[1].clone(), records[0].clone()]);
    Ok(())
}

#[test]
fn ops_and_calls_come_out_as_they_went_in() {
    let record = sample(1);
    let ops: Vec<Op> = record.ops.iter().collect();
    assert_eq!((ops.len(), ops[0].kind, ops[1].kind), (2, OpKind::Copy, OpKind::Kernel));
    assert_eq!((ops[0].call, ops[1].call, ops[1].start_ns), (9, 8, 6_000));
    let functions: Vec<&str> = record.calls.iter().map(|call| call.function).collect();
    assert_eq!(functions, ["cuInit", "cuMemAlloc_v2", "cuInit"]);
}

#[test]
fn every_kind_has_a_letter_of_its_own() {
    for kind in OpKind::ALL {
        assert_eq!(OpKind::by_letter(kind.letter()), Some(*kind));
    }
    assert_eq!(OpKind::by_letter('?'), None);
}

#[test]
fn another_version_is_refused_by_its_number() -> TestResult {
    let text = sample(1).to_json()?.replacen("\"version\":1", "\"version\":2", 1);
    let error = Record::from_json(&text).expect_err("a later version").to_string();
    assert!(error.contains("version 2") && error.contains("version 1"), "{error}");
    // A later version may have other fields.
    assert!(matches!(Record::from_json("{\"version\":9}"), Err(RecordError::Version { found: 9 })));
    Ok(())
}

#[test]
fn records_whose_parts_do_not_fit_are_refused() -> TestResult {
    let whole = sample(1).to_json()?;
    for (good, bad, complaint) in [
        ("\"kind\":\"ck\"", "\"kind\":\"c\"", "columns of ops have different lengths"),
        ("\"kind\":\"ck\"", "\"kind\":\"c!\"", "`!` is no kind of op"),
        ("\"stream\":[0,0]", "\"stream\":[0,1]", "an op names stream 1 of 1"),
        ("\"subject\":[0,0]", "\"subject\":[5,0]", "an op names way 5 of 1"),
        ("\"subject\":[0,0]", "\"subject\":[0,5]", "an op names kernel 5 of 1"),
        ("\"amount\":[4096,0]", "\"amount\":[4096,7]", "an op names shape 7 of 1"),
        ("\"thread\":[1,1,1]", "\"thread\":[1]", "columns of calls have different lengths"),
        ("\"code\":[1,1,1]", "\"code\":[1,1,8]", "a call names name 8 of 3"),
        ("\"peak\":[64,128]", "\"peak\":[64]", "columns of the memory series \"device 0\""),
    ] {
        let text = whole.replacen(good, bad, 1);
        assert_ne!(text, whole, "{good}");
        let error = Record::from_json(&text).expect_err(bad).to_string();
        assert!(error.contains("a damaged record") && error.contains(complaint), "{error}");
    }
    let below = whole.replacen("\"start\":[1000,5000]", "\"start\":[1000,-5000]", 1);
    let error = Record::from_json(&below).expect_err("a time below zero").to_string();
    assert!(error.contains("no record of a run") && error.contains("below zero"), "{error}");
    Ok(())
}

#[test]
fn a_missing_folder_is_named() {
    let error = read_folder("/absent/records").expect_err("there is none").to_string();
    assert!(error.contains("/absent/records cannot be read"), "{error}");
}
