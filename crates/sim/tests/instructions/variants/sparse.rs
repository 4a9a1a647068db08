//! Products whose first factor has half of its elements, and says which.

use crate::variant::{OPERANDS, RESULTS, Variant, expand};

/// Distributions of the elements.
const HOW: [&str; 4] = ["tame", "sparse", "wild", "power"];

fn vector(names: &[&str]) -> String {
    format!("{{{}}}", names.join(", "))
}

/// `k` columns of the first factor, half of which are there.
struct Shape {
    k: usize,
    bits: usize,
    selectors: std::ops::Range<usize>,
}

fn product(shape: &Shape, selector: usize, types: [&str; 4], kinds: [&str; 3], how: &str) -> Variant {
    let (first, sums) = (shape.k * shape.bits / 128, if types[0] == "f16" { 2 } else { 4 });
    let (a, rest) = OPERANDS.split_at(first);
    let (b, rest) = rest.split_at(first);
    let (c, rest) = rest.split_at(sums);
    let lists = [vector(&RESULTS[..sums]), vector(a), vector(b), vector(c)].join(", ");
    let saturate = how.strip_prefix("satfinite").map_or("", |_| ".satfinite");
    let ordered = if how.ends_with("ordered") { "::ordered_metadata" } else { "" };
    let text = format!(
        "mma.sp{ordered}.sync.aligned.m16n8k{}.row.col{saturate}.{} {lists}, {}, {selector};",
        shape.k,
        types.join("."),
        rest[0]
    );
    let operands = [vec![kinds[0]; 2 * first], vec![kinds[1]; sums], vec![kinds[2]]].concat().join(" ");
    Variant::new(&text, &vec!["b32"; sums].join(" "), &operands).cases(64)
}

pub(crate) fn variants() -> Vec<Variant> {
    let mut list = Vec::new();
    let shape = |k: usize, bits: usize, selectors: usize| Shape { k, bits, selectors: 0..selectors };
    for shape in [shape(16, 16, 4), shape(32, 16, 2)] {
        for selector in shape.selectors.clone() {
            for how in HOW {
                for ordered in ["", "ordered"] {
                    if !ordered.is_empty() && how != "tame" {
                        continue;
                    }
                    let halves = format!("{how}:f16x2");
                    let single = format!("{how}:f32");
                    let kinds = [&halves[..], &single, "choices"];
                    list.push(product(&shape, selector, ["f32", "f16", "f16", "f32"], kinds, ordered));
                    let kinds = [&halves[..], &halves, "choices"];
                    list.push(product(&shape, selector, ["f16"; 4], kinds, ordered));
                    let kinds = [&format!("{how}:bf16x2")[..], &single, "choices"];
                    list.push(product(&shape, selector, ["f32", "bf16", "bf16", "f32"], kinds, ordered));
                }
            }
        }
    }
    for shape in [shape(8, 32, 4), shape(16, 32, 2)] {
        for selector in shape.selectors.clone() {
            for how in HOW {
                let kinds = [&format!("{how}:tf32")[..], &format!("{how}:f32"), "choice"];
                list.push(product(&shape, selector, ["f32", "tf32", "tf32", "f32"], kinds, ""));
            }
        }
    }
    for types in expand("{e4m3,e5m2}.{e4m3,e5m2}") {
        let (a, b) = types.split_once('.').expect("two types");
        for how in ["tame", "wild", "power"] {
            let kinds = [&format!("{how}:{a}x4")[..], &format!("{how}:f32"), "choices"];
            list.push(product(&shape(64, 8, 1), 0, ["f32", a, b, "f32"], kinds, ""));
        }
    }
    for (shape, types) in [
        (shape(32, 8, 2), "{s8,u8}.{s8,u8}"),
        (shape(64, 8, 1), "{s8,u8}.{s8,u8}"),
        (shape(64, 4, 2), "{s4,u4}.{s4,u4}"),
        (shape(128, 4, 1), "{s4,u4}.{s4,u4}"),
    ] {
        for types in expand(types) {
            let (a, b) = types.split_once('.').expect("two types");
            for selector in shape.selectors.clone() {
                for how in ["", "satfinite", "ordered"] {
                    list.push(product(&shape, selector, ["s32", a, b, "s32"], ["bytes", "b32", "choices"], how));
                }
            }
        }
    }
    list
}
