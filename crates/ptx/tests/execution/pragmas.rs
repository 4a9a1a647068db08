//! Strings of `.pragma`, taken and refused as `ptxas` 13.4 takes and refuses them, and the bytes that loads
//! use.

use warploom_ptx::{Grid, Hazard, Launch, Program, Step, TrapKind, VecMemory, Watched, Watches};

/// The kernel of a body, and its parts around it.
fn text(version: &str, module: &str, head: &str, body: &str) -> String {
    format!(
        ".version {version}\n.target sm_90\n.address_size 64\n{module}\n.visible .entry f(.param .u64 data) {head} {{
         .reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %rd<4>; .shared .align 16 .b8 part[64];
         ld.param.u64 %rd1, [data]; mov.u32 %r1, %tid.x;
         {body}\n ret; }}"
    )
}

const LOAD: &str = "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1];";

#[test]
fn pragmas_are_taken_where_the_assembler_takes_them() {
    let (module, head, body) = (0, 1, 2);
    let cases = [
        ("nounroll", "8.0", [true; 3]),
        ("used_bytes_mask 4095", "8.3", [false, false, true]),
        ("used_bytes_mask 0xfff", "8.3", [false, false, true]),
        ("used_bytes_mask 017", "8.3", [false, false, true]),
        ("used_bytes_mask -1", "8.3", [false, false, true]),
        ("used_bytes_mask 0x1ffffffff", "8.3", [false, false, true]),
        ("used_bytes_mask 15", "8.2", [false; 3]),
        ("used_bytes_mask", "8.3", [false; 3]),
        ("used_bytes_mask abc", "8.3", [false; 3]),
        ("used_bytes_mask 1 2", "8.3", [false; 3]),
        ("frequency 3", "9.0", [false, false, true]),
        ("frequency 3", "8.7", [false; 3]),
        ("frequency -3", "9.0", [false; 3]),
        ("frequency", "9.0", [false; 3]),
        ("enable_smem_spilling", "8.7", [false, false, true]),
        ("enable_smem_spilling", "8.6", [false; 3]),
        ("mma_throughput", "9.3", [false, false, true]),
        ("mma_throughput", "9.2", [false; 3]),
        ("abi_param_reg 3", "8.7", [true, true, false]),
        ("abi_param_reg", "8.7", [false; 3]),
        ("something else", "8.7", [false, true, true]),
        ("NOUNROLL", "8.7", [false, true, true]),
        ("", "8.7", [false, true, true]),
        ("coroutine", "8.7", [true; 3]),
    ];
    for (pragma, version, taken) in cases {
        let directive = format!(".pragma \"{pragma}\";");
        for (place, is_taken) in [module, head, body].into_iter().zip(taken) {
            let parts: Vec<&str> = (0..3).map(|part| if part == place { directive.as_str() } else { "" }).collect();
            let text = text(version, parts[0], parts[1], &format!("{} {LOAD}", parts[2]));
            let program = Program::from_text(&text);
            assert_eq!(program.is_ok(), is_taken, "{directive} at {place} in {version}: {:?}", program.err());
        }
    }
}

#[test]
fn an_unknown_pragma_is_ignored_with_a_warning() -> Result<(), warploom_ptx::Error> {
    let program = Program::from_text(&text("8.7", "", "", ".pragma \"nounroll\", \"fancy\";"))?;
    let [warning] = program.warnings() else { panic!("{:?}", program.warnings()) };
    assert!(warning.contains("`fancy` is ignored") && warning.starts_with("8:"), "{warning}");
    Ok(())
}

#[test]
fn a_mistake_in_a_pragma_is_shown() {
    let error = Program::from_text(&text("8.3", "", "", ".pragma \"used_bytes_mask x\";")).unwrap_err();
    let shown = error.to_string();
    assert!(shown.contains("`x` is no mask of bytes") && shown.ends_with("^^^^^^^^^^^^^^^^^^^"), "{shown}");
}

/// The final step of a kernel of so many threads, over memory of 24 bytes, and the hazards in it.
fn run(body: &str, threads: u32) -> (Step, Vec<Hazard>) {
    let program = Program::from_text(&text("8.3", "", "", body)).unwrap_or_else(|error| panic!("{error}"));
    let memory = VecMemory::new(24);
    let arguments = memory.reserve(24).to_le_bytes();
    let kernel = program.kernel("f").expect("it was just written");
    let launch = Launch { block: [threads, 1, 1], arguments: &arguments, ..Launch::default() };
    let watched = Watched::new(kernel, &launch, Watches::ALL, &memory);
    let step = Grid::new(kernel, launch, &watched).expect("it can be launched").step(100_000);
    (step, watched.take())
}

