//! The command as its users meet it: its output and its exit codes.

use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;

fn warploom(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warploom"));
    command.args(arguments).env_remove("COLUMNS").env_remove("NO_COLOR").output().expect("the command starts")
}

/// Standard output of a command that succeeds.
#[track_caller]
fn prints(arguments: &[&str]) -> String {
    let output = warploom(arguments);
    let text = String::from_utf8(output.stdout).expect("output is UTF-8");
    assert!(output.status.success(), "{arguments:?}: {text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stderr.is_empty(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    text
}

/// Exit code and standard error of a command that fails.
#[track_caller]
fn complains(arguments: &[&str]) -> (Option<i32>, String) {
    let output = warploom(arguments);
    assert!(output.stdout.is_empty(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stdout));
    (output.status.code(), String::from_utf8(output.stderr).expect("complaints are UTF-8"))
}

#[track_caller]
fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&prints(arguments)).expect("output is JSON")
}

/// A file in a folder that goes with it.
struct File(PathBuf);

impl File {
    fn new(name: &str, text: &str) -> File {
        let path = std::env::temp_dir().join(format!("warploom-cli-{}-{name}", std::process::id()));
        std::fs::write(&path, text).expect("the folder for temporary files can be written");
        File(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("the folder for temporary files has a plain name")
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // The file may be removed already.
        drop(std::fs::remove_file(&self.0));
    }
}

#[test]
fn a_tour_leaves_a_timeline_behind() {
    let file = File::new("timeline.json", "");
    let tour = json(&["tour", "--json", "--timeline", file.path()]);
    assert_eq!((&tour["passed"], &tour["driver"]["kind"]), (&Value::Bool(true), &"simulated".into()), "{tour}");
    let timeline: Value = serde_json::from_slice(&std::fs::read(file.path()).expect("it was written")).expect("JSON");
    let events = timeline["traceEvents"].as_array().expect("a timeline has events");
    assert!(events.iter().any(|event| event["name"].as_str().is_some_and(|name| name.starts_with("copy "))));
    let (code, said) = complains(&["--timeline", "/absent/timeline.json"]);
    assert!(code == Some(1) && said.contains("/absent/timeline.json"), "{said}");
}

#[test]
fn a_tour_leaves_a_page_behind() {
    let file = File::new("tour.html", "");
    let tour = json(&["tour", "--json", "--html", file.path()]);
    assert_eq!(tour["passed"], Value::Bool(true), "{tour}");
    let page = std::fs::read_to_string(file.path()).expect("it was written");
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("mandelbrot") && page.ends_with("</html>\n"));
    let (code, said) = complains(&["tour", "--html", "/absent/tour.html"]);
    assert!(code == Some(1) && said.contains("/absent/tour.html"), "{said}");
}

#[test]
fn the_tour_says_where_it_is_and_every_check_holds() {
    let text = prints(&["--machine", "hgx-a100-4"]);
    assert!(text.starts_with("warploom on a simulated machine, hgx-a100-4, CUDA 13.0\n"), "{text}");
    let headings = [
        "Devices",
        "Memory",
        "Streams and events",
        "Copies",
        "Memory pools",
        "A budget, and who keeps the books",
        "A cache of memory",
        "Dropped too early, kept too long",
        "Managed memory",
        "Several devices",
        "Several processes",
        "A kernel on every device",
        "Graphs",
        "Errors are values",
    ];
    for heading in headings {
        assert!(text.contains(&format!("\n\n{heading}\n")), "{heading} in {text}");
    }
    assert!(text.contains("CUDA_ERROR_OUT_OF_MEMORY (2)") && text.contains("0 → 1 → 2 → 3 → 0"), "{text}");
    assert!(text.contains("a batch of 16 copies with 1 driver call"), "{text}");
    assert!(text.contains("draws 1584 pixels on 4 devices") && text.contains("\n  device 3  "), "{text}");
    assert!(text.contains("✓ every pixel is what the host computes for it"), "{text}");
    assert!(text.contains("from 97 to 1 by a loop on the device: 118 steps"), "{text}");
    assert!(text.contains("│ [2 CONDITIONAL WHILE]\n    │   ╭ True: graph_"), "{text}");
    assert!(text.contains("1 × memory of DevicePool of device 0, 4 MiB"), "{text}");
    assert!(text.contains("  ✓ ") && !text.contains('✗'), "{text}");
    assert!(!text.contains('\x1b'), "colour without a terminal");
}

#[test]
fn the_tour_needs_only_one_device() {
    let text = prints(&["tour", "--machine", "laptop"]);
    assert!(!text.contains("Several devices") && !text.contains('✗'), "{text}");
}

