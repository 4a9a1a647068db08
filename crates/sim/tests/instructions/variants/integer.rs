//! Integer arithmetic, with carries and products of bytes.

use crate::variant::{Variant, all, typed};

pub(crate) fn variants() -> Vec<Variant> {
    let any = "{u16,s16,u32,s32,u64,s64}";
    let mut list = Vec::new();
    for binary in ["add.", "sub.", "mul.lo.", "mul.hi.", "div.", "rem.", "min.", "max."] {
        list.extend(typed(&format!("{binary}{any}"), "T", "T T"));
    }
    list.extend(typed(&format!("sad.{any}"), "T", "T T T"));
    list.extend(typed(&format!("mad.{{lo,hi}}.{any}"), "T", "T T T"));
    list.extend(typed("{abs,neg}.{s16,s32,s64}", "T", "T"));
    list.extend(all("{add,sub}.sat.s32", "b32", "s32 s32"));
    list.extend(all("mad.hi.sat.s32", "b32", "s32 s32 s32"));
    list.extend(all("mul.wide.{u16,s16}", "b32", "u16 u16"));
    list.extend(all("mul.wide.{u32,s32}", "b64", "u32 u32"));
    list.extend(all("mad.wide.{u16,s16}", "b32", "u16 u16 u32"));
    list.extend(all("mad.wide.{u32,s32}", "b64", "u32 u32 u64"));
    list.extend(all("mul24.{lo,hi}.{u32,s32}", "b32", "u32 u32"));
    list.extend(all("mad24.{lo,hi}.{u32,s32}", "b32", "u32 u32 u32"));
    list.extend(all("mad24.hi.sat.s32", "b32", "u32 u32 u32"));
    list.extend(all("dp4a.{u32,s32}.{u32,s32}", "b32", "bytes bytes b32"));
    list.extend(all("dp2a.{lo,hi}.{u32,s32}.{u32,s32}", "b32", "bytes bytes b32"));
    list.extend(all("{add,min,max}.{u16x2,s16x2}", "b32", "b32 b32"));
    list.extend(all("{min,max}.relu.{s32,s16x2}", "b32", "b32 b32"));
    list.extend(carries());
    list
}

fn carries() -> Vec<Variant> {
    let mut list = Vec::new();
    for (scalar, bits) in [("u32", "b32"), ("s32", "b32"), ("u64", "b64"), ("s64", "b64")] {
        let two = format!("{bits} {bits}");
        let four = format!("{two} {two}");
        for (first, second) in [("add", "addc"), ("sub", "subc")] {
            let text = format!("{first}.cc.{scalar} d, a, b; {second}.{scalar} q, c, e;");
            list.push(Variant::new(&text, &two, &four));
            let text = format!("{first}.cc.{scalar} d, a, b; {second}.cc.{scalar} q, c, e; {second}.{scalar} r, f, g;");
            list.push(Variant::new(&text, &format!("{two} {bits}"), &format!("{four} {two}")));
        }
        for (low, high) in [("lo", "hi"), ("hi", "lo")] {
            let text = format!("mad.{low}.cc.{scalar} d, a, b, c; madc.{high}.{scalar} q, a, b, e;");
            list.push(Variant::new(&text, &two, &four));
            let text =
                format!("mad.{low}.cc.{scalar} d, a, b, c; madc.{high}.cc.{scalar} q, a, e, f; addc.{scalar} r, e, 0;");
            list.push(Variant::new(&text, &format!("{two} {bits}"), &format!("{four} {bits}")));
        }
    }
    list
}
