//! Video instructions: the parts of a result and second operations that `video` leaves out.

use crate::variant::{Variant, all};

pub(crate) fn variants() -> Vec<Variant> {
    let mut list = Vec::new();
    let types = "{.u32,.s32}{.u32,.s32}{.u32,.s32}";
    for opcode in ["vadd", "vsub", "vabsdiff", "vmin", "vmax"] {
        list.extend(all(&format!("{opcode}{types}{{,.sat}} d.{{b0,b2,b3,h0}}, a, b, c;"), "b32", "b32 b32 b32"));
    }
    let compare = "vset{.u32,.s32}{.u32,.s32}{.eq,.lt}";
    list.extend(all(&format!("{compare} d.{{b0,b3,h1}}, a, b, c;"), "b32", "few few b32"));
    list.extend(all(&format!("{compare}{{.min,.max}} d, a, b, c;"), "b32", "few few few"));
    let shift = "{vshl,vshr}{.u32,.s32}{.u32,.s32}.u32{,.sat}{.clamp,.wrap}";
    list.extend(all(&format!("{shift} d.{{b0,b3,h0,h1}}, a, b, c;"), "b32", "b32 count b32"));
    list.extend(all(&format!("{shift}{{.min,.max}} d, a, b, c;"), "b32", "b32 count b32"));
    let types = "{.u32.u32.u32,.s32.u32.s32,.s32.s32.u32,.s32.s32.s32}";
    list.extend(all(&format!("vmad{types}{{,.sat}}{{,.shr7}} d, a, b.b1, c;"), "b32", "b32 b32 b32"));
    list.into_iter().map(|variant| variant.cases(64)).collect()
}