#[test]
fn the_tour_is_data_for_programs() {
    let tour = json(&["tour", "--json", "--machine", "pcie-pair"]);
    assert_eq!((&tour["passed"], &tour["driver"]["kind"]), (&Value::Bool(true), &"simulated".into()));
    assert!(tour["driver_calls"].as_u64() > Some(50));
    let steps = tour["steps"].as_array().expect("steps are a list");
    assert!(steps.iter().all(|step| step["error"].is_null()));
    let orders = steps.iter().find_map(|step| step["findings"]["orders"]["orders"].as_array());
    assert_eq!(orders.map(Vec::len), Some(9));
    let bands = steps.iter().find_map(|step| step["findings"]["kernels"]["bands"].as_array()).expect("is a step");
    assert_eq!(bands.iter().map(|band| band["device"].as_u64()).collect::<Vec<_>>(), [Some(0), Some(1)]);
    let alive = steps.iter().find_map(|step| step["findings"]["lifetimes"]["alive"].as_array()).expect("is a step");
    let memory = alive.iter().find(|alive| alive["bytes"] != 0).expect("a buffer is alive");
    assert_eq!((&memory["what"], &memory["count"]), (&"memory of DevicePool".into(), &1.into()));
    let graphs =
        steps.iter().map(|step| &step["findings"]["graphs"]).find(|graphs| !graphs.is_null()).expect("is a step");
    assert_eq!(graphs["launches"], serde_json::json!([{"start": 27, "steps": 111}, {"start": 97, "steps": 118}]));
    assert_eq!((&graphs["nodes"], &graphs["inner_nodes"], &graphs["launch_calls"]), (&4.into(), &3.into(), &1.into()));
    let races = steps.iter().find_map(|step| step["findings"]["races"]["findings"].as_array());
    let kinds: Vec<&Value> = races.into_iter().flatten().map(|finding| &finding["kind"]).collect();
    assert_eq!(kinds, [&Value::from("race")]);
}

#[test]
fn a_step_that_fails_fails_the_tour() {
    let no_devices = File::new("empty.toml", "driver = \"13.0\"\n");
    let output = warploom(&["tour", "--machine", no_devices.path()]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("✗") && text.contains("stopped early"), "{text}");
}

#[test]
fn devices_are_listed_with_who_can_access_whom() {
    let text = prints(&["devices", "--machine", "asymmetric"]);
    assert!(text.starts_with("3 devices on a simulated machine, asymmetric, CUDA 13.0\n"), "{text}");
    assert!(text.ends_with("     0 1 2\n  0  · ● –\n  1  ● · –\n  2  ● – ·\n"), "{text}");

    let report = json(&["devices", "--machine", "dgx-h100", "--json"]);
    assert_eq!(report["devices"].as_array().map(Vec::len), Some(8));
    assert_eq!(report["devices"][3]["compute_capability"], "9.0");
    assert_eq!(report["can_access"][0][7], true);
}

#[test]
fn a_topology_is_a_table_data_a_graph_and_a_picture() {
    let text = prints(&["topology", "--machine", "asymmetric"]);
    assert!(text.contains("can access") && text.contains("performance rank") && text.contains("{0, 1, 2}"), "{text}");
    let report = json(&["topology", "--machine", "asymmetric", "--json"]);
    assert_eq!(report["islands"], serde_json::json!([[0, 1, 2]]));
    assert_eq!(report["mutual_islands"], serde_json::json!([[0, 1], [2]]));
    let pair = &report["pairs"][1];
    assert_eq!((&pair["accessor"], &pair["owner"], &pair["can_access"]), (&0.into(), &2.into(), &false.into()));
    assert_eq!(report["pairs"][2]["atomics"], "partial");
    assert!(prints(&["topology", "--machine", "pcie-pair", "--dot"]).starts_with("digraph topology {\n"));
    assert!(prints(&["topology", "--machine", "dgx-h100", "--svg"]).starts_with("<svg "));
}

/// A graph with a loop, as the system's driver writes it.
const LOOP: &str = "digraph dot {\nsubgraph cluster_1 {\nlabel=\"graph_1\" graph[style=\"dashed\"];\n\
    \"graph_1_node_0\"[style=\"bold\" shape=\"octagon\" label=\"0\nprepare\n\"];\n\n\
    \"graph_1_node_1\"[style=\"bold\" shape=\"record\" label=\"{\nCONDITIONAL\n| {ID | 1}\n| {Conditional Type| WHILE}\n\
    | {True|graph_2}\n}\n\"];\n\n\"graph_1_node_0\" -> \"graph_1_node_1\";\n}\n\
    subgraph cluster_2 {\nlabel=\"graph_2\" graph[style=\"dashed\"];\n\
    \"graph_2_node_0\"[style=\"solid\" shape=\"trapezium\"label=\"0\nMEMCPY\n(DtoD,64)\n\"];\n\n}\n}\n";

