//! `warploom doctor`: driver, libraries and folders, and the next steps.
#![cfg(target_os = "linux")]

use std::process::Command;

use serde_json::Value;

/// The command, with nothing of the environment that names libraries.
fn warploom(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warploom"));
    for variable in ["WARPLOOM_LIBCUDA", "WARPLOOM_NVRTC", "COLUMNS", "CUDA_VISIBLE_DEVICES"] {
        command.env_remove(variable);
    }
    command.args(arguments);
    command
}

/// The report, and the row of a subject.
#[track_caller]
fn row(mut command: Command, name: &str) -> (Value, Value) {
    let output = command.output().expect("the command starts");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("output is JSON");
    let rows = report["subjects"].as_array().expect("rows");
    let found = rows.iter().find(|row| row["name"] == name);
    (report.clone(), found.cloned().unwrap_or_else(|| panic!("{name} is in {report}")))
}

#[test]
fn the_simulated_library_is_found_and_every_lack_has_a_next_step() {
    let (report, library) = row(warploom(&["doctor", "--json"]), "simulated library");
    assert_eq!((&library["health"], &report["can_simulate"]), (&"good".into(), &true.into()), "{report}");
    for row in report["subjects"].as_array().expect("rows") {
        assert_eq!(row["health"] == "good", row["next_step"].is_null(), "{row}");
    }
    let text = warploom(&["doctor"]).output().expect("the command starts").stdout;
    let text = String::from_utf8(text).expect("output is UTF-8");
    assert!(text.contains("✓  simulated library  /") && text.contains("\nPrograms can run on a "), "{text}");
}

#[test]
fn a_driver_is_named_with_its_version_its_file_and_its_devices() {
    let program = env!("CARGO_BIN_EXE_warploom");
    let simulated = || warploom(&["sim", "--machine", "dgx-h100", "--", program, "doctor", "--json"]);
    let (report, driver) = row(simulated(), "CUDA driver");
    let found = driver["found"].as_str().expect("a text");
    assert!(found.starts_with("CUDA 13.0, /") && found.contains("libwarploom_cuda.so"), "{found}");
    assert_eq!(report["can_run_on_gpu"], true);
    let (_, devices) = row(simulated(), "devices");
    assert!(devices["found"].as_str().is_some_and(|found| found.starts_with("8: NVIDIA H100")), "{devices}");
}

#[test]
fn a_library_that_is_another_is_bad_and_one_that_is_not_there_is_absent() {
    let mut other = warploom(&["doctor", "--json"]);
    other.env("WARPLOOM_LIBCUDA", "libc.so.6");
    let (report, driver) = row(other, "CUDA driver");
    assert!(driver["found"].as_str().is_some_and(|found| found.contains("libc.so.6")), "{driver}");
    assert_eq!(report["can_run_on_gpu"], false);
    let mut absent = warploom(&["doctor", "--json"]);
    absent.env("WARPLOOM_NVRTC", "/absent/libnvrtc.so.13");
    let (_, nvrtc) = row(absent, "NVRTC");
    assert_eq!(nvrtc["health"], "absent");
    assert!(nvrtc["next_step"].as_str().is_some_and(|step| step.starts_with("pip install nvidia-cuda-nvrtc")));
}

#[test]
fn hidden_devices_are_explained() {
    let machine = std::env::temp_dir().join(format!("warploom-no-devices-{}.toml", std::process::id()));
    std::fs::write(&machine, "driver = \"13.0\"\n").expect("the folder for temporary files can be written");
    let (path, program) = (machine.to_str().expect("a plain name"), env!("CARGO_BIN_EXE_warploom"));
    let mut command = warploom(&["sim", "--machine", path, "--", program, "doctor", "--json"]);
    command.env("CUDA_VISIBLE_DEVICES", "-1");
    let (_, devices) = row(command, "devices");
    std::fs::remove_file(&machine).expect("it is there");
    assert_eq!(devices["health"], "bad");
    assert_eq!(devices["next_step"], "CUDA_VISIBLE_DEVICES=-1 hides devices: unset it");
}
