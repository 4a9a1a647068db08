//! The page as text: its size, its elements, and names of programs inside it.

use warploom_page::{PageError, write, write_folder};
use warploom_record::{
    Call, Calls, Device, End, Finding, FunctionCount, KernelCount, LaunchShape, Op, OpKind, Record, Site, Stream, Way,
};

type TestResult<T = ()> = Result<T, Box<dyn std::error::Error>>;

fn page(records: &[Record]) -> TestResult<String> {
    let mut page = Vec::new();
    write(records, &mut page)?;
    Ok(String::from_utf8(page)?)
}

/// A record of copies, each with its call.
fn copies(ops: u64) -> Record {
    let mut record = Record::default();
    record.machine.devices.push(Device { name: "NVIDIA H200".to_owned(), memory: 141 << 30, numa_node: 0 });
    record.streams = (0..4).map(|id| Stream { device: 0, id }).collect();
    record.ways.push(Way { from: Some(End::Host), to: End::Device(0) });
    let mut calls = Vec::new();
    for index in 0..ops {
        let (start_ns, time_ns) = (index * 1_937, 12_345 + index % 777);
        let (stream, call, amount) = (index as u32 % 4, 3 * index + 1, 4_194_304 + index);
        record.ops.push(Op { kind: OpKind::Copy, start_ns, time_ns, stream, call, subject: 0, amount });
        let (function, code) = ("cuMemcpyHtoDAsync_v2", "CUDA_SUCCESS");
        calls.push(Call { function, code, number: call, thread: 1, start_ns: 2_000 * index, time_ns: 1_500 });
    }
    record.calls = Calls::of(calls);
    record
}

#[test]
fn a_hundred_thousand_ops_and_calls_are_less_than_fifteen_megabytes() -> TestResult {
    let bytes = page(&[copies(100_000)])?.len();
    assert!(bytes < 15_000_000, "{bytes}");
    Ok(())
}

#[test]
fn names_of_a_program_cannot_end_the_script() -> TestResult {
    for evil in ["</script><script>alert(1)</script>", "<!--<script>", "</SCRIPT >", "]]></title><b>"] {
        let text = || evil.to_owned();
        let mut record = copies(1);
        record.process.command.push(text());
        record.machine.name = text();
        record.machine.devices[0].name = text();
        record.kernels.push(KernelCount { name: text(), ..KernelCount::default() });
        record.shapes.push(LaunchShape::default());
        record.functions.push(FunctionCount { name: text(), calls: 1, failed: vec![(text(), 1)] });
        record.refused.push(text());
        let site = Site { role: text(), operation: text(), ..Site::default() };
        record.findings.push(Finding {
            kind: text(),
            title: text(),
            details: vec![text()],
            sites: vec![site],
            ..Finding::default()
        });
        let page = page(&[record])?;
        let lower = page.to_lowercase();
        let count = |what: &str| lower.matches(what).count();
        assert_eq!((count("<script"), count("</script"), count("<!--"), count("</title")), (2, 2, 0, 1), "{evil}");
        assert!(!page.contains(evil), "{evil}");
        // The text is all there, escaped.
        let json = page.split_once("type=\"application/json\">").and_then(|(_, rest)| rest.split_once("</script>"));
        let records: Vec<Record> = serde_json::from_str(json.ok_or("the records")?.0)?;
        assert_eq!((&records[0].machine.name, &records[0].findings[0].title), (&text(), &text()));
    }
    Ok(())
}

#[test]
fn the_page_names_no_other_file_and_no_address() -> TestResult {
    let page = page(&[copies(10)])?;
    for address in ["https://", "src=", "@import", "url("] {
        let used = page.matches(address).count();
        // Namespaces are names and not addresses; marks of the picture are inside the page.
        let allowed = page.matches("url(#").count() * usize::from(address == "url(");
        assert_eq!(used, allowed, "{address}");
    }
    assert_eq!(page.matches("href=").count(), page.matches("href=\"#").count() + page.matches("href=\"data:,").count());
    Ok(())
}

#[test]
fn a_page_needs_a_record_and_refuses_a_damaged_one() -> TestResult {
    assert!(matches!(write(&[], &mut Vec::new()), Err(PageError::NoRecords)));
    let mut record = copies(2);
    record.ways.clear();
    let error = write(&[record], &mut Vec::new()).expect_err("it names a way that is gone").to_string();
    assert!(error.contains("an op names way 0 of 0"), "{error}");
    Ok(())
}

#[test]
fn the_records_of_a_folder_become_one_page() -> TestResult {
    let folder = std::env::temp_dir().join(format!("warploom-page-{}", std::process::id()));
    for process in [3, 5] {
        let mut record = copies(5);
        record.process.id = process;
        record.write_into(&folder)?;
    }
    let mut page = Vec::new();
    let processes = write_folder(&folder, &mut page);
    std::fs::remove_dir_all(&folder)?;
    assert_eq!(processes?, 2);
    let page = String::from_utf8(page)?;
    assert!(page.contains("\"process\":{\"id\":3") && page.contains("\"process\":{\"id\":5"));
    let absent = write_folder("/absent/records", &mut Vec::new()).expect_err("there is none").to_string();
    assert!(absent.contains("/absent/records"), "{absent}");
    Ok(())
}