#[test]
fn unused_bytes_may_lie_out_of_bounds() {
    let load = "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1+16];";
    for (mask, is_inside) in [("255", true), ("0x80", true), ("0", true), ("0x1ff", false), ("-1", false)] {
        let (step, hazards) = run(&format!(".pragma \"used_bytes_mask {mask}\"; {load}"), 1);
        assert_eq!((step == Step::Done, hazards.len()), (is_inside, 0), "{mask}: {step:?}");
    }
    let Step::Trapped(trap) = run(load, 1).0 else { panic!("it leaves its memory") };
    assert_eq!(trap.kind, TrapKind::Global(VecMemory::BASE + 24));
}

#[test]
fn a_mask_holds_for_the_next_instruction_if_that_is_a_load() {
    let load = "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1+16];";
    let is_done = |between: &str| run(&format!(".pragma \"used_bytes_mask 255\"; {between} {load}"), 1).0 == Step::Done;
    for near in ["", "here:", ".reg .b32 %q;", ".pragma \"nounroll\";", "{", "@!%p1"] {
        let end = if near == "{" { "}" } else { "" };
        let text = format!(".pragma \"used_bytes_mask 255\"; {near} {load} {end}");
        assert_eq!(run(&text, 1).0, Step::Done, "{near}");
    }
    assert!(!is_done("mov.u32 %r5, 1;"));
    assert!(!is_done("ld.global.u32 %r5, [%rd1];"));
}

/// One thread writes the last of four words, another reads the first three.
#[test]
fn unused_bytes_do_not_race() {
    for (space, at) in [("global", "%rd1"), ("shared", "part")] {
        let first = format!("st.{space}.u32 [{at}], 1; st.{space}.u32 [{at}+4], 1; st.{space}.u32 [{at}+8], 1;");
        let load = format!("ld.{space}.v4.u32 {{%r3, %r4, %r5, %r6}}, [{at}];");
        let body = |pragma: &str| {
            format!(
                "setp.eq.u32 %p1, %r1, 0; @%p1 bra reader; setp.eq.u32 %p1, %r1, 32; @%p1 bra writer; ret;
                 reader: {first} {pragma} {load} ret;
                 writer: st.{space}.u32 [{at}+12], %r1;"
            )
        };
        let found = |pragma: &str| {
            let (step, hazards) = run(&body(pragma), 64);
            assert_eq!(step, Step::Done);
            hazards.iter().filter(|hazard| matches!(hazard, Hazard::Race { bytes: 4, .. })).count()
        };
        assert_eq!(found(".pragma \"used_bytes_mask 0xfff\";"), 0, "{space}");
        assert!(found("") > 0, "{space}");
    }
}

#[test]
fn unused_bytes_may_be_uninitialised() {
    let body = |pragma: &str| {
        format!(
            "st.shared.u64 [part], 1; st.shared.u32 [part+8], 1; {pragma} ld.shared.v4.u32 {{%r3, %r4, %r5, %r6}}, [part];"
        )
    };
    assert_eq!(run(&body(".pragma \"used_bytes_mask 4095\";"), 1), (Step::Done, Vec::new()));
    let (_, found) = run(&body(""), 1);
    assert!(matches!(&found[..], [Hazard::Unwritten { start: 12, bytes: 4, .. }]), "{found:?}");
}

/// Arrays that end with the last byte that is used.
#[test]
fn loads_that_a_compiler_widened_stay_inside_of_their_arrays() -> Result<(), Box<dyn std::error::Error>> {
    let program = Program::from_text(include_str!("used_bytes.ptx"))?;
    let words = |values: &[f32]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    let count = 3_u32;
    for direct in [false, true] {
        // The results come first, so that the array ends where memory ends.
        let memory = VecMemory::new(256 + 48 - 8);
        let memory = if direct { memory.reached_directly() } else { memory };
        let out = memory.reserve(12);
        let points = memory.upload(&words(&[1., 2., 3., 9., 4., 5., 6., 9., 7., 8.]));
        let launch = |kernel: &str, count: u32| -> Result<Vec<u8>, Box<dyn std::error::Error>> {
            let arguments = [points.to_le_bytes().as_slice(), &out.to_le_bytes(), &count.to_le_bytes()].concat();
            let kernel = program.kernel(kernel).ok_or("no kernel of that name")?;
            let launch = Launch { block: [32, 1, 1], arguments: &arguments, ..Launch::default() };
            assert_eq!(Grid::new(kernel, launch, &memory)?.step(100_000), Step::Done);
            Ok(memory.read(out, 12))
        };
        assert_eq!(launch("length2", 2)?, words(&[14., 77., 0.]));
        let shorts = launch("ends", count)?;
        let half = |value: f32| (value.to_bits() >> 16).cast_signed() as i16;
        // Of four shorts the first, the third and the fourth; the lower halves of these numbers are zero.
        let expected = [[1., 2.], [3., 9.], [4., 5.]].map(|[_, d]: [f32; 2]| i32::from(half(d)));
        assert_eq!(shorts, expected.iter().flat_map(|sum| sum.to_le_bytes()).collect::<Vec<u8>>());
    }
    Ok(())
}
