//! Products that need more registers than others, or that newer machines put together from others.

use crate::variant::{OPERANDS, RESULTS, Variant, expand};

/// Distributions of the elements.
const HOW: [&str; 4] = ["tame", "sparse", "wild", "power"];

fn vector(names: &[&str]) -> String {
    format!("{{{}}}", names.join(", "))
}

fn product(text: &str, counts: [usize; 4], [factor, summand]: [&str; 2], width: &str) -> Variant {
    let [sums, first, second, summands] = counts;
    let (a, rest) = OPERANDS.split_at(first);
    let (b, rest) = rest.split_at(second);
    let lists = [vector(&RESULTS[..sums]), vector(a), vector(b), vector(&rest[..summands])].join(", ");
    let operands = [vec![factor; first + second], vec![summand; summands]].concat().join(" ");
    Variant::new(&format!("{text} {lists};"), &vec![width; sums].join(" "), &operands).cases(64)
}

pub(crate) fn variants() -> Vec<Variant> {
    let mut list = Vec::new();
    for how in HOW {
        let kind = format!("{how}:f64");
        for rounding in ["", ".rn", ".rz", ".rm", ".rp"] {
            let mut add = |shape: &str, counts: [usize; 4]| {
                let text = format!("mma.sync.aligned.{shape}.row.col{rounding}.f64.f64.f64.f64");
                list.push(product(&text, counts, [&kind, &kind], "b64"));
            };
            if !rounding.is_empty() {
                add("m8n8k4", [2, 1, 1, 2]);
                add("m16n8k4", [4, 2, 1, 4]);
                add("m16n8k8", [4, 4, 2, 4]);
            }
            add("m16n8k16", [4, 8, 4, 4]);
        }
        for layout in expand("{row,col}.{row,col}") {
            for (d, c) in [("f16", "f16"), ("f32", "f16"), ("f32", "f32")] {
                let count = |scalar: &str| if scalar == "f16" { 4 } else { 8 };
                let summand = if c == "f16" { "f16x2" } else { "f32" };
                let kinds = [format!("{how}:f16x2"), format!("{how}:{summand}")];
                let text = format!("mma.sync.aligned.m8n8k4.{layout}.{d}.f16.f16.{c}");
                list.push(product(&text, [count(d), 2, 2, count(c)], [&kinds[0], &kinds[1]], "b32"));
            }
        }
    }
    list
}