#[test]
fn a_graph_in_a_file_is_a_table_data_and_a_picture() {
    let (file, picture) = (File::new("loop.dot", LOOP), File::new("loop.svg", ""));
    let expected = "graph_1: 2 nodes, 1 edge\n  id  kind         label    predecessors\n   0  KERNEL       prepare\n   \
                    1  CONDITIONAL  WHILE    0\n\ngraph_2: 1 node, 0 edges, run by graph_1_node_1 as True\n  id  kind    label    \
                    predecessors\n   0  MEMCPY  DtoD,64\n";
    assert_eq!(prints(&["graph", file.path()]), expected);
    let report = json(&["graph", file.path(), "--json", "--svg", picture.path()]);
    let node = &report["graphs"][0]["nodes"][1];
    assert_eq!(
        (&node["id"], &node["kind"], &node["label"]),
        (&"graph_1_node_1".into(), &"CONDITIONAL".into(), &"WHILE".into())
    );
    assert_eq!((&node["predecessors"][0], &node["bodies"][0]), (&"graph_1_node_0".into(), &"graph_2".into()));
    let svg = std::fs::read_to_string(picture.path()).expect("it was written");
    assert!(svg.starts_with("<svg ") && svg.matches("rx=\"7\"").count() == 3, "{svg}");
}

#[test]
fn the_graph_of_the_tour_can_be_read_and_drawn() {
    let picture = File::new("tour.svg", "");
    let tour = json(&["tour", "--json", "--machine", "laptop", "--svg", picture.path()]);
    let steps = tour["steps"].as_array().expect("steps are a list");
    let dot = steps.iter().find_map(|step| step["findings"]["graphs"]["dot"].as_str()).expect("is a step");
    let file = File::new("tour.dot", dot);
    let report = json(&["graph", file.path(), "--json"]);
    let kinds: Vec<&str> = report["graphs"]
        .as_array()
        .into_iter()
        .flatten()
        .flat_map(|graph| graph["nodes"].as_array())
        .flatten()
        .filter_map(|node| node["kind"].as_str())
        .collect();
    assert_eq!(kinds, ["MEMSET", "MEMCPY", "CONDITIONAL", "CHILD_GRAPH", "KERNEL", "MEMCPY", "MEMCPY"]);
    let svg = std::fs::read_to_string(picture.path()).expect("it was written");
    assert_eq!(svg.matches("rx=\"7\"").count(), kinds.len(), "{svg}");
}

#[test]
fn a_mistake_in_a_graph_is_shown_with_its_line() {
    let file = File::new("wrong.dot", "digraph dot {\n\"a\"[label=\"0\nEMPTY\"];\n\"a\" -> \"b\";\n}\n");
    let (code, complaint) = complains(&["graph", file.path()]);
    assert!(code == Some(1) && complaint.contains("wrong.dot:4: the edge names \"b\""), "{complaint}");
    let (code, complaint) = complains(&["graph", "no/such.dot"]);
    assert!(code == Some(1) && complaint.contains("no/such.dot"), "{complaint}");
    let file = File::new("right.dot", LOOP);
    let (code, complaint) = complains(&["graph", file.path(), "--svg", "/absent/picture.svg"]);
    assert!(code == Some(1) && complaint.contains("/absent/picture.svg"), "{complaint}");
}

#[test]
fn presets_are_listed() {
    let text = prints(&["presets"]);
    for name in ["h200", "dgx-h100", "hgx-a100-4", "grace-hopper", "asymmetric"] {
        assert!(text.contains(&format!("\n  {name} ")), "{name} in {text}");
    }
    assert_eq!(json(&["presets", "--json"])[0]["name"], "h200");
}

#[test]
fn a_machine_is_shown_and_can_be_written_down_and_read_again() {
    let text = prints(&["machine", "pcie-pair"]);
    assert!(text.starts_with("pcie-pair: 2 devices, driver 13.0, 1 NUMA node\n"), "{text}");
    let file = File::new("pair.toml", &prints(&["machine", "pcie-pair", "--toml"]));
    let (one, other) = (json(&["machine", "pcie-pair", "--json"]), json(&["machine", file.path(), "--json"]));
    assert_eq!((&one["devices"], &one["links"]), (&other["devices"], &other["links"]));
}

