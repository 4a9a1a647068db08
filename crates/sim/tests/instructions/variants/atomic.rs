//! Atomic operations, each thread on memory of its own: what is given back, and what is left there.

use crate::variant::{Variant, expand};

pub(crate) fn variants() -> Vec<Variant> {
    let mut list = Vec::new();
    let mut add = |what: &str, scalars: &str, bits: &str| {
        for scalar in scalars.split(' ') {
            let kind = if scalar.contains('f') { scalar } else { bits };
            list.extend(pair(what, scalar, bits, kind));
        }
    };
    add("add", "u32 s32", "b32");
    add("add", "u64", "b64");
    add("{min,max}", "u32 s32", "b32");
    add("{min,max}", "u64 s64", "b64");
    add("{and,or,xor,exch}", "b32", "b32");
    add("{and,or,xor,exch}", "b64", "b64");
    add("{inc,dec}", "u32", "b32");
    add("add", "f32", "b32");
    add("add", "f64", "b64");
    add("add.noftz", "f16 bf16", "b16");
    add("add.noftz", "f16x2 bf16x2", "b32");
    list.extend(vectors());
    list.extend(generic());
    for (bits, scalar) in [("b16", "b16"), ("b32", "b32"), ("b64", "b64")] {
        for space in ["global", "shared"] {
            let address = address(space);
            let n = &bits[1..];
            let text = format!(
                "{address} st.{space}.b{n} [wide], a; atom.{space}.cas.{scalar} d, [wide], b, c; ld.{space}.b{n} q, [wide];"
            );
            let few = if bits == "b64" { "few64 few64 b64" } else { "few few b32" };
            let operands = if bits == "b16" { "b16 b16 b16" } else { few };
            list.push(Variant::new(&text, &format!("{bits} {bits}"), operands));
        }
    }
    list
}

/// Sums at addresses that may lead anywhere, and lead to either memory.
fn generic() -> Vec<Variant> {
    let mut list = Vec::new();
    for (scalar, bits) in [("f32", "b32"), ("f64", "b64")] {
        let operands = format!("{scalar} {scalar}");
        for place in [
            "mov.b64 wide, dst;",
            "mov.u64 wide, scratch; mul.wide.u32 own, m, 8; add.u64 wide, wide, own; cvta.shared.u64 wide, wide;",
        ] {
            let before = format!("{place} st.{bits} [wide], a;");
            let text = format!("{before} atom.add.{scalar} d, [wide], b; ld.{bits} q, [wide];");
            list.push(Variant::new(&text, &format!("{bits} {bits}"), &operands));
            let text = format!("{before} red.add.{scalar} [wide], b; ld.{bits} d, [wide];");
            list.push(Variant::new(&text, bits, &operands));
        }
    }
    list
}

/// Several at once, in global memory alone; eight bytes are a thread's own.
fn vectors() -> Vec<Variant> {
    let mut list = Vec::new();
    let two = "mov.b64 wide, dst; st.global.v2.b32 [wide], {a, b};";
    for (what, scalar) in [
        ("add", "f32"),
        ("add.noftz", "f16x2"),
        ("add.noftz", "bf16x2"),
        ("min.noftz", "f16x2"),
        ("max.noftz", "bf16x2"),
    ] {
        let kinds = [scalar; 4].join(" ");
        let text = format!(
            "{two} atom.global.{what}.v2.{scalar} {{d, q}}, [wide], {{c, e}}; ld.global.v2.b32 {{r, s}}, [wide];"
        );
        list.push(Variant::new(&text, "b32 b32 b32 b32", &kinds));
        let text = format!("{two} red.global.{what}.v2.{scalar} [wide], {{c, e}}; ld.global.v2.b32 {{d, q}}, [wide];");
        list.push(Variant::new(&text, "b32 b32", &kinds));
    }
    let four = "mov.b64 wide, dst; st.global.v4.b16 [wide], {a, b, c, e};";
    for (what, scalar) in [("add.noftz", "f16"), ("max.noftz", "f16"), ("min.noftz", "bf16")] {
        let text = format!(
            "{four} red.global.{what}.v4.{scalar} [wide], {{f, g, h, i}}; ld.global.v4.b16 {{d, q, r, s}}, [wide];"
        );
        list.push(Variant::new(&text, "b16 b16 b16 b16", &[scalar; 8].join(" ")));
    }
    list
}

/// The address of a thread's own memory: its result, or its part of the block's memory.
fn address(space: &str) -> &'static str {
    match space {
        "global" | "" => "mov.b64 wide, dst;",
        _ => "mov.u64 wide, scratch; mul.wide.u32 own, m, 8; add.u64 wide, wide, own;",
    }
}

fn pair(what: &str, scalar: &str, bits: &str, kind: &str) -> Vec<Variant> {
    let mut list = Vec::new();
    let n = &bits[1..];
    for what in expand(what) {
        for space in ["global", "shared"] {
            let address = address(space);
            let before = format!("{address} st.{space}.b{n} [wide], a;");
            let after = format!("ld.{space}.b{n} q, [wide];");
            let text = format!("{before} atom.{space}.{what}.{scalar} d, [wide], b; {after}");
            list.push(Variant::new(&text, &format!("{bits} {bits}"), &format!("{kind} {kind}")));
            if what != "exch" {
                let text = format!("{before} red.{space}.{what}.{scalar} [wide], b; ld.{space}.b{n} d, [wide];");
                list.push(Variant::new(&text, bits, &format!("{kind} {kind}")));
            }
        }
    }
    list
}
