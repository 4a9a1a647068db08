//! Candidates of video instructions.

use super::combined;

/// Adds all of them.
pub(crate) fn add_all(mut add: impl FnMut(&str, &str)) {
    let opcodes: &[&str] = &["vadd", "vsub", "vabsdiff", "vmin", "vmax", "vavrg", "vset", "vshl", "vshr", "vmad"];
    let types: &[&str] =
        &[".u32.u32.u32", ".s32.u32.s32", ".u32.s32.s32", ".s32.s32.u32", ".u32.s32", ".s32.s32", ".b32.u32.u32"];
    let modifiers: &[&str] = &[
        "",
        ".sat",
        ".add",
        ".min",
        ".sat.add",
        ".clamp",
        ".wrap.add",
        ".sat.wrap",
        ".eq",
        ".lt.add",
        ".lo",
        ".shr7",
        ".sat.shr15",
        ".po",
        ".po.sat",
        ".po.shr7",
    ];
    for name in combined(&[opcodes, &["", "2", "4"], types, modifiers]) {
        for operands in [
            "%r1, %r2, %r3",
            "%r1, %r2, %r3, %r4",
            "%r1.b1, %r2.h0, %r3.b3, %r4",
            "%r1, %r2.b1, %r3",
            "%r1.h1, %r2.h01, %r3.h32, %r4",
            "%r1.b20, %r2.b0123, %r3.b7654, %r4",
            "%r1.b02, %r2, %r3, %r4",
            "%r1, %r2, %r3, 7",
            "%r1, %r2, 5",
        ] {
            add(&name, operands);
        }
    }
    for name in
        combined(&[&["vmad", "vadd", "mad.lo"], &[".u32.u32.u32", ".s32.s32.u32", ".s32"], &["", ".sat.shr7", ".po"]])
    {
        for operands in [
            "%r1, -%r2, %r3, %r4",
            "%r1, %r2, -%r3, %r4",
            "%r1, %r2, %r3, -%r4",
            "%r1, -%r2, -%r3, %r4",
            "%r1, -%r2, %r3, -%r4",
            "%r1, %r2, -%r3, -%r4",
            "%r1, -%r2, -%r3, -%r4",
            "%r1, -%r2.b1, %r3.h0, %r4",
            "%r1, - %r2, %r3, %r4",
            "-%r1, %r2, %r3, %r4",
            "%r1, -5, %r3, %r4",
            "%r1, -5, -%r3, %r4",
            "%r1, %r2, %r3, -5",
            "%r1, -%r2, %r3, -5",
        ] {
            add(&name, operands);
        }
    }
}
