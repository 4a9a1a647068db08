//! Decoding of instructions, and the refusal of unknown ones.

use std::fs;
use std::path::Path;

use warploom_ptx::{Grid, Launch, LaunchError, Problem, Program, VecMemory};

const HEADER: &str = ".version 8.7\n.target sm_90\n.address_size 64\n";

/// A kernel with a few registers around some instructions.
fn kernel(body: &str) -> String {
    format!(
        "{HEADER}.visible .entry k(.param .u64 out) {{\n.reg .pred %p<4>; .reg .b16 %rs<4>; .reg .b32 %r<8>; .reg .f32 %f<4>; \
         .reg .b64 %rd<4>;\n{body}\nret;\n}}"
    )
}

#[track_caller]
fn refused(text: &str) -> (u32, String) {
    let error = Program::from_text(text).map(|_| ()).expect_err("it should be refused");
    match error.problem {
        Problem::Instruction { instruction, why } => (error.place.line, format!("{instruction}: {why}")),
        Problem::Declaration { why } => (error.place.line, why),
        other => panic!("{other}"),
    }
}

#[test]
fn every_kernel_of_ours_is_decoded_but_those_that_say_why_not() {
    let mut missing = Vec::new();
    for folder in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels/ptx")).unwrap() {
        for file in fs::read_dir(folder.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            let text = fs::read_to_string(&path).unwrap();
            if let Err(error) = Program::from_text(&text) {
                let name = path.file_stem().and_then(|name| name.to_str()).unwrap().to_owned();
                let Problem::Instruction { instruction, .. } = error.problem else { panic!("{name}: {error}") };
                missing.push((name, instruction.split('.').next().unwrap_or_default().to_owned()));
            }
        }
    }
    missing.sort();
    let expected = [("textures", "tex")];
    assert_eq!(missing, expected.map(|(name, opcode)| (name.to_owned(), opcode.to_owned())));
}

#[test]
fn unknown_words_are_named_with_their_line() {
    let (line, what) = refused(&kernel("add.s32 %r1, %r2, 1;\nconjure.u32 %r1, 2;"));
    assert_eq!((line, what.as_str()), (7, "conjure.u32: unknown instruction"));
    let (_, what) = refused(&kernel("add.s32.quietly %r1, %r2, 1;"));
    assert_eq!(what, "add.s32.quietly: unknown modifier `.quietly`");
    let (_, what) = refused(&kernel("add.s32 %r1, %r9, 1;"));
    assert_eq!(what, "add.s32: `%r9` is not declared");
    let (_, what) = refused(&kernel("add.s32 %r1, %rd1, 1;"));
    assert_eq!(what, "add.s32: `%rd1` is a register of 64 bits, not a register of at most 32 bits");
    let (_, what) = refused(&kernel("bra $nowhere;"));
    assert_eq!(what, "bra: unknown branch target `$nowhere`");
    let (_, what) = refused(&kernel("add.s32 %r1, %r2;"));
    assert_eq!(what, "add.s32: it has 2 operands instead of 3");
    let (_, what) = refused(&kernel("ld.global.b128 %r1, [%rd1];"));
    assert_eq!(what, "ld.global.b128: `%r1` is a register of at most 32 bits, not a register of 128 bits");
    let (_, what) = refused(&kernel("setp.equ.s32 %p1, %r1, %r2;"));
    assert_eq!(what, "setp.equ.s32: integers are never unordered");
}

#[test]
fn unsupported_instructions_are_named_with_their_line_and_a_remedy() {
    let cases = [
        ("tex.2d.v4.f32.f32 {%f1, %f1, %f1, %f1}, [%rd1, {%f2, %f3}];", "read the data from global memory"),
        ("suld.b.2d.b32.trap %r1, [%rd1, {%r2, %r3}];", "keep the data in global memory"),
        ("wgmma.fence.sync.aligned;", "compile for compute_80"),
        ("tcgen05.alloc %r1, 2;", "compile for compute_80"),
        (
            "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2, %r3}], [%r4];",
            "copy rows with `cp.async.bulk`",
        ),
    ];
    for (instruction, advice) in cases {
        let (line, what) = refused(&kernel(&format!("add.s32 %r1, %r2, 1;\n{instruction}")));
        let name = instruction.split(' ').next().unwrap_or_default().trim_end_matches(';');
        assert!(line == 7 && what.starts_with(&format!("{name}: ")) && what.contains(advice), "{line}: {what}");
    }
}

#[test]
fn functions_without_a_body_are_refused_where_they_are_called() {
    let text = format!("{HEADER}.extern .func somewhere;\n.visible .entry k() {{\ncall.uni somewhere;\nret;\n}}");
    let (line, what) = refused(&text);
    assert_eq!((line, what.as_str()), (6, "call.uni: the function `somewhere` has no body"));
    Program::from_text(&text.replace("call.uni somewhere;", "")).unwrap();
}

