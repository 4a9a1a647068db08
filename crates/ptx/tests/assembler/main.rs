//! The decoder accepts exactly the instructions that `ptxas` accepts.
//!
//! `taken.txt` holds those of the [`candidates`] that `ptxas` assembles for an H200. `cargo xtask ptx` writes
//! it anew, and `cargo xtask ptx --check` compares.

mod candidates;

use std::collections::HashSet;
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

/// Volatile accesses to local memory: the assembler takes them in texts of PTX 9.1, as NVRTC writes them, and
/// these are of 8.7. The decoder asks for no version.
const NEWER: [&str; 8] = [
    "ld.volatile.local.u32 %r1, [%q9];",
    "st.volatile.local.u32 [%q9], %r1;",
    "ld.volatile.local.b16 %h1, [%q9];",
    "st.volatile.local.b16 [%q9], %h1;",
    "ld.volatile.local.b128 %w1, [%q9];",
    "st.volatile.local.b128 [%q9], %w1;",
    "ld.volatile.local.s32 %w1, [%q9];",
    "st.volatile.local.u16 [%q9], %w1;",
];

#[test]
fn the_decoder_accepts_exactly_what_the_assembler_accepts() {
    let taken: HashSet<&str> = include_str!("taken.txt").lines().collect();
    let candidates = candidates::all();
    assert!(taken.len() > 1500 && candidates.len() > 40_000, "{} of {}", taken.len(), candidates.len());
    let mut wrong = Vec::new();
    for candidate in &candidates {
        let text = format!("{HEADER}.visible .entry k() {{ {}\n{candidate}\nret; }}", candidates::REGISTERS);
        let decoded = Program::from_text(&text);
        let is_newer = NEWER.contains(&candidate.as_str());
        let expected = is_newer || taken.contains(candidate.as_str()) && !is_undocumented(candidate);
        if decoded.is_ok() != expected {
            wrong.push(decoded.map_or_else(|error| error.to_string(), |_| format!("taken: {candidate}")));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), candidates.len(), wrong[..wrong.len().min(40)].join("\n"));
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
