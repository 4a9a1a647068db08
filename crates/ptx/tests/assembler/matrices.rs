//! Products of matrices and their transfers, of all shapes with all types.

use super::combined;

const SHAPES: [&str; 9] =
    ["m16n16k16", "m8n32k16", "m32n8k16", "m16n16k8", "m8n8k4", "m8n8k16", "m8n8k32", "m8n8k128", "m16n8k16"];
const FACTORS: [&str; 11] = ["f16", "bf16", "tf32", "f64", "s8", "u8", "s4", "u4", "b1", "e4m3", "e5m2"];
const LAYOUTS: [&str; 5] = ["", ".row", ".col", ".row.row", ".row.col"];

fn bits(element: &str) -> usize {
    match element {
        "f64" => 64,
        "f32" | "s32" | "tf32" => 32,
        "f16" | "bf16" => 16,
        "s4" | "u4" => 4,
        "b1" => 1,
        _ => 8,
    }
}

/// Types of factors: of one type, and of types that differ little.
fn pairs() -> impl Iterator<Item = (&'static str, &'static str)> {
    let mixed =
        [("s8", "u8"), ("u8", "s8"), ("s4", "u4"), ("u4", "s4"), ("f16", "bf16"), ("e4m3", "e5m2"), ("e5m2", "e4m3")];
    FACTORS.into_iter().map(|factor| (factor, factor)).chain(mixed)
}

/// Types of results and summands.
fn sums() -> impl Iterator<Item = (&'static str, &'static str)> {
    ["f16", "f32", "f64", "s32"].map(|sum| (sum, sum)).into_iter().chain([
        ("f16", "f32"),
        ("f32", "f16"),
        ("f32", "s32"),
    ])
}

/// Rows, columns, and what is between them.
fn dimensions(shape: &str) -> [usize; 3] {
    let numbers: Vec<usize> =
        shape.split(['m', 'n', 'k']).skip(1).map(|part| part.parse().expect("a number")).collect();
    numbers.try_into().expect("three numbers")
}

/// `{%r0, %r1}`, as many as hold so many elements.
fn vector(elements: usize, element: &str) -> Option<String> {
    let (file, width) = if element == "f64" { ('q', 64) } else { ('r', 32) };
    listed(file, (elements * bits(element) / width / 32).max(1))
}

fn listed(file: char, count: usize) -> Option<String> {
    let names: Vec<String> = (0..count).map(|number| format!("%{file}{number}")).collect();
    (count <= 8).then(|| format!("{{{}}}", names.join(", ")))
}

/// `wmma.load`, `wmma.store`
fn fragments(add: &mut impl FnMut(&str, &str)) {
    for shape in SHAPES {
        for element in FACTORS.into_iter().chain(["f32", "s32"]) {
            for count in [1, 2, 4, 8] {
                // These crash the assembler in some shapes.
                if matches!((element, count), ("f16", 1) | ("f64", 4)) {
                    continue;
                }
                let list = listed(if element == "f64" { 'q' } else { 'r' }, count).unwrap_or_default();
                for name in combined(&[&[".a", ".b", ".c", ".d"], &[".sync.aligned"], &LAYOUTS[..3]]) {
                    add(&format!("wmma.load{name}.{shape}.{element}"), &format!("{list}, [%q9]"));
                    add(&format!("wmma.store{name}.{shape}.{element}"), &format!("[%q9], {list}"));
                }
            }
        }
    }
    let list = listed('r', 8).unwrap_or_default();
    for space in [".global", ".shared", ".shared::cta", ".shared::cluster", ".local", ".const", ".param"] {
        for order in [".sync.aligned", ".aligned", ".sync", ""] {
            add(&format!("wmma.load.a{order}.row.m16n16k16{space}.f16"), &format!("{list}, [%q9], %r1"));
            add(&format!("wmma.store.d{order}.row.m16n16k16{space}.f32"), &format!("[%q9], {list}, 16"));
        }
    }
    add("wmma.load.a.f16.m16n16k16.row.global.aligned.sync", &format!("{list}, [%q9]"));
    add("wmma.sync.load.a.aligned.row.m16n16k16.f16", &format!("{list}, [%q9]"));
}