#[test]
fn a_mistake_in_a_file_is_shown_with_its_place() {
    let file = File::new("wrong.toml", "[[device]]\nmodel = \"t4\"\nmemory = \"16 GB of RAM\"\n");
    let (code, complaint) = complains(&["machine", file.path()]);
    assert_eq!(code, Some(1));
    assert!(complaint.contains(":3:") && complaint.contains("device[0].memory"), "{complaint}");
}

#[test]
fn missing_things_are_named() {
    let (code, complaint) = complains(&["machine", "no/such/file"]);
    assert!(code == Some(1) && complaint.contains("no/such/file"), "{complaint}");
    let (code, complaint) = complains(&["devices", "--machine", "dgx-h10"]);
    assert!(code == Some(1) && complaint.contains("did you mean \"dgx-h100\""), "{complaint}");
}

#[test]
fn a_command_line_that_makes_no_sense_is_refused_with_code_2() {
    let (code, complaint) = complains(&["--fast"]);
    assert_eq!(code, Some(2));
    assert!(complaint.starts_with("warploom: unexpected argument '--fast' found\n"), "{complaint}");
    assert!(complaint.contains("Usage: warploom [OPTIONS] [COMMAND]"), "{complaint}");
    for arguments in [
        &["topology", "--svg", "--json"][..],
        &["--json", "topology", "--dot"],
        &["machine", "h200", "--toml", "--json"],
    ] {
        let (code, complaint) = complains(arguments);
        assert!(code == Some(2) && complaint.contains("exclude each other"), "{complaint}");
        assert!(complaint.ends_with("warploom: hint: leave one out\n"), "{complaint}");
    }
}

#[test]
fn a_misspelled_command_gets_the_nearest() {
    let (code, complaint) = complains(&["topolgy"]);
    assert_eq!(code, Some(2));
    assert!(complaint.contains("unrecognized subcommand 'topolgy'") && complaint.contains("'topology'"), "{complaint}");
}

#[test]
fn help_and_version_are_there() {
    assert_eq!(prints(&["help"]), prints(&["--help"]));
    assert!(prints(&["-h"]).contains("\n  tour "));
    assert!(prints(&["--help"]).contains("\nExit codes:\n  0 "));
    assert!(prints(&["help", "graph"]).contains("\nExamples:\n  warploom graph step.dot "));
    assert_eq!(prints(&["--version"]), format!("warploom {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn colour_is_chosen_by_option() {
    assert!(prints(&["presets", "--color", "always"]).starts_with("\x1b[1m"));
    for when in ["auto", "never"] {
        assert!(!prints(&["presets", "--color", when]).contains('\x1b'), "{when}");
    }
}

#[test]
fn tables_fit_the_width_of_the_output() {
    let output = Command::new(env!("CARGO_BIN_EXE_warploom")).arg("presets").env("COLUMNS", "60").output();
    let text = String::from_utf8(output.expect("the command starts").stdout).expect("output is UTF-8");
    assert!(text.lines().skip(1).all(|line| line.chars().count() <= 60), "{text}");
    assert!(prints(&["presets"]).lines().any(|line| line.chars().count() > 60), "lines are whole without a terminal");
}

#[test]
fn shells_complete_commands_and_options() {
    for (shell, part) in
        [("bash", "warploom__subcmd__topology"), ("zsh", "#compdef warploom"), ("fish", "-a \"topology\"")]
    {
        let script = prints(&["completions", shell]);
        assert!(script.contains(part), "{shell}: {script}");
        assert_eq!(json(&["completions", shell, "--json"])["script"], script);
    }
    let (code, complaint) = complains(&["completions", "dos"]);
    assert!(code == Some(2) && complaint.contains("bash"), "{complaint}");
}

#[test]
fn manual_pages_are_printed_or_written() {
    let page = prints(&["man", "graph"]);
    assert!(page.contains(".TH warploom-graph 1") && page.contains("step.dot"), "{page}");
    assert!(prints(&["man"]).contains("warploom\\-topology(1)"));
    let folder = std::env::temp_dir().join(format!("warploom-man-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("the folder for temporary files can be written");
    let written = prints(&["man", "--folder", folder.to_str().expect("a plain name")]);
    let files: Vec<PathBuf> = written.lines().map(PathBuf::from).collect();
    let all_there = files.iter().all(|file| file.is_file());
    std::fs::remove_dir_all(&folder).expect("it is there");
    assert!(all_there && files.contains(&folder.join("warploom-devices.1")), "{written}");
    let (code, complaint) = complains(&["man", "flying"]);
    assert!(code == Some(2) && complaint.contains("there are tour, "), "{complaint}");
    let (code, complaint) = complains(&["man", "--folder", "/absent"]);
    assert!(code == Some(1) && complaint.contains("/absent/warploom.1"), "{complaint}");
}
