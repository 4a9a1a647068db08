//! The decoder accepts exactly the instructions that `ptxas` accepts, for each architecture from `sm_75` to
//! `sm_90a`.
//!
//! `taken.txt` holds those of the [`candidates`] that `ptxas` assembles, and for which targets: its first line
//! names them, and each line behind has a bit for each. `cargo xtask ptx` writes it anew, and `cargo xtask ptx
//! --check` compares.

mod candidates;

use std::collections::HashMap;
use std::path::PathBuf;

use warploom_ptx::Program;

const HEADER: &str = ".version 8.7\n.target sm_90\n.address_size 64\n";

/// The assembler takes these as well, although nothing says what they would do.
const UNDOCUMENTED: [&str; 9] = [
    "addc.sat.s32 %r1, %r2, %r3;",
    "subc.sat.s32 %r1, %r2, %r3;",
    "madc.hi.sat.s32 %r1, %r2, %r3, %r4;",
    "fma.rm.bf16 %h1, %h2, %h3, %h4;",
    "fma.rm.relu.bf16 %h1, %h2, %h3, %h4;",
    "fma.rm.bf16x2 %r1, %r2, %r3, %r4;",
    "fma.rm.relu.bf16x2 %r1, %r2, %r3, %r4;",
    "rcp.rn.ftz.f64 %q1, %q2;",
    "rcp.rz.ftz.f64 %q1, %q2;",
];

/// Products that the assembler takes as well: of doubles for which there are no fragments, one that it writes
/// nothing for, and one with lanes that do not exist. And operands that are both negated, which is for
/// `vmad` alone.
fn is_undocumented(candidate: &str) -> bool {
    let doubles = [".m16n16k16.f64.f64", ".m16n16k8.f64.f64"];
    let brain = [".m8n8k4.row.col.f32.bf16", ".m8n8k4.col.row.f32.bf16"];
    let lanes = candidate.ends_with(", 2;") || candidate.ends_with(", 3;");
    UNDOCUMENTED.contains(&candidate)
        || doubles.into_iter().chain(brain).any(|part| candidate.contains(part))
        || lanes && candidate.contains(".m16n8k32.row.col.f32.f16")
        || !candidate.starts_with("vmad") && candidate.contains("-%r2, -%r3")
}

/// `true` for an instruction of a capability.
type IsOf = fn(&str) -> bool;

/// Capabilities that are not simulated, as `docs/simulator.md` lists them, and their instructions.
const NOT_SIMULATED: [(&str, IsOf); 5] = [
    ("textures and surfaces", |name| {
        ["tex.", "tld4.", "txq.", "suld.", "sust.", "sured.", "suq.", "istypep."]
            .iter()
            .any(|head| name.starts_with(head))
    }),
    ("`wgmma`", |name| name.starts_with("wgmma.")),
    ("copies of tensors", |name| name.contains("bulk.tensor") || name.contains("prefetch.tensor.")),
    ("`multimem`", |name| name.starts_with("multimem.")),
    ("additions of PTX 9.2 to 9.4", |name| {
        let parts = ["layout::v1", ".check_layout", "phase_type::conditional", "%p1|%p2, [", ".ignore_oob"];
        parts.iter().any(|part| name.contains(part))
    }),
];

fn is_simulated(candidate: &str) -> bool {
    !NOT_SIMULATED.iter().any(|(_, has)| has(candidate))
}

/// The targets that were asked about, such as `9.4/sm_90`, and for each candidate that any of them takes a bit
/// for each that does.
fn verdicts() -> (Vec<&'static str>, HashMap<&'static str, u32>) {
    let (targets, lines) = include_str!("taken.txt").split_once('\n').expect("targets");
    let row = |line: &'static str| {
        let (bits, candidate) = line.split_once(' ').expect("bits and a candidate");
        (candidate, u32::from_str_radix(bits, 16).expect("a number"))
    };
    (targets.split(' ').collect(), lines.lines().map(row).collect())
}

/// The decoder asks for no version: of several for one architecture the newest counts.
#[test]
fn the_decoder_accepts_exactly_what_the_assembler_accepts() {
    let (targets, taken) = verdicts();
    let candidates = candidates::all();
    assert!(taken.len() > 5500 && candidates.len() > 160_000, "{} of {}", taken.len(), candidates.len());
    let mut wrong = Vec::new();
    for (bit, target) in targets.iter().enumerate().filter(|(_, target)| target.starts_with("9.4/")) {
        let (version, architecture) = target.split_once('/').expect("a version and an architecture");
        for candidate in &candidates {
            // No architecture takes what the last one refuses.
            if !taken.contains_key(candidate.as_str()) && bit + 1 < targets.len() {
                continue;
            }
            let text = format!(
                ".version {version}\n.target {architecture}\n.address_size 64\n.visible .entry k() {{ {}\n{candidate}\nret; }}",
                candidates::REGISTERS
            );
            let decoded = Program::from_text(&text);
            let is_taken = taken.get(candidate.as_str()).is_some_and(|bits| bits >> bit & 1 == 1);
            if decoded.is_ok() != (is_taken && !is_undocumented(candidate) && is_simulated(candidate)) {
                let what = decoded.map_or_else(|error| error.to_string(), |_| format!("taken: {candidate}"));
                wrong.push(format!("{target}: {what}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), candidates.len(), wrong[..wrong.len().min(40)].join("\n"));
}

/// The list of instructions that `ptxas` takes up to `sm_90a` and that are refused is closed.
#[test]
fn capabilities_that_are_not_simulated_are_listed() {
    let (_, taken) = verdicts();
    let listed = include_str!("../../../../docs/simulator.md");
    for (capability, has) in NOT_SIMULATED {
        let count = taken.keys().filter(|candidate| has(candidate)).count();
        assert!(count > 0, "{capability}: ptxas takes none of them");
        assert!(listed.contains(&format!("| {capability} |")), "{capability} is not in docs/simulator.md");
    }
}

/// One kernel with all of them, each on a line of its own behind the fourth, for the assembler to judge.
#[test]
#[ignore = "writes to the folder in WARPLOOM_TEXTS, for `cargo xtask ptx`"]
fn candidates_are_written_where_they_are_wanted() -> std::io::Result<()> {
    let folder = PathBuf::from(std::env::var_os("WARPLOOM_TEXTS").expect("a folder in WARPLOOM_TEXTS"));
    let lines = candidates::all().join("\n");
    let text = format!("{HEADER}.visible .entry k() {{ {}\n{lines}\nret; }}\n", candidates::REGISTERS);
    std::fs::write(folder.join("candidates.ptx"), text)
}
