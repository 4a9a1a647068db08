//! Bits: logic, shifts, fields, counts, permutations, and moves between registers of different widths.

use crate::variant::{Variant, all, typed};

pub(crate) fn variants() -> Vec<Variant> {
    let mut list = Vec::new();
    list.extend(typed("{and,or,xor}.{b16,b32,b64}", "T", "T T"));
    list.extend(typed("{not,cnot}.{b16,b32,b64}", "T", "T"));
    list.extend(all("{and,or,xor}.pred", "pred", "pred pred"));
    list.extend(all("not.pred", "pred", "pred"));
    for function in (0..256).step_by(17).chain([0x01, 0x80, 0xca, 0x96, 0xe8, 0x1e, 0x6a]) {
        list.push(Variant::new(&format!("lop3.b32 d, a, b, c, {function:#x};"), "b32", "b32 b32 b32"));
    }
    for function in [0x3f, 0x96] {
        for with in ["and", "or"] {
            let text = format!("lop3.{with}.b32 d|q, a, b, c, {function:#x}, e;");
            list.push(Variant::new(&text, "b32 pred", "few few few pred"));
        }
    }
    list.extend(typed("shl.{b16,b32,b64}", "T", "T count"));
    list.extend(typed("shr.{b16,b32,b64,u16,u32,u64,s16,s32,s64}", "T", "T count"));
    list.extend(all("shf.{l,r}.{wrap,clamp}.b32", "b32", "b32 b32 count"));
    list.extend(typed("bfe.{u32,s32,u64,s64}", "T", "T count count"));
    list.extend(typed("bfi.{b32,b64}", "T", "T T count count"));
    list.extend(all("bfind{,.shiftamt}.{u32,s32}", "b32", "b32"));
    list.extend(all("bfind{,.shiftamt}.{u64,s64}", "b32", "b64"));
    list.extend(all("{clz,popc}.b32", "b32", "b32"));
    list.extend(all("{clz,popc}.b64", "b32", "b64"));
    list.extend(typed("brev.{b32,b64}", "T", "T"));
    list.extend(all("fns.b32", "b32", "b32 count count"));
    list.push(Variant::new("and.b32 b, b, 31; neg.s32 c, c; fns.b32 d, a, b, c;", "b32", "b32 count count"));
    list.push(Variant::new("and.b32 b, b, 31; and.b32 c, c, 31; fns.b32 d, a, b, c;", "b32", "b32 count count"));
    list.extend(all("prmt.b32{,.f4e,.b4e,.rc8,.ecl,.ecr,.rc16}", "b32", "bytes bytes bytes"));
    list.extend(all("szext.{wrap,clamp}.{u32,s32}", "b32", "b32 count"));
    list.extend(all("bmsk.{wrap,clamp}.b32", "b32", "count count"));
    list.extend(typed("selp.{b16,b32,b64,u16,s32,f32,f64}", "T", "T T pred"));
    list.extend(slct());
    list.extend(moves());
    list
}

fn slct() -> Vec<Variant> {
    let mut list = Vec::new();
    for (bits, scalars) in [("b16", "b16,u16,s16"), ("b32", "b32,u32,s32,f32"), ("b64", "b64,u64,s64,f64")] {
        list.extend(all(&format!("slct.{{{scalars}}}.s32"), bits, &format!("{bits} {bits} s32")));
        list.extend(all(&format!("slct{{,.ftz}}.{{{scalars}}}.f32"), bits, &format!("{bits} {bits} f32")));
    }
    list
}

fn moves() -> Vec<Variant> {
    vec![
        Variant::new("mov.b32 d, {a, b};", "b32", "b16 b16"),
        Variant::new("mov.b64 d, {a, b};", "b64", "b32 b32"),
        Variant::new("mov.b64 d, {a, b, c, e};", "b64", "b16 b16 b16 b16"),
        Variant::new("mov.b32 {d, q}, a;", "b16 b16", "b32"),
        Variant::new("mov.b64 {d, q}, a;", "b32 b32", "b64"),
        Variant::new("mov.b64 {d, q, r, s}, a;", "b16 b16 b16 b16", "b64"),
        Variant::new("mov.b64 {_, d}, a;", "b32", "b64"),
        Variant::new("mov.b16 d, a;", "b16", "b16"),
        Variant::new("mov.f32 d, a;", "b32", "f32"),
        Variant::new("mov.f64 d, a;", "b64", "f64"),
        Variant::new("mov.pred d, a;", "pred", "pred"),
        Variant::new("{ .reg .b8 x, y, z, w; mov.b32 {x, y, z, w}, a; mov.b32 d, {w, z, y, x}; }", "b32", "b32"),
    ]
}
