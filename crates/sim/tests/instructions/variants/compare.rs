//! Comparisons that give predicates and numbers.

use crate::variant::{Variant, all};

/// Comparisons of numbers that may be none.
const FLOAT: &str = "{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}";

pub(crate) fn variants() -> Vec<Variant> {
    let mut list = Vec::new();
    for bits in ["b16", "b32", "b64"] {
        let n = &bits[1..];
        let two = format!("{bits} {bits}");
        for (how, what) in [("{eq,ne}", "b"), ("{eq,ne,lt,le,gt,ge,lo,ls,hi,hs}", "u"), ("{eq,ne,lt,le,gt,ge}", "s")] {
            list.extend(all(&format!("setp.{how}.{what}{n}"), "pred pred", &two));
            list.extend(all(&format!("set.{how}.{{u32,f32}}.{what}{n}"), "b32", &two));
        }
    }
    for (name, flush) in [("f32", "{,.ftz}"), ("f64", ""), ("f16", "{,.ftz}"), ("bf16", "")] {
        let two = format!("{name} {name}");
        // Halves have room for one predicate.
        let results = if matches!(name, "f32" | "f64") { "pred pred" } else { "pred" };
        list.extend(all(&format!("setp.{FLOAT}{flush}.{name}"), results, &two));
        if matches!(name, "f32" | "f64") {
            list.extend(all(&format!("set.{FLOAT}{flush}.{{u32,f32}}.{name}"), "b32", &two));
        } else {
            list.extend(all(&format!("set.{FLOAT}{flush}.{name}.{name}"), "b16", &two));
            list.extend(all(&format!("set.{{eq,ltu}}{flush}.{{u16,s16}}.{name}"), "b16", &two));
            list.extend(all(&format!("set.{{ne,geu}}{flush}.{{u32,s32}}.{name}"), "b32", &two));
        }
    }
    for (name, flush) in [("f16x2", "{,.ftz}"), ("bf16x2", "")] {
        let two = format!("{name} {name}");
        list.extend(all(&format!("setp.{FLOAT}{flush}.{name}"), "pred pred", &two));
        list.extend(all(&format!("set.{FLOAT}{flush}.{{{name},u32}}.{name}"), "b32", &two));
    }
    list.extend(combined());
    list
}

fn combined() -> Vec<Variant> {
    let mut list = Vec::new();
    for (how, name) in [("lt", "s32"), ("hs", "u64"), ("geu", "f32"), ("ne", "f64"), ("num", "f16")] {
        for with in ["and", "or", "xor"] {
            for negated in ["", "!"] {
                if name == "f16" {
                    let text = format!("setp.{how}.{with}.{name} d, a, b, {negated}c;");
                    list.push(Variant::new(&text, "pred", "f16 f16 pred"));
                    continue;
                }
                let text = format!("setp.{how}.{with}.{name} d|q, a, b, {negated}c;");
                list.push(Variant::new(&text, "pred pred", &format!("{name} {name} pred")));
                let text = format!("set.{how}.{with}.f32.{name} d, a, b, {negated}c;");
                list.push(Variant::new(&text, "b32", &format!("{name} {name} pred")));
            }
        }
    }
    for with in ["and", "or", "xor"] {
        let operands = "f16x2 f16x2 pred";
        list.push(Variant::new(&format!("setp.le.{with}.f16x2 d|q, a, b, c;"), "pred pred", operands));
        list.push(Variant::new(&format!("set.gtu.{with}.f16x2.f16x2 d, a, b, c;"), "b32", operands));
    }
    list
}