#[test]
fn a_kernel_says_what_it_needs() {
    let text = format!(
        "{HEADER}.shared .align 8 .b8 both[24];\n.shared .b32 other;\n.extern .shared .b8 rest[];\n\
         .visible .entry k(.param .u8 a, .param .align 8 .b8 b[12], .param .u16 c, .param .f64 d) .maxntid 64, 2 {{\n\
         .local .align 4 .b8 mine[20]; .reg .b32 %r<4>;\nmov.u32 %r1, both; mov.u32 %r2, rest; mov.u32 %r3, mine;\nret; }}"
    );
    let program = Program::from_text(&text).unwrap();
    let kernel = program.kernel("k").unwrap();
    let parameters: Vec<_> = kernel.parameters().iter().map(|p| (p.offset, p.size, p.alignment)).collect();
    assert_eq!(parameters, [(0, 1, 1), (8, 12, 8), (20, 2, 2), (24, 8, 8)]);
    assert_eq!((kernel.parameter_bytes(), kernel.shared_bytes(), kernel.local_bytes()), (32, 24, 24));
    assert_eq!((kernel.max_threads(), program.kernel("l").is_none()), (Some([64, 2, 1]), true));
}

#[test]
fn a_kernel_needs_the_variables_of_what_it_calls() {
    let function = |name: &str, bytes: u32, body: &str| {
        format!(".func {name}() {{ .reg .b64 %rd1; .local .align 4 .b8 mine[{bytes}];\n{body} ret; }}\n")
    };
    let kernel = |name: &str, body: &str| {
        format!(".visible .entry {name}() {{ .reg .b64 %rd1; .local .b8 own[8];\n{body} ret; }}\n")
    };
    let indirect = "mov.u64 %rd1, leaf; shape: .callprototype _ (); call %rd1, (), shape;";
    let text = [
        HEADER.to_owned(),
        function("leaf", 100, ""),
        function("other", 300, ""),
        function("middle", 40, "call leaf; call other; call leaf;"),
        function("again", 40, "call again; call other;"),
        kernel("alone", ""),
        kernel("chain", "call leaf; call middle;"),
        kernel("recursive", "call again; call leaf;"),
        kernel("indirect", indirect),
    ];
    let program = Program::from_text(&text.concat()).unwrap();
    let needs = |name: &str| program.kernel(name).unwrap().local_bytes();
    assert_eq!(["alone", "chain", "recursive", "indirect"].map(needs), [8, 8 + 40 + 304, 8 + 104, 8]);
}

#[test]
fn launches_that_do_not_fit_are_refused() {
    let text = format!("{HEADER}.visible .entry k(.param .u32 a) .maxntid 64 {{ ret; }}");
    let program = Program::from_text(&text).unwrap();
    let kernel = program.kernel("k").unwrap();
    let launch = |change: fn(&mut Launch<'static>)| {
        let mut launch = Launch { arguments: &[0; 4], ..Launch::default() };
        change(&mut launch);
        Grid::new(kernel, launch, VecMemory::new(8)).map(|_| ()).unwrap_err()
    };
    assert_eq!(launch(|launch| launch.grid[1] = 0), LaunchError::Grid([1, 0, 1]));
    assert_eq!(launch(|launch| launch.block = [2048, 1, 1]), LaunchError::Block([2048, 1, 1]));
    assert_eq!(launch(|launch| launch.block = [65, 1, 1]), LaunchError::Bound { asked: [65, 1, 1], bound: [64, 1, 1] });
    assert_eq!(launch(|launch| launch.arguments = &[0; 5]), LaunchError::Arguments { given: 5, expected: 4 });
    assert_eq!(launch(|launch| launch.dynamic_shared = 1 << 25), LaunchError::Shared(1 << 25));
}

/// Each of these is refused by `ptxas` for an H200.
#[test]
fn instructions_that_the_assembler_refuses_are_refused() {
    let refused_here = [
        "cvt.f32.s32 %f1, %r1;",
        "cvt.rn.u32.u64 %r1, %rd1;",
        "cvt.sat.s64.s32 %rd1, %r1;",
        "cvt.rni.f16.f32 %rs1, %f1;",
        "cvt.rn.relu.f32.f64 %f1, %rd1;",
        "cvt.rna.f16.f32 %rs1, %f1;",
        "cvt.rn.e4m3x2.f32 %rs1, %f1, %f2;",
        "cvt.u32.b32 %r1, %r2;",
        "atom.global.add.b32 %r1, [%rd1], %r2;",
        "atom.global.and.u32 %r1, [%rd1], %r2;",
        "atom.global.add.f16 %rs1, [%rd1], %rs2;",
        "red.global.max.noftz.f16 [%rd1], %rs2;",
        "fma.f32 %f1, %f2, %f3, %f1;",
        "fma.rn.s32 %r1, %r2, %r3, %r4;",
        "mul.lo.f32 %f1, %f2, %f3;",
        "mad.rn.f16 %rs1, %rs2, %rs3, %rs1;",
        "add.sat.bf16 %rs1, %rs2, %rs3;",
        "div.f32 %f1, %f2, %f3;",
        "rcp.f32 %f1, %f2;",
    ];
    for text in refused_here {
        refused(&kernel(text));
    }
    let taken =
        ["cvt.rn.f32.s32 %f1, %r1;", "atom.global.add.noftz.f16 %rs1, [%rd1], %rs2;", "div.rn.f32 %f1, %f2, %f3;"];
    for text in taken {
        Program::from_text(&kernel(text)).unwrap();
    }
}
