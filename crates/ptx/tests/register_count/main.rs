//! Estimated registers of kernels next to those that `ptxas` gives them for an H200, where each text is a whole
//! program, as it is for a driver.
//!
//! `assembler.txt` holds its numbers; `cargo xtask ptx` writes it anew, and `cargo xtask ptx --check`
//! compares. A line is a text, a kernel, the bound on registers or 0, registers, bytes of the stack, bytes
//! that are spilled.

#![expect(clippy::print_stdout, reason = "a table for people, shown with --nocapture")]

use std::collections::BTreeMap;
use std::path::Path;

use warploom_ptx::{Kernel, Program};

struct Row {
    text: &'static str,
    kernel: &'static str,
    bound: u32,
    registers: u32,
    spilled: u32,
}

fn rows() -> Vec<Row> {
    let row = |line: &'static str| {
        let mut words = line.split(' ');
        let mut word = || words.next().expect("six words");
        let (text, kernel) = (word(), word());
        let [bound, registers, _stack, spilled] = [(); 4].map(|()| word().parse().expect("a number"));
        Row { text, kernel, bound, registers, spilled }
    };
    include_str!("assembler.txt").lines().map(row).collect()
}

/// The estimate of each kernel of a text; those of a text that is not simulated have none.
fn estimates(text: &str) -> BTreeMap<String, u32> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels/ptx").join(text);
    let Ok(program) = Program::from_text(&std::fs::read_to_string(path).expect("a text")) else {
        return BTreeMap::new();
    };
    let bounded = |kernel: Kernel<'_>| kernel.registers().min(kernel.register_bound().unwrap_or(u32::MAX));
    program.kernels().map(|kernel| (kernel.name().to_owned(), bounded(kernel))).collect()
}

#[test]
fn estimates_are_within_a_quarter_of_the_assemblers() {
    let (mut known, mut table, mut off) = (BTreeMap::new(), String::new(), Vec::new());
    let rows = rows();
    for Row { text, kernel, registers, .. } in rows.iter().filter(|row| row.bound == 0) {
        let all = known.entry(*text).or_insert_with(|| estimates(text));
        let Some(estimate) = all.get(*kernel) else { continue };
        let is_near = estimate.abs_diff(*registers) * 4 <= *registers;
        let mark = if is_near { ' ' } else { '*' };
        table.push_str(&format!("{mark} {registers:3} {estimate:3}  {text} {kernel}\n"));
        if !is_near {
            off.push(format!("{text} {kernel}"));
        }
    }
    println!("  ptxas, estimate\n{table}");
    assert!(table.lines().count() > 180, "{} kernels", table.lines().count());
    assert_eq!(off, Vec::<String>::new());
}

/// A kernel that spills under a bound has as many registers as the bound allows.
#[test]
fn kernels_that_spill_are_estimated_beyond_the_bound() {
    let rows = rows();
    let spilling = rows.iter().filter(|row| row.bound > 0 && row.spilled > 0 && row.registers == row.bound);
    let (mut count, mut low) = (0, Vec::new());
    for Row { text, kernel, bound, .. } in spilling {
        let Some(estimate) = estimates(text).get(*kernel).copied() else { continue };
        count += 1;
        if estimate < *bound {
            low.push(format!("{text} {kernel}: {estimate} of {bound}"));
        }
    }
    assert!(count > 10, "{count} kernels spill");
    assert!(low.is_empty(), "{low:?}");
}
