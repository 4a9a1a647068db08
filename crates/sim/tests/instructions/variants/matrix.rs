//! Products of matrices, and their transfers.

use crate::variant::{Variant, expand};

/// Distributions of the elements.
const HOW: [&str; 4] = ["tame", "sparse", "wild", "power"];

pub(crate) fn variants() -> Vec<Variant> {
    let mut list = Vec::new();
    for (element, kinds) in [("f16", "f16x2"), ("bf16", "bf16x2")] {
        for k in [8, 16] {
            for how in HOW {
                list.push(product(
                    k,
                    ["f32", element, element, "f32"],
                    [&format!("{how}:{kinds}"), &format!("{how}:f32")],
                ));
                if element == "f16" {
                    let kind = format!("{how}:f16x2");
                    list.push(product(k, ["f16", element, element, "f16"], [&kind, &kind]));
                }
            }
        }
    }
    for k in [4, 8] {
        for how in HOW {
            list.push(product(k, ["f32", "tf32", "tf32", "f32"], [&format!("{how}:tf32"), &format!("{how}:f32")]));
        }
    }
    for k in [16, 32] {
        for a in ["s8", "u8"] {
            for b in ["s8", "u8"] {
                for saturate in ["", ".satfinite"] {
                    list.push(product(k, [&format!("{saturate}.s32")[1..], a, b, "s32"], ["bytes", "b32"]));
                }
            }
        }
    }
    for a in ["e4m3", "e5m2"] {
        for b in ["e4m3", "e5m2"] {
            for how in HOW {
                let operands =
                    [vec![format!("{how}:{a}x4"); 4], vec![format!("{how}:{b}x4"); 2], vec![format!("{how}:f32"); 4]];
                let text = format!(
                    "mma.sync.aligned.m16n8k32.row.col.f32.{a}.{b}.f32 {{d, q, r, s}}, {{a, b, c, e}}, {{f, g}}, {{h, i, j, k}};"
                );
                list.push(Variant::new(&text, "b32 b32 b32 b32", &operands.concat().join(" ")));
            }
        }
    }
    list.extend(bytes());
    list.extend(small_integers());
    for how in HOW {
        let kind = format!("{how}:f64");
        let text = "mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {d, q, r, s}, {a, b}, {c}, {e, f, g, h};";
        list.push(Variant::new(text, "b64 b64 b64 b64", &[&kind[..]; 7].join(" ")));
        let text = "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {d, q, r, s}, {a, b, c, e}, {f, g}, {h, i, j, k};";
        list.push(Variant::new(text, "b64 b64 b64 b64", &[&kind[..]; 10].join(" ")));
        let text = "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {d, q}, {a}, {b}, {c, e};";
        list.push(Variant::new(text, "b64 b64", &vec![format!("{how}:f64"); 4].join(" ")));
    }
    list = list.into_iter().map(|variant| variant.cases(256)).collect();
    list.extend(transfers());
    list
}

/// Sums of halves of eight-bit elements, and half as many columns.
fn bytes() -> Vec<Variant> {
    let mut list = Vec::new();
    for types in expand("{e4m3,e5m2}.{e4m3,e5m2}") {
        let (a, b) = types.split_once('.').expect("two types");
        for how in ["tame", "wild", "power"] {
            let kinds = |first: usize, second: usize, summand: &str, sums: usize| {
                let factors = [vec![format!("{how}:{a}x4"); first], vec![format!("{how}:{b}x4"); second]].concat();
                [factors, vec![format!("{how}:{summand}"); sums]].concat().join(" ")
            };
            let text = format!(
                "mma.sync.aligned.m16n8k16.row.col.f32.{types}.f32 {{d, q, r, s}}, {{a, b}}, {{c}}, {{e, f, g, h}};"
            );
            list.push(Variant::new(&text, "b32 b32 b32 b32", &kinds(2, 1, "f32", 4)));
            let text =
                format!("mma.sync.aligned.m16n8k16.row.col.f16.{types}.f16 {{d, q}}, {{a, b}}, {{c}}, {{e, f}};");
            list.push(Variant::new(&text, "b32 b32", &kinds(2, 1, "f16x2", 2)));
            let text = format!(
                "mma.sync.aligned.m16n8k32.row.col.f16.{types}.f16 {{d, q}}, {{a, b, c, e}}, {{f, g}}, {{h, i}};"
            );
            list.push(Variant::new(&text, "b32 b32", &kinds(4, 2, "f16x2", 2)));
        }
    }
    list
}

