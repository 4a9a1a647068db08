//! `warploom ptx`: contents of files with PTX, and refusals.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{Folder, GUIDE, console_blocks, examples, words};

const IMAGES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../sim/tests/kernels/images");

const TWO_PROBLEMS: &str = "\
.version 7.0
.target sm_75
.address_size 64
.visible .entry fence(.param .u64 x, .param .align 8 .b8 y[24])
{
    .reg .b32 %r<3>;
    wgmma.fence.sync.aligned;
    mov.u32 %r1, %tid.x;
    tcgen05.wait::ld.sync.aligned;
    ret;
}
";

#[test]
fn a_text_is_summarised() {
    let text = Folder::new().prints(0, &["ptx", "mistakes.ptx"]);
    assert!(text.starts_with("mistakes.ptx: ptx, 1 PTX text\n\nPTX 7.0 for sm_75: 3 kernels\n"), "{text}");
    let row = text.lines().find(|line| line.starts_with("  no_barrier ")).unwrap_or_default();
    assert!(
        row.starts_with("  no_barrier    .u64, .u64   about ")
            && row.ends_with("   1 KiB    0 B        –            20"),
        "{text}"
    );
    assert!(text.contains("  opcode  count\n  add         9  ████████"), "{text}");
    assert!(text.ends_with("\n✓ device 0 of h200 accepts it\n"), "{text}");
}

#[test]
fn a_text_is_data_for_programs() {
    let report = Folder::new().json(0, &["ptx", "saxpy.ptx"]);
    assert_eq!(
        (&report["format"], &report["accepted"], &report["refusal"]),
        (&json!("ptx"), &json!(true), &Value::Null)
    );
    let text = &report["texts"][0];
    assert_eq!((&text["version"], &text["target"], &text["problems"]), (&json!("7.0"), &json!("sm_75"), &json!([])));
    let kernel = &text["kernels"][0];
    assert_eq!((&kernel["name"], &kernel["shared_bytes"]), (&json!("saxpy"), &json!(0)));
    assert_eq!(kernel["parameters"][1], json!({"name": "saxpy_param_1", "type": ".u64", "bytes": 8}));
    assert_eq!((&text["opcodes"]["fma"], &text["instructions"]["ld.param.u64"]), (&json!(1), &json!(2)));
}

#[test]
fn all_refused_instructions_are_marked() {
    let folder = Folder::new();
    folder.write("fence.ptx", TWO_PROBLEMS);
    let text = folder.prints(1, &["ptx", "fence.ptx"]);
    assert!(text.contains("✗ fence.ptx:7:5: `wgmma.fence.sync.aligned` cannot be run: "), "{text}");
    assert!(text.contains("\n7 |     wgmma.fence.sync.aligned;\n  |     ^^^^^^^^^^^^^^^^^^^^^^^^\n"), "{text}");
    assert!(text.contains("✗ fence.ptx:9:5: `tcgen05.wait::ld.sync.aligned` cannot be run: "), "{text}");
    assert!(text.ends_with("\n✗ device 0 of h200 refuses it, CUDA_ERROR_INVALID_PTX (218)\n"), "{text}");
    let report = folder.json(1, &["ptx", "fence.ptx"]);
    let problems = report["texts"][0]["problems"].as_array().expect("there are some");
    let lines: Vec<&Value> = problems.iter().map(|problem| &problem["line"]).collect();
    assert_eq!((lines, &problems[0]["column"]), (vec![&json!(7), &json!(9)], &json!(5)));
    let kernel = &report["texts"][0]["kernels"][0];
    assert_eq!((&kernel["registers"], &kernel["instructions"]), (&Value::Null, &json!(4)));
    assert_eq!(kernel["parameters"][1], json!({"name": "y", "type": ".align 8 .b8[24]", "bytes": 24}));
}

