//! Warp-level instructions: reductions, votes, matches, shuffles.

use crate::variant::{Variant, expand};

/// Lanes that the mask `b` names go on.
const NAMED: &str = "shr.u32 word, b, lane; and.b32 word, word, 1; setp.ne.u32 in, word, 0;";

pub(crate) fn variants() -> Vec<Variant> {
    let mut list = Vec::new();
    for text in expand("redux.sync.{add,min,max}.{u32,s32}") {
        list.push(Variant::new(&format!("mov.b32 d, 0; {NAMED} @in {text} d, a, b;"), "b32", "b32 mask"));
    }
    for text in expand("redux.sync.{and,or,xor}.b32") {
        list.push(Variant::new(&format!("mov.b32 d, 0; {NAMED} @in {text} d, a, b;"), "b32", "b32 mask"));
    }
    for what in ["all", "any", "uni"] {
        for negated in ["", "!"] {
            let text = format!("setp.ne.u32 d, 0, 0; {NAMED} @in vote.sync.{what}.pred d, {negated}a, b;");
            list.push(Variant::new(&text, "pred", "pred mask"));
        }
    }
    let text = format!("mov.b32 d, 0; {NAMED} @in vote.sync.ballot.b32 d, a, b;");
    list.push(Variant::new(&text, "b32", "pred mask"));
    for (bits, kind) in [("b32", "few"), ("b64", "few64")] {
        let text = format!("mov.b32 d, 0; {NAMED} @in match.any.sync.{bits} d, a, b;");
        list.push(Variant::new(&text, "b32", &format!("{kind} mask")));
        let text = format!("mov.b32 d, 0; setp.ne.u32 q, 0, 0; {NAMED} @in match.all.sync.{bits} d|q, a, b;");
        list.push(Variant::new(&text, "b32 pred", &format!("{kind} mask")));
        let text = format!("and.b{n} a, a, 0; {text}", n = &bits[1..]);
        list.push(Variant::new(&text, "b32 pred", &format!("{kind} mask")));
    }
    for how in ["up", "down", "bfly", "idx"] {
        list.push(Variant::new(&format!("shfl.sync.{how}.b32 d|q, a, b, c, 0xffffffff;"), "b32 pred", "b32 lane b32"));
        // Segments of eight lanes.
        let limit = if how == "up" { "0x1800" } else { "0x181f" };
        let text = format!("shfl.sync.{how}.b32 d|q, a, b, {limit}, 0xffffffff;");
        list.push(Variant::new(&text, "b32 pred", "b32 lane"));
        let text = format!(
            "and.b32 b, b, 7; and.b32 word, lane, 24; setp.eq.u32 in, word, 8; mov.b32 d, 0; setp.ne.u32 q, 0, 0; @in shfl.sync.{how}.b32 d|q, a, b, {limit}, 0xff00;"
        );
        list.push(Variant::new(&text, "b32 pred", "b32 lane"));
    }
    let text = format!("mov.b32 d, 0; setp.ne.u32 q, 0, 0; {NAMED} @in elect.sync d|q, b;");
    list.push(Variant::new(&text, "b32 pred", "b32 mask"));
    list.extend(barriers());
    list.into_iter().map(|variant| variant.cases(1024)).collect()
}

/// Questions to a whole block, and to parts of it: 64 threads at one barrier, 32 at each of two others.
fn barriers() -> Vec<Variant> {
    let parts = "shr.u32 low, m, 5; min.u32 low, low, 3; sub.u32 low, low, 1; max.s32 low, low, 0; \
        setp.eq.u32 in, low, 0; selp.u32 high, 64, 32, in; add.u32 low, low, 1;";
    let mut list = Vec::new();
    for (what, result) in [("popc.u32", "b32"), ("and.pred", "pred"), ("or.pred", "pred")] {
        for negated in ["", "!"] {
            let text = format!("barrier.cta.red.{what} d, 0, {negated}a;");
            list.push(Variant::new(&text, result, "pred"));
            let text = format!("{parts} barrier.cta.red.{what} d, low, high, {negated}a;");
            list.push(Variant::new(&text, result, "pred"));
        }
        let text = format!("bar.red.{what} d, 3, 128, a;");
        list.push(Variant::new(&text, result, "pred"));
    }
    list
}