/// Eight rows instead of sixteen, and elements of four bits and of one.
fn small_integers() -> Vec<Variant> {
    let mut list = Vec::new();
    let mut add = |shape: &str, types: &str, after: &str, registers: usize| {
        let (results, lists, operands) = match registers {
            1 => ("b32 b32", "{d, q}, {a}, {b}, {c, e}", "bytes bytes b32 b32"),
            2 => ("b32 b32 b32 b32", "{d, q, r, s}, {a, b}, {c}, {e, f, g, h}", "bytes bytes bytes b32 b32 b32 b32"),
            _ => (
                "b32 b32 b32 b32",
                "{d, q, r, s}, {a, b, c, e}, {f, g}, {h, i, j, k}",
                "bytes bytes bytes bytes bytes bytes b32 b32 b32 b32",
            ),
        };
        let text = format!("mma.sync.aligned.{shape}.row.col.{types}{after} {lists};");
        list.push(Variant::new(&text, results, operands));
    };
    for saturate in ["", "satfinite."] {
        for types in expand("s32.{s8,u8}.{s8,u8}.s32") {
            add("m8n8k16", &format!("{saturate}{types}"), "", 1);
        }
        for types in expand("s32.{s4,u4}.{s4,u4}.s32") {
            add("m8n8k32", &format!("{saturate}{types}"), "", 1);
            add("m16n8k32", &format!("{saturate}{types}"), "", 2);
            add("m16n8k64", &format!("{saturate}{types}"), "", 4);
        }
    }
    for after in [".xor.popc", ".and.popc"] {
        add("m8n8k128", "s32.b1.b1.s32", after, 1);
        add("m16n8k128", "s32.b1.b1.s32", after, 2);
        add("m16n8k256", "s32.b1.b1.s32", after, 4);
    }
    list
}

fn list_of(names: &[&str]) -> String {
    format!("{{{}}}", names.join(", "))
}

fn product(k: usize, types: [&str; 4], [factor, summand]: [&str; 2]) -> Variant {
    use crate::variant::{OPERANDS, RESULTS};
    let bytes = match types[1] {
        "tf32" => 4,
        "s8" | "u8" => 1,
        _ => 2,
    };
    let (first, second) = (16 * k * bytes / 128, 8 * k * bytes / 128);
    let sums = if types[0] == "f16" { 2 } else { 4 };
    let (a, rest) = OPERANDS.split_at(first);
    let (b, rest) = rest.split_at(second);
    let text = format!(
        "mma.sync.aligned.m16n8k{k}.row.col.{} {}, {}, {}, {};",
        types.join("."),
        list_of(&RESULTS[..sums]),
        list_of(a),
        list_of(b),
        list_of(&rest[..sums])
    );
    let operands = [vec![factor; first + second], vec![summand; sums]].concat().join(" ");
    Variant::new(&text, &vec!["b32"; sums].join(" "), &operands)
}

/// Each lane has sixteen bytes of the block's memory: a row of a matrix.
fn transfers() -> Vec<Variant> {
    let mut list = vec![Variant::new("movmatrix.sync.aligned.m8n8.trans.b16 d, a;", "b32", "b32")];
    let place = "mov.u32 word, scratch; mad.lo.u32 word, m, 16, word;";
    let store =
        "st.shared.b32 [word], a; st.shared.b32 [word+4], b; st.shared.b32 [word+8], c; st.shared.b32 [word+12], e;";
    for (count, names) in [("x1", "d"), ("x2", "d, q"), ("x4", "d, q, r, s")] {
        let results = vec!["b32"; names.split(',').count()].join(" ");
        for text in expand(&format!("ldmatrix.sync.aligned.m8n8.{count}{{,.trans}}.shared.b16")) {
            let text = format!("{place} {store} bar.sync 0; {text} {{{names}}}, [word];");
            list.push(Variant::new(&text, &results, "b32 b32 b32 b32"));
        }
        let names = ["a", "a, b", "", "a, b, c, e"][names.split(',').count() / 2 + usize::from(count == "x4")];
        for text in expand(&format!("stmatrix.sync.aligned.m8n8.{count}{{,.trans}}.shared.b16")) {
            let load = "ld.shared.b32 d, [word]; ld.shared.b32 q, [word+4]; ld.shared.b32 r, [word+8]; ld.shared.b32 s, [word+12];";
            let text = format!("{place} {store} bar.sync 0; {text} [word], {{{names}}}; bar.sync 0; {load}");
            list.push(Variant::new(&text, "b32 b32 b32 b32", "b32 b32 b32 b32"));
        }
    }
    list
}
