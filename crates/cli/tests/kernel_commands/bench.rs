//! `warploom bench`: its sections, their data and the plot.

use serde_json::{Value, json};

use crate::support::{Folder, GUIDE, console_blocks, examples, words};

#[test]
fn all_sections_are_measured() {
    let text = Folder::new().prints(0, &["bench", "--quick", "--machine", "pcie-pair"]);
    assert!(text.starts_with("bench of 2 devices on a simulated machine, pcie-pair, CUDA 13.0\n"), "{text}");
    assert!(text.contains("\nBandwidth\n  GB/s, 2 copies of 4 MiB, in virtual time\n"), "{text}");
    assert!(text.contains("\nHost time of an operation\n  of the simulated driver, by the host's clock\n"), "{text}");
    assert!(text.contains("\nKernels\n  in virtual time; the host's time is that of the simulation\n"), "{text}");
    assert!(!text.contains('✗') && !text.contains('\x1b') && !text.contains('\r'), "{text}");
}

#[test]
fn bandwidth_is_that_of_the_links() {
    let folder = Folder::new();
    let report = folder.json(0, &["bench", "--quick", "--only", "bandwidth", "--machine", "dgx-h100"]);
    assert_eq!(
        (&report["virtual_time"], &report["calls"], &report["kernels"]),
        (&json!(true), &Value::Null, &Value::Null)
    );
    let pairs = report["bandwidth"]["devices"].as_array().expect("pairs are a list");
    assert_eq!((pairs.len(), report["bandwidth"]["host"].as_array().map(Vec::len)), (64, Some(8)));
    for pair in pairs.iter().filter(|pair| pair["from"] != pair["to"]) {
        // Links of 450 GB/s in each direction, less their latency.
        let (one_way, both) = (pair["one_way"].as_f64().expect("a number"), pair["both"].as_f64().expect("a number"));
        assert!((300e9..=460e9).contains(&one_way) && both > 1.6 * one_way, "{pair}");
        assert_eq!(pair["direct"], true);
    }
    assert!(pairs.iter().filter(|pair| pair["from"] == pair["to"]).all(|pair| pair["both"].is_null()));
    let pair = || folder.json(0, &["bench", "--quick", "--only", "bandwidth", "--machine", "pcie-pair"]);
    assert_eq!(pair()["bandwidth"], pair()["bandwidth"], "virtual time repeats");
}

#[test]
fn pairs_without_access_are_copied_through_the_host() {
    let text = Folder::new().prints(0, &["bench", "--quick", "--only", "bandwidth", "--machine", "asymmetric"]);
    assert!(text.contains("  * through the host: the devices have no access to each other\n"), "{text}");
}

#[test]
fn calls_have_a_cost_and_one_driver_call() {
    let report = Folder::new().json(0, &["bench", "--quick", "--only", "calls", "--machine", "h200"]);
    let calls = report["calls"].as_array().expect("calls are a list");
    let names: Vec<&str> = calls.iter().filter_map(|call| call["operation"].as_str()).collect();
    assert_eq!(names.len(), 8);
    for (call, name) in calls.iter().zip(names) {
        assert_eq!(call["driver_calls"], 1.0, "{name}");
        assert!(
            call["nanoseconds"].as_f64() >= call["fastest"].as_f64() && call["fastest"].as_f64() > Some(0.0),
            "{call}"
        );
    }
}

#[test]
fn kernels_are_timed_and_checked() {
    let report = Folder::new().json(0, &["bench", "--quick", "--only", "kernels", "--machine", "h200"]);
    let kernels = report["kernels"].as_array().expect("kernels are a list");
    let names: Vec<&Value> = kernels.iter().map(|kernel| &kernel["kernel"]).collect();
    assert_eq!(names, ["saxpy", "sum", "matmul", "mandelbrot"]);
    for kernel in kernels {
        assert!(kernel["correct"] == true && kernel["rate"].as_f64() > Some(0.0), "{kernel}");
    }
}

#[test]
fn a_plot_is_a_picture() {
    let folder = Folder::new();
    folder.prints(0, &["bench", "--quick", "--machine", "pcie-pair", "--svg", "bench.svg"]);
    let svg = String::from_utf8(folder.read("bench.svg")).expect("a picture is text");
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{svg}");
    assert_eq!(svg.matches("<g>").count(), 8 + 6, "a cell for each direction, and for each pair of them");
    assert!(svg.contains("host to 1:") && svg.contains(">launch a kernel<") && svg.contains("matmul, 64×64"), "{svg}");
}

#[test]
fn bad_input_is_named() {
    let folder = Folder::new();
    for (code, arguments, message) in [
        (2, &["bench", "--only", "latency"][..], "invalid value 'latency' for '--only <SECTION>'"),
        (1, &["bench", "--svg", "/absent/bench.svg"], "/absent/bench.svg: No such file or directory"),
        (1, &["bench", "--machine", "h20"], "did you mean \"h200\""),
    ] {
        let said = folder.complains(code, arguments);
        assert!(said.starts_with("warploom: ") && said.contains(message), "{arguments:?}: {said}");
    }
}

#[test]
fn documented_measurements_print_what_is_shown() {
    let folder = Folder::new();
    let blocks = console_blocks(GUIDE, "bench");
    assert!(!blocks.is_empty(), "the guide has measurements");
    for (line, expected) in blocks {
        let words = words(&line);
        assert_eq!(folder.prints(0, &words.iter().map(String::as_str).collect::<Vec<_>>()), expected, "{line}");
    }
}

#[test]
fn examples_in_the_help_run() {
    let folder = Folder::new();
    for line in examples(&folder, "bench") {
        let words = words(&line);
        let mut arguments: Vec<&str> = words.iter().map(String::as_str).collect();
        // All of them would take minutes in a build for tests.
        if !arguments.contains(&"--quick") {
            arguments.push("--quick");
        }
        if !arguments.contains(&"--only") {
            arguments.extend(["--only", "calls"]);
        }
        folder.prints(0, &arguments);
    }
}