#[test]
fn a_syntax_error_is_marked() {
    let folder = Folder::new();
    folder.write("wrong.ptx", ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k( { ret; }\n");
    let text = folder.prints(1, &["ptx", "wrong.ptx"]);
    assert!(
        text.contains("✗ wrong.ptx:4:20: expected a parameter") && text.contains("\n  |                    ^\n"),
        "{text}"
    );
}

#[test]
fn the_machine_decides() {
    let folder = Folder::new();
    folder.write("hopper.ptx", ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n");
    folder.prints(0, &["ptx", "hopper.ptx", "--machine", "h200"]);
    let text = folder.prints(1, &["ptx", "hopper.ptx", "--machine", "hgx-a100-4"]);
    let refusal = "✗ device 0 of hgx-a100-4 refuses it, CUDA_ERROR_INVALID_PTX (218): the text is for sm_90; the device is sm_80\n";
    assert!(text.ends_with(refusal), "{text}");
}

#[test]
fn containers_list_their_texts() {
    let folder = Folder::new();
    let file = |name: &str| format!("{IMAGES}/{name}");
    let report = folder.json(0, &["ptx", &file("plain.fatbin")]);
    assert_eq!((&report["format"], &report["texts"][0]["cubin"]), (&json!("fatbin"), &Value::Null));
    let reason = "the cubin for sm_90 has no PTX in it, and a simulated device runs nothing else";
    assert_eq!(report["unusable"], json!([reason]));
    let report = folder.json(0, &["ptx", &file("lineinfo.cubin")]);
    assert_eq!((&report["format"], &report["texts"][0]["cubin"]), (&json!("cubin"), &json!("sm_90")));
    // Two texts, of which one calls a function of the other.
    let report = folder.json(0, &["ptx", &file("linked/linked.cubin")]);
    assert_eq!(report["texts"].as_array().map(Vec::len), Some(2));
    let text = folder.prints(1, &["ptx", &file("plain.cubin")]);
    assert!(
        text.contains("plain.cubin: cubin, 0 PTX texts\n") && text.contains("CUDA_ERROR_NO_BINARY_FOR_GPU (209)"),
        "{text}"
    );
}

#[test]
fn standard_input_is_read() {
    let folder = Folder::new();
    let mut child =
        folder.command(&["ptx", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    child.stdin.take().expect("it is piped").write_all(&folder.read("saxpy.ptx")).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.starts_with("stdin: ptx, 1 PTX text\n"), "{text}");
}

#[test]
fn bad_input_is_named() {
    let folder = Folder::new();
    folder.write("empty.toml", "driver = \"13.0\"\n");
    folder.write("noise", [0x80, 1, 2, 3]);
    for (code, arguments, message) in [
        (2, &["ptx"][..], "<FILE>"),
        (1, &["ptx", "absent.ptx"], "absent.ptx: No such file or directory"),
        (1, &["ptx", "noise"], "noise: neither PTX, which has a line `.version`, nor a cubin, nor a fatbin"),
        (
            1,
            &["ptx", "/proc/self/exe"],
            "the ELF file is neither a cubin of 64 bits nor a host program with fatbins in it",
        ),
        (1, &["ptx", "saxpy.ptx", "--machine", "h20"], "did you mean \"h200\""),
        (1, &["ptx", "saxpy.ptx", "--machine", "empty.toml"], "the machine empty.toml has no device to ask"),
    ] {
        let said = folder.complains(code, arguments);
        assert!(said.starts_with("warploom: ") && said.contains(message), "{arguments:?}: {said}");
    }
}

#[test]
fn documented_files_print_what_is_shown() {
    let folder = Folder::new();
    folder.write("fence.ptx", TWO_PROBLEMS);
    let line = &examples(&folder, "ptx")[0];
    folder.prints(0, &words(line).iter().map(String::as_str).collect::<Vec<_>>());
    let mut count = 0;
    for (line, expected) in console_blocks(GUIDE, "ptx") {
        let (_, text, said) = folder.run(&words(&line).iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(text + &said, expected, "{line}");
        count += 1;
    }
    assert!(count > 0, "the guide has files");
}
