//! Candidates of bulk copies, and of stores that an `mbarrier` counts.

use super::combined;

const COUNTED: &str = ".mbarrier::complete_tx::bytes";
const SPACES: &[&str] = &["", ".global", ".shared::cta", ".shared::cluster"];
const CHANGES: &[&str] = &[".add", ".min", ".max", ".inc", ".dec", ".and", ".or", ".xor", ".exch", ".add.noftz"];
const TYPES: &[&str] =
    &[".f16", ".bf16", ".f16x2", ".u16", ".b32", ".u32", ".s32", ".b64", ".u64", ".s64", ".f32", ".f64"];

/// Adds all of them.
pub(crate) fn add_all(mut add: impl FnMut(&str, &str)) {
    copies(&mut add);
    reductions(&mut add);
    stores(&mut add);
}

fn copies(add: &mut impl FnMut(&str, &str)) {
    let counted = [
        "[%q1], [%q9], 16, [%q2]",
        "[%q1], [%q9], %r1, [%q2]",
        "[%q1], [%q9], 16, [%q2], %h1",
        "[%q1], [%q9], 16, [%q2], %q5",
        "[%q1], [%q9], 16, [%q2], %h1, %q5",
    ];
    let grouped = ["[%q1], [%q9], 16", "[%q1], [%q9], %r1", "[%q1], [%q9], 16, %q5"];
    let ends = ["", COUNTED, ".bulk_group"];
    let hints: &[&str] = &["", ".L2::cache_hint"];
    let extra: &[&str] = &["", ".multicast::cluster", ".cp_mask"];
    for name in combined(&[&["cp.async.bulk"], SPACES, SPACES, &ends, extra, hints]) {
        let is_counted = name.contains(COUNTED);
        let operands: &[&str] = if is_counted { &counted } else { &grouped };
        operands.iter().for_each(|operands| add(&name, operands));
    }
    for name in combined(&[&["cp.async.bulk.prefetch"], &["", ".L1", ".L2"], &["", ".global", ".shared::cta"], hints]) {
        for operands in ["[%q1], 16", "[%q1], %r1", "[%q1], 16, %q5"] {
            add(&name, operands);
        }
    }
    for name in ["cp.async.bulk.commit_group", "cp.async.bulk.wait_group", "cp.async.bulk.wait_group.read"] {
        for operands in ["", "0", "3", "%r1"] {
            add(name, operands);
        }
    }
}

fn reductions(add: &mut impl FnMut(&str, &str)) {
    let routes = [
        ".global.shared::cta.bulk_group",
        ".global.shared::cta.bulk_group.L2::cache_hint",
        ".shared::cluster.shared::cta.mbarrier::complete_tx::bytes",
        ".shared::cluster.global.mbarrier::complete_tx::bytes",
        ".shared::cluster.shared::cta.bulk_group",
    ];
    for name in combined(&[&["cp.reduce.async.bulk"], &routes, CHANGES, TYPES]) {
        let operands = match () {
            () if name.contains(COUNTED) => "[%q1], [%q9], 16, [%q2]",
            () if name.contains("cache_hint") => "[%q1], [%q9], 16, %q5",
            () => "[%q1], [%q9], 16",
        };
        add(&name, operands);
    }
}

fn stores(add: &mut impl FnMut(&str, &str)) {
    let spaces: &[&str] = &["", ".shared::cluster", ".global"];
    for name in
        combined(&[&["st.async"], &["", ".weak", ".relaxed"], spaces, &["", COUNTED], &["", ".v2", ".v4"], TYPES])
    {
        let file = file(&name);
        let values: Vec<String> = (0..4).map(|number| format!("%{file}{number}")).collect();
        let value = match () {
            () if name.contains(".v2") => format!("{{{}}}", values[..2].join(", ")),
            () if name.contains(".v4") => format!("{{{}}}", values.join(", ")),
            () => values[0].clone(),
        };
        add(&name, &format!("[%q1], {value}, [%q2]"));
    }
    let scopes: &[&str] = &["", ".cta", ".cluster", ".gpu"];
    for name in combined(&[&["red.async"], &["", ".relaxed"], scopes, spaces, &[COUNTED], CHANGES, TYPES]) {
        add(&name, &format!("[%q1], %{}1, [%q2]", file(&name)));
    }
}

/// The registers of a type, by the end of a name.
fn file(name: &str) -> char {
    match () {
        () if name.ends_with("64") => 'q',
        () if name.ends_with("16") => 'h',
        () => 'r',
    }
}
