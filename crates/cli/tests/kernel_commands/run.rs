//! `warploom run`: results, pictures, findings, and mistakes in its arguments.

use serde_json::{Value, json};

use crate::support::{Folder, GUIDE, console_blocks, examples, without_estimates, words};

const SAXPY: [&str; 10] =
    ["run", "saxpy.ptx", "-a", "f32:a=2", "-a", "f32:x:n=1000:iota", "-a", "f32:y:n=1000:fill=1", "-a", "u32:n=1000"];

fn saxpy(more: &[&'static str]) -> Vec<&'static str> {
    [&SAXPY, more].concat()
}

#[test]
fn a_kernel_runs_and_its_memory_is_summarised() {
    let text = Folder::new().prints(0, &saxpy(&["--machine", "h200"]));
    assert!(
        text.starts_with("saxpy on a simulated machine, h200, CUDA 13.0\n  4 blocks of 256 threads, 0.00"),
        "{text}"
    );
    assert!(text.contains(" registers, 8 blocks per SM (100 % occupancy)\n"), "{text}");
    assert!(
        text.contains("  memory  type     n  min   max   mean  NaN\n  x       f32   1000    0   999  499.5    0\n"),
        "{text}"
    );
    assert!(text.ends_with("  y       f32   1000    1  1999   1000    0\n\n✓ no findings\n"), "{text}");
}

#[test]
fn printed_memory_shows_its_ends_or_all_of_it() {
    let folder = Folder::new();
    let text = folder.prints(0, &saxpy(&["-p", "x", "--print", "y"]));
    assert!(text.contains("\n    i    x     y\n    0    0     1\n    1    1     3\n"), "{text}");
    assert!(text.contains("\n    4    4     9\n    …    …     …\n  995  995  1991\n"), "{text}");
    let text = folder.prints(0, &saxpy(&["-p", "y", "--all"]));
    assert!(text.contains("\n  500  1001\n") && !text.contains('…'), "{text}");
}

#[test]
fn memory_of_two_dimensions_is_a_matrix() {
    let folder = Folder::new();
    let arguments =
        ["run", "saxpy.ptx", "-a", "f32:a=0", "-a", "f32:x:n=20x3:iota", "-a", "f32:y:n=20x3:iota", "-a", "u32:n=60"];
    let text = folder.prints(0, &[&arguments[..], &["--block", "64", "--grid", "1", "-p", "y"]].concat());
    let expected = "\n  y\n\n      0   1   2   3  …  16  17  18  19\n  0   0   1   2   3  …  16  17  18  19\n  1  20  21  22  23  …  36  37  38  39\n";
    assert!(text.contains(expected.trim_start_matches("\n  y\n\n")), "{text}");
    let text = folder.prints(0, &[&arguments[..], &["--block", "64", "--grid", "1", "-p", "y", "--all"]].concat());
    assert!(text.contains("  2  40  41  42  43  44  45  46  47  48  49"), "{text}");
}

#[test]
fn a_run_is_data_for_programs() {
    let report = Folder::new().json(0, &saxpy(&["-p", "y", "--machine", "h200"]));
    assert_eq!((&report["kernel"], &report["device"], &report["checked"]), (&json!("saxpy"), &json!(0), &json!(true)));
    assert_eq!((&report["launch"]["grid"], &report["launch"]["block"]), (&json!([4, 1, 1]), &json!([256, 1, 1])));
    assert_eq!((&report["launch"]["virtual_time"], &report["launch"]["occupancy"]), (&json!(true), &json!(1.0)));
    assert!(report["launch"]["milliseconds"].as_f64() > Some(0.0));
    let [x, y] = [&report["memory"][0], &report["memory"][1]];
    assert_eq!(
        (&x["name"], &x["type"], &x["size"], &x["values"]),
        (&json!("x"), &json!("f32"), &json!([1000]), &Value::Null)
    );
    assert_eq!((&y["min"], &y["max"], &y["mean"], &y["nan"]), (&json!(1.0), &json!(1999.0), &json!(1000.0), &json!(0)));
    let values = y["values"].as_array().expect("they were asked for");
    assert_eq!((values.len(), &values[999]), (1000, &json!(1999.0)));
    assert_eq!((&report["findings"], &report["error"], &report["compiler"]), (&json!([]), &Value::Null, &Value::Null));
}

#[test]
fn files_are_values() {
    let folder = Folder::new();
    folder.write("x.csv", "1, 2,3\n4.5\n");
    folder.write("y.bin", [10.0_f32, 20.0, 30.0, 40.0].map(f32::to_le_bytes).concat());
    let arguments =
        ["run", "saxpy.ptx", "-a", "f32:a=10", "-a", "f32:x:file=x.csv", "-a", "f32:y:n=4:file=y.bin", "-a", "u32:n=4"];
    let report = folder.json(0, &[&arguments[..], &["-p", "y"]].concat());
    assert_eq!(report["memory"][1]["values"], json!([20.0, 40.0, 60.0, 85.0]));
    folder.write("x.csv", "1, 2\nthree\n");
    assert_eq!(folder.complains(1, &arguments), "warploom: x.csv:2: \"three\" is no f32; expected one such as 2.5\n");
    folder.write("x.csv", "1 2 3 4");
    folder.write("y.bin", [0; 15]);
    let said = folder.complains(1, &arguments);
    assert!(said.contains("y.bin: 15 bytes of values; n=4 takes 4 values of f32, 16 bytes"), "{said}");
}

#[test]
fn a_picture_is_a_file_of_its_format() {
    let folder = Folder::new();
    let shape = ["--grid", "2,1", "--block", "16,16"];
    let arguments =
        ["run", "mandelbrot.ptx", "-a", "u8:p:n=3x32x16", "--picture", "p=set.png", "--picture", "p=set.ppm"];
    let report = folder.json(0, &[&arguments[..], &shape].concat());
    assert_eq!(report["memory"][0]["pictures"], json!(["set.png", "set.ppm"]));
    let (png, ppm) = (folder.read("set.png"), folder.read("set.ppm"));
    assert_eq!(&png[..24], b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x20\0\0\0\x10");
    assert_eq!((&ppm[..13], ppm.len()), (&b"P6\n32 16\n255\n"[..], 13 + 3 * 32 * 16));
    // The pixel near the origin is in the set, and the corner is not.
    let pixel = |x: usize, y: usize| &ppm[13 + 3 * (y * 32 + x)..][..3];
    assert_eq!(pixel(21, 8), [0, 0, 0]);
    assert_ne!(pixel(0, 0), [0, 0, 0]);
    let grey = ["run", "saxpy.ptx", "-a", "f32:a=1", "-a", "f32:x:n=4x2:iota", "-a", "f32:y:n=4x2", "-a", "u32:n=8"];
    folder.prints(0, &[&grey[..], &["--block", "8", "--grid", "1", "--picture", "y=y.pgm"]].concat());
    assert_eq!(folder.read("y.pgm"), b"P5\n4 2\n255\n\x00\x24\x49\x6d\x92\xb6\xdb\xff");
}

#[test]
fn findings_are_printed_and_are_the_exit_code() {
    let folder = Folder::new();
    let race = ["run", "mistakes.ptx", "--kernel", "no_barrier", "-a", "i32:x:n=256:iota", "-a", "i32:sums:n=256"];
    let text = folder.prints(3, &race);
    assert!(
        text.contains("\n✗ race in a kernel: ") && text.contains("missing: put __syncthreads() between the two"),
        "{text}"
    );
    assert_eq!(folder.json(3, &race)["findings"][0]["kind"], "kernel_race");
    let text = folder.prints(0, &[&race[..], &["--no-check"]].concat());
    assert!(!text.contains('✗') && !text.contains("no findings"), "{text}");
    let outside = ["run", "mistakes.ptx", "--kernel", "past_the_end", "-a", "i32:x:n=16", "-a", "i32:n=16"];
    let text = folder.prints(3, &outside);
    assert!(text.contains("0 bytes behind the end of the 64 bytes"), "{text}");
    let uninit = ["run", "saxpy.ptx", "-a", "f32:a=1", "-a", "f32:x:n=8:uninit", "-a", "f32:y:n=8", "-a", "u32:n=8"];
    let text = folder.prints(3, &uninit);
    assert!(text.contains("uninitialised"), "{text}");
}

#[test]
fn a_fault_without_checks_fails_the_run() {
    let folder = Folder::new();
    let far = ["run", "mistakes.ptx", "--kernel", "past_the_end", "-a", "u64:x=64", "-a", "i32:n=16", "--no-check"];
    let text = folder.prints(1, &[&far[..], &["--block", "32"]].concat());
    assert!(text.contains("\n✗ ") && text.contains("CUDA_ERROR_ILLEGAL_ADDRESS"), "{text}");
    assert!(folder.json(1, &far)["error"].as_str().is_some_and(|error| error.contains("CUDA_ERROR_ILLEGAL_ADDRESS")));
}

#[test]
fn output_of_the_kernel_is_shown() {
    let folder = Folder::new();
    let greet = ["run", "mistakes.ptx", "--kernel", "greet", "-a", "i32:number=42"];
    assert!(folder.prints(0, &greet).contains("\noutput\n  number 42\n"));
    assert_eq!(folder.json(0, &greet)["output"], "number 42\n");
}

#[test]
fn arguments_are_compared_with_the_parameters() {
    let folder = Folder::new();
    let said =
        folder.complains(2, &["run", "saxpy.ptx", "-a", "f64:a=2", "-a", "f32:x:n=1000:iota", "-a", "u32:n=1000"]);
    let expected = "\
warploom: the arguments do not fit: saxpy has 4 parameters, and 3 arguments are given
✗ parameter 0: 4 bytes, argument: f64:a=2 (8 bytes)
  parameter 1: 8 bytes, argument: f32:x:n=1000:iota (an address, 8 bytes)
✗ parameter 2: 8 bytes, argument: u32:n=1000 (4 bytes)
✗ parameter 3: 4 bytes, argument: missing
warploom: hint: give an --arg for each parameter, in their order
";
    assert_eq!(said, expected);
}

#[test]
fn bad_input_is_named_with_the_next_step() {
    let folder = Folder::new();
    folder.write("kernel.txt", "");
    folder.write("none.ptx", ".version 7.0\n.target sm_75\n.address_size 64\n");
    folder.write("wrong.ptx", ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k() {\n  fly;\n}\n");
    folder.write("newer.ptx", ".version 7.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n");
    for (code, arguments, message) in [
        (2, &["run"][..], "<FILE>"),
        (1, &["run", "absent.ptx"], "absent.ptx: No such file or directory"),
        (
            2,
            &["run", "kernel.txt"],
            "kernel.txt: expected a file that ends in .cu or .ptx\nwarploom: hint: `warploom ptx FILE`",
        ),
        (
            1,
            &["run", "none.ptx"],
            "the file has no kernel\nwarploom: hint: a kernel is __global__ in CUDA C++, .entry in PTX",
        ),
        (
            2,
            &["run", "mistakes.ptx"],
            "the file has 3 kernels: greet, no_barrier, past_the_end\nwarploom: hint: name one with --kernel",
        ),
        (
            2,
            &["run", "mistakes.ptx", "--kernel", "great"],
            "there is no kernel \"great\"; the file has greet, no_barrier",
        ),
        (1, &["run", "wrong.ptx"], "wrong.ptx:5:3: "),
        (1, &["run", "wrong.ptx"], "\n5 |   fly;\n  |   ^^^"),
        (1, &["run", "newer.ptx", "--machine", "hgx-a100-4"], "the text is for sm_90; the device is sm_80"),
        (2, &["run", "saxpy.ptx", "--grid", "0"], "\"0\" is no dimension; expected 1 to 4294967295"),
        (2, &["run", "saxpy.ptx", "-a", "f23:x:n=4"], "\"f23\" is no type; expected one of bool, i8"),
        (2, &["run", "saxpy.ptx", "-a", "f32:x:n=4:ones"], "  f32:x:n=4:ones\n            ^^^^\n"),
        (2, &saxpy(&["-p", "z"]), "\"z\" is no argument\nwarploom: hint: the memory is called x, y"),
        (2, &saxpy(&["-p", "a"]), "\"a\" is a value, not memory\nwarploom: hint: the memory is called x, y"),
        (2, &saxpy(&["-a", "f32:x:n=1"]), "two arguments are called \"x\"\nwarploom: hint: rename one"),
        (2, &saxpy(&["--picture", "y"]), "expected NAME=FILE, such as y=y.png"),
        (2, &saxpy(&["--picture", "y=y.gif"]), "expected a file that ends in .png, .pgm or .ppm"),
        (
            2,
            &saxpy(&["--picture", "y=y.png"]),
            "y is f32 with n=1000, which is no picture for y.png\nwarploom: hint: expected n=WIDTHxHEIGHT",
        ),
        (2, &saxpy(&["--block", "2048"]), "a block of 2048×1×1 exceeds the device's limit"),
        (2, &saxpy(&["--shared", "1000000"]), "--shared 1000000: a block of the device has at most"),
        (1, &saxpy(&["--device", "99"]), "99"),
        (
            1,
            &["run", "saxpy.ptx", "-a", "f32:a=1", "-a", "f32:x:n=99999999999", "-a", "f32:y:n=1", "-a", "u32:n=1"],
            "memory of f32:x:n=99999999999: ",
        ),
    ] {
        let said = folder.complains(code, arguments);
        assert!(said.starts_with("warploom: ") && said.contains(message), "{arguments:?}: {said}");
    }
}

#[test]
fn a_picture_that_cannot_be_written_stops_the_run_before_the_launch() {
    let said = Folder::new()
        .complains(1, &["run", "mandelbrot.ptx", "-a", "u8:p:n=3x16x16", "--picture", "p=/absent/set.png"]);
    assert!(said.contains("/absent/set.png: No such file or directory"), "{said}");
}

#[test]
fn much_shared_memory_is_allowed_for_the_kernel() {
    let text = Folder::new().prints(0, &saxpy(&["--shared", "100000", "--machine", "h200"]));
    assert!(text.contains(", 97.7 KiB of shared memory, 2 blocks per SM"), "{text}");
}

#[test]
fn without_nvrtc_the_error_says_how_to_get_it() {
    let folder = Folder::new();
    let output = folder.command(&["run", "saxpy.cu"]).env("WARPLOOM_NVRTC", "/absent/libnvrtc.so").output();
    let output = output.expect("the command starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(said.contains("no NVRTC found") && said.contains("pip install nvidia-cuda-nvrtc"), "{said}");
    assert!(said.ends_with("warploom: hint: `nvcc -ptx` makes PTX of the file, which needs no NVRTC here\n"), "{said}");
}

/// Runs the examples in the help and the programs of the guide: those in CUDA C++, or the others.
fn run_documented(is_cuda: bool) {
    let folder = Folder::new();
    let mut count = 0;
    for line in examples(&folder, "run").into_iter().filter(|line| line.contains(".cu ") == is_cuda) {
        let words = words(&line);
        let arguments: Vec<&str> = words.iter().map(String::as_str).collect();
        let text = folder.prints(0, &arguments);
        assert!(text.ends_with("✓ no findings\n"), "{line}: {text}");
        count += 1;
    }
    let blocks = console_blocks(GUIDE, "run").into_iter();
    for (line, expected) in blocks.filter(|(line, _)| line.contains(".cu ") == is_cuda) {
        let words = words(&line);
        let arguments: Vec<&str> = words.iter().map(String::as_str).collect();
        let (_, text, said) = folder.run(&arguments);
        assert_eq!(without_estimates(&(text + &said)), without_estimates(&expected), "{line}");
        count += 1;
    }
    assert!(count > 1, "the help and the guide have programs");
}

#[test]
fn documented_programs_print_what_is_shown() {
    run_documented(false);
}

#[test]
#[ignore = "needs libnvrtc"]
fn documented_programs_in_cuda_print_what_is_shown() {
    run_documented(true);
}

#[test]
#[ignore = "needs libnvrtc"]
fn cuda_is_compiled_with_macros_headers_and_templates() {
    let folder = Folder::new();
    folder.write("value.h", "#define VALUE 40\n");
    folder.write("k.cu", "#include \"value.h\"\n__global__ void k(int* x) { *x = VALUE + MORE + FLAG; }\n");
    let report = folder
        .json(0, &["run", "k.cu", "-D", "MORE=1", "-D", "FLAG", "-a", "i32:x:n=1", "-p", "x", "--machine", "h200"]);
    assert_eq!((&report["memory"][0]["values"], &report["kernel"]), (&json!([42]), &json!("_Z1kPi")));
    assert_eq!((&report["source_name"], &report["compiler"]["architecture"]), (&json!("k"), &json!("compute_90")));
    for kernel in ["space::negate", "negate"] {
        let code = if kernel == "negate" { 2 } else { 0 };
        let (found, text, said) =
            folder.run(&["run", "sum.cu", "--kernel", kernel, "-a", "f32:x:n=4:iota", "--block", "4"]);
        assert_eq!(found, Some(code), "{text}{said}");
    }
    folder.write("k.cu", "__global__ void k(int* x) {\n  *x = y;\n}\n");
    let said = folder.complains(1, &["run", "k.cu", "-a", "i32:x:n=1"]);
    assert!(
        said.starts_with("warploom: k.cu does not compile:\nk.cu(2): error: identifier \"y\" is undefined\n"),
        "{said}"
    );
}

#[test]
#[ignore = "needs libnvrtc"]
fn findings_in_cuda_name_the_line_of_the_source() {
    let folder = Folder::new();
    let race = ["run", "mistakes.cu", "--kernel", "no_barrier", "-a", "i32:x:n=256:iota", "-a", "i32:sums:n=256"];
    let text = folder.prints(3, &race);
    assert!(text.contains("mistakes.cu:7") && text.contains("mistakes.cu:8"), "{text}");
}