/// `wmma.mma`
fn products_of_fragments(add: &mut impl FnMut(&str, &str)) {
    let layouts: Vec<String> = combined(&[&[".row", ".col"], &[".row", ".col"]]);
    for shape in &SHAPES[..8] {
        let [m, n, k] = dimensions(shape);
        for (d, c) in sums() {
            let (Some(into), Some(from)) = (vector(m * n, d), vector(m * n, c)) else { continue };
            for (layout, ending) in layouts.iter().flat_map(|layout| ["", ".satfinite", ".rn"].map(|end| (layout, end)))
            {
                let list = listed('r', 8).unwrap_or_default();
                let operands = format!("{into}, {list}, {list}, {from}");
                add(&format!("wmma.mma.sync.aligned{layout}.{shape}.{d}.{c}{ending}"), &operands);
                for (a, b) in pairs() {
                    let halves = |elements| if a == "f16" { listed('r', 8) } else { vector(elements, a) };
                    let (Some(first), Some(second)) = (halves(m * k), halves(k * n)) else { continue };
                    let operands = format!("{into}, {first}, {second}, {from}");
                    for counted in if a == "b1" { ["", ".xor.popc", ".and.popc"].as_slice() } else { &[""] } {
                        let types = format!("{d}.{a}.{b}.{c}");
                        add(&format!("wmma.mma{counted}.sync.aligned{layout}.{shape}.{types}{ending}"), &operands);
                    }
                }
            }
        }
    }
}

/// `mma`, `mma.sp`
fn products(add: &mut impl FnMut(&str, &str)) {
    for (rows, k) in [8, 16].into_iter().flat_map(|rows| [4, 8, 16, 32, 64, 128, 256].map(|k| (rows, k))) {
        for (a, b) in pairs() {
            for (d, c) in sums() {
                if (d == "f64") != (a == "f64") || (d == "f64") != (c == "f64") {
                    continue;
                }
                let quads = rows == 8 && k == 4 && a != "f64";
                let sum = |element: &str| vector(if quads { 256 } else { rows * 8 }, element);
                let (Some(into), Some(from)) = (sum(d), sum(c)) else { continue };
                let types = format!("{d}.{a}.{b}.{c}");
                let factor = |elements| if quads { listed('r', 2) } else { vector(elements, a) };
                if let (Some(first), Some(second)) = (factor(rows * k), factor(k * 8)) {
                    let operands = format!("{into}, {first}, {second}, {from}");
                    for name in combined(&[&[".row.col", ".col.row"], &["", ".satfinite", ".rz", ".rna"]]) {
                        for counted in if a == "b1" { ["", ".xor.popc", ".and.popc"].as_slice() } else { &[""] } {
                            add(&format!("mma.sync.aligned.m{rows}n8k{k}{name}.{types}{counted}"), &operands);
                        }
                    }
                }
                if let (16, Some(first), Some(second)) = (rows, vector(rows * k / 2, a), vector(k * 8, a)) {
                    for (lanes, ending) in (0..5).flat_map(|lanes| ["", ".satfinite"].map(|ending| (lanes, ending))) {
                        let name = format!(".sync.aligned.m16n8k{k}.row.col{ending}.{types}");
                        let operands = format!("{into}, {first}, {second}, {from}, %r7, {lanes}");
                        add(&format!("mma.sp::ordered_metadata{name}"), &operands);
                    }
                }
            }
        }
    }
}

/// `ldmatrix`, `stmatrix`, `movmatrix`
fn transfers(add: &mut impl FnMut(&str, &str)) {
    let shapes: &[&str] = &[".m8n8", ".m16n8", ""];
    let types: &[&str] = &[".b16", ".b32", ".f16"];
    for (count, number) in [("", 1), (".x1", 1), (".x2", 2), (".x4", 4), (".x8", 8)] {
        let list = listed('r', number).unwrap_or_default();
        let spaces: &[&str] = &["", ".shared", ".shared::cta", ".global"];
        for name in combined(&[&[".sync.aligned", ".sync"], shapes, &[count], &["", ".trans"], spaces, types]) {
            add(&format!("ldmatrix{name}"), &format!("{list}, [%q9]"));
            add(&format!("stmatrix{name}"), &format!("[%q9], {list}"));
        }
    }
    for name in combined(&[&[".sync.aligned", ".sync"], shapes, &["", ".trans"], types]) {
        add(&format!("movmatrix{name}"), "%r1, %r2");
    }
}

pub(super) fn add_all(mut add: impl FnMut(&str, &str)) {
    fragments(&mut add);
    products_of_fragments(&mut add);
    products(&mut add);
    transfers(&mut add);
}
