//! Video instructions: parts of words, with saturation and a second operation.

use crate::variant::{Variant, all};

pub(crate) fn variants() -> Vec<Variant> {
    let mut list = Vec::new();
    let types = "{.u32,.s32}{.u32,.s32}{.u32,.s32}";
    for opcode in ["vadd", "vsub", "vabsdiff", "vmin", "vmax"] {
        list.extend(all(&format!("{opcode}{types}{{,.sat}} d, a, b;"), "b32", "b32 b32"));
        list.extend(all(&format!("{opcode}{types}{{,.sat}} d, a.b{{0,3}}, b.h{{0,1}};"), "b32", "b32 b32"));
        list.extend(all(&format!("{opcode}{types}{{,.sat}} d.{{b1,h1}}, a, b.b2, c;"), "b32", "b32 b32 b32"));
        list.extend(all(&format!("{opcode}{types}{{,.sat}}{{.add,.min,.max}} d, a, b, c;"), "b32", "b32 b32 b32"));
        for lanes in ["2", "4"] {
            list.extend(all(&format!("{opcode}{lanes}{types}{{,.sat,.add}} d, a, b, c;"), "b32", "b32 b32 b32"));
        }
    }
    for lanes in ["2", "4"] {
        list.extend(all(&format!("vavrg{lanes}{types}{{,.sat,.add}} d, a, b, c;"), "b32", "b32 b32 b32"));
        list.extend(all(
            &format!("vset{lanes}{{.u32,.s32}}{{.u32,.s32}}{{.eq,.ne,.lt,.le,.gt,.ge}}{{,.add}} d, a, b, c;"),
            "b32",
            "few few b32",
        ));
    }
    list.extend(all("vadd2.s32.s32.s32{,.sat,.add} d.h1, a.h{12,30}, b.h{03,21}, c;", "b32", "b32 b32 b32"));
    list.extend(all("vsub4.s32.u32.s32{,.sat,.add} d.b{20,310}, a.b7351, b.b0246, c;", "b32", "b32 b32 b32"));
    let compare = "vset{.u32,.s32}{.u32,.s32}{.eq,.ne,.lt,.le,.gt,.ge}";
    list.extend(all(&format!("{compare} d, a, b;"), "b32", "few few"));
    list.extend(all(&format!("{compare} d.h0, a.b0, b.b0, c;"), "b32", "few few b32"));
    list.extend(all(&format!("{compare}.add d, a, b, c;"), "b32", "few few b32"));
    let shift = "{vshl,vshr}{.u32,.s32}{.u32,.s32}.u32{,.sat}{.clamp,.wrap}";
    list.extend(all(&format!("{shift} d, a, b;"), "b32", "b32 count"));
    list.extend(all(&format!("{shift} d.b1, a.h1, b, c;"), "b32", "b32 count b32"));
    list.extend(all(&format!("{shift}.add d, a, b, c;"), "b32", "b32 count b32"));
    list.extend(products());
    list
}

/// `vmad`, whose result has a sign where one of its operands has.
fn products() -> Vec<Variant> {
    let mut list = Vec::new();
    for types in [".u32.u32.u32", ".s32.u32.s32", ".s32.s32.u32", ".s32.s32.s32"] {
        list.extend(all(&format!("vmad{types}{{,.sat}}{{,.shr7,.shr15}} d, a, b, c;"), "b32", "b32 b32 b32"));
        list.extend(all(&format!("vmad{types}{{,.sat}}{{,.shr7}} d, a.h0, b.b{{1,3}}, c;"), "b32", "b32 b32 b32"));
        list.extend(all(&format!("vmad{types}.po{{,.sat}}{{,.shr15}} d, a.h1, b.h0, c;"), "b32", "b32 b32 b32"));
    }
    list
}
