//! Exit codes, summaries, reports and timelines.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::{Ended, build, program, run, scratch, sim};

#[test]
fn a_program_runs_on_the_machine_and_its_exit_code_passes_through() {
    let ended = run(&["--machine", "dgx-h100"], &["devices"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "8\n"), "{}", ended.stderr);
    let summary = "warploom: 1 process on dgx-h100: 7 calls, 0 kernel launches, 0 B copied, 4 KiB filled, 0 findings\n";
    assert_eq!(ended.stderr, summary);
    assert_eq!(run(&[], &["exit", "7"]).code, Some(7));
}

#[test]
fn a_topology_file_is_found_from_any_folder() {
    let file = scratch("machine.toml");
    fs::write(&file, "[[device]]\nmodel = \"t4\"\n[[device]]\nmodel = \"t4\"\n").expect("the folder is there");
    let mut command = sim(&["--machine"]);
    command.arg(format!("./{}", file.file_name().expect("it has a name").display()));
    command.args(["--", "sh", "-c", "cd / && exec \"$0\" devices", program()]);
    let ended = Ended::of(command.current_dir(file.parent().expect("it has one")).output().expect("it starts"));
    assert_eq!(ended.stdout, "2\n", "{}", ended.stderr);
}

#[test]
fn findings_are_in_the_summary_and_fail_the_run_if_asked() {
    let reported = run(&["--check"], &["race"]);
    assert_eq!(reported.code, Some(0));
    assert!(reported.stderr.contains("\nwarploom: race: "), "{}", reported.stderr);
    assert!(reported.stderr.lines().all(|line| line.starts_with("warploom: ")), "{}", reported.stderr);
    assert_eq!(run(&["--check=fail"], &["race"]).code, Some(3));
    assert_eq!(run(&["--check=fail"], &["free"]).code, Some(0), "nothing was found");
    assert_eq!(run(&["--check=fail"], &["exit", "7"]).code, Some(7), "leaks, but the program failed itself");
    assert!(run(&[], &["race"]).stderr.contains(" 0 findings"), "not checked");
}

#[test]
fn several_processes_share_one_report() {
    let (report, timeline) = (scratch("fork.json"), scratch("fork-timeline.json"));
    let paths = [report.to_str().expect("plain"), timeline.to_str().expect("plain")];
    let ended = run(&["--check", "--report", paths[0], "--timeline", paths[1]], &["fork"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stderr.starts_with("warploom: 3 processes on h200: 18 calls, "), "{}", ended.stderr);
    let report: Value = serde_json::from_slice(&fs::read(&report).expect("written")).expect("JSON");
    let processes = report["processes"].as_array().expect("a list");
    assert_eq!(processes.len(), 3);
    // They are in the order in which their machines started, of which the parent's may be any.
    let is_child = |one: &&Value| processes.iter().any(|other| other["process"] == one["parent"]);
    assert_eq!(processes.iter().filter(is_child).count(), 2, "children name their parent: {report}");
    assert_eq!((&report["totals"]["calls"], &report["totals"]["bytes_filled"]), (&18.into(), &12288.into()));
    let timeline: Value = serde_json::from_slice(&fs::read(&timeline).expect("written")).expect("JSON");
    let names: Vec<&str> = timeline["traceEvents"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|event| event["name"] == "process_name")
        .filter_map(|event| event["args"]["name"].as_str())
        .collect();
    assert_eq!(names.iter().filter(|name| name.contains("host: calls")).count(), 3, "{names:?}");
}

#[test]
fn a_page_shows_all_processes() {
    let page = scratch("fork.html");
    let ended = run(&["--check", "--html", page.to_str().expect("plain")], &["fork"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let page = fs::read_to_string(&page).expect("written");
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains(" and 2 more"), "{}", &page[..1000]);
}

#[test]
fn a_killed_process_is_in_the_report_with_its_findings() {
    let report = scratch("killed.json");
    let ended = run(&["--check", "--report", report.to_str().expect("plain")], &["race, killed"]);
    assert_eq!(ended.code, Some(128 + 9), "{}", ended.stderr);
    assert!(ended.stderr.contains("1 finding; killed by signal 9\n"), "{}", ended.stderr);
    assert!(ended.stderr.contains("left no report: it was killed"), "{}", ended.stderr);
    assert!(ended.stderr.contains("\nwarploom: race: "), "{}", ended.stderr);
    let report: Value = serde_json::from_slice(&fs::read(&report).expect("written")).expect("JSON");
    assert_eq!((&report["exit"]["signal"], &report["processes"][0]["report"]), (&9.into(), &Value::Null));
}

#[test]
fn a_run_without_a_call_says_so() {
    let ended = run(&[], &["nothing"]);
    assert_eq!(ended.code, Some(0));
    assert!(ended.stderr.contains("warploom: no call arrived at the simulated driver: "), "{}", ended.stderr);
}

#[test]
fn a_driver_that_the_program_finds_first_is_named() {
    let folder = scratch("rpath");
    fs::create_dir_all(&folder).expect("the folder is there");
    let library = build("compiler.c", "other-driver.so", &["-shared", "-fPIC"]);
    fs::rename(library, folder.join("libcuda.so.1")).expect("both are here");
    let path = format!("-Wl,--disable-new-dtags,-rpath,{}", folder.display());
    let program = build("program.c", "rpath-program", &["-ldl", &path]);
    let ended = Ended::of(sim(&["--"]).arg(program).output().expect("it starts"));
    let expected = format!("the program finds {}/libcuda.so.1 before the simulated driver", folder.display());
    assert!(ended.code == Some(90) && ended.stderr.contains(&expected), "{}", ended.stderr);
}

#[test]
fn a_plan_fails_calls_and_a_seed_gives_an_order() {
    let plan = scratch("faults.toml");
    fs::write(&plan, "[[fault]]\ncall = \"cuMemAlloc\"\nnth = 1\ncode = \"OUT_OF_MEMORY\"\n").expect("writable");
    let ended = run(&["--faults", plan.to_str().expect("plain"), "--seed", "7"], &["exit"]);
    assert_eq!(ended.code, Some(91), "{}", ended.stderr);
    assert!(ended.stderr.contains("cuMemAlloc_v2: 2\n") && ended.stderr.contains("(1 failed)"), "{}", ended.stderr);
}

#[test]
fn the_summary_is_data_for_programs() {
    let ended = run(&["--json"], &["exit"]);
    let report: Value = serde_json::from_str(&ended.stderr).expect("JSON");
    assert_eq!((&report["exit"]["code"], &report["totals"]["calls"]), (&0.into(), &6.into()));
}

#[test]
fn the_environment_is_explained_without_a_run() {
    let ended = Ended::of(sim(&["--explain", "--seed", "3", "--check"]).output().expect("it starts"));
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    for part in ["LD_LIBRARY_PATH", "LD_PRELOAD", "-lineinfo", "WARPLOOM_MODE", "seeded:3", "WARPLOOM_CHECK"] {
        assert!(ended.stdout.contains(part), "{part}: {}", ended.stdout);
    }
    let ended = Ended::of(sim(&["--explain", "--json", "--", program(), "exit", "7"]).output().expect("it starts"));
    let settings: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    assert_eq!((ended.code, &settings[0]["name"]), (Some(0), &"LD_LIBRARY_PATH".into()));
}

/// Text with every address replaced by the same.
fn without_addresses(text: &str) -> String {
    let mut parts = text.split("0x");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |all, part| all + "0x…" + part.trim_start_matches(|digit: char| digit.is_ascii_hexdigit()))
}

#[test]
fn the_program_of_the_guide_has_the_output_of_the_guide() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/sim-command.md");
    let guide = fs::read_to_string(guide).expect("the guide is there");
    let part =
        |from: &str, to: &str| guide.split(from).nth(1).and_then(|rest| rest.split(to).next()).expect("it is there");
    let source = scratch("guide.c");
    fs::write(&source, part("```c\n", "```")).expect("the folder is there");
    let race = build(source.to_str().expect("plain"), "guide", &["-ldl"]);
    let ended = Ended::of(sim(&["--check=fail", "--"]).arg(race).output().expect("it starts"));
    let expected = part("$ warploom sim --check=fail -- ./race\n", "$ echo $?\n3\n");
    assert_eq!((ended.code, without_addresses(&ended.stderr)), (Some(3), without_addresses(expected)));
}

#[test]
fn the_library_path_of_the_user_stays_behind_the_simulated_one() {
    let mut command = sim(&["--", "sh", "-c", "echo $LD_LIBRARY_PATH"]);
    let ended = Ended::of(command.env("LD_LIBRARY_PATH", "/own").output().expect("it starts"));
    assert!(ended.stdout.ends_with(":/own\n") && ended.stdout.starts_with('/'), "{}", ended.stdout);
}
