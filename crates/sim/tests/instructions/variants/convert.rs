//! Conversions: every pair of types, every rounding, every clamp.

use crate::variant::{Variant, all};

const INTEGERS: [&str; 8] = ["u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"];

/// The register of a type: bytes lie in words, and what is above them does not count.
fn register(name: &str) -> &str {
    match name {
        "u8" | "s8" | "u32" | "s32" | "f32" => "b32",
        "u64" | "s64" | "f64" => "b64",
        _ => "b16",
    }
}

fn operand(name: &str) -> &str {
    if name.contains('f') { name } else { register(name) }
}

/// `true` if every value of `from` is in the range of `to`, so that none is clamped.
fn fits(from: &str, to: &str) -> bool {
    let bits = |name: &str| name[1..].parse::<u32>().expect("a width");
    match (&from[..1], &to[..1]) {
        ("u", "s") => bits(from) < bits(to),
        ("s", "u") => false,
        _ => bits(from) <= bits(to),
    }
}

pub(crate) fn variants() -> Vec<Variant> {
    let mut list = Vec::new();
    for from in INTEGERS {
        for to in INTEGERS {
            let clamp = if fits(from, to) { "" } else { "{,.sat}" };
            list.extend(all(&format!("cvt{clamp}.{to}.{from}"), register(to), operand(from)));
        }
        for to in ["f16", "f32", "f64"] {
            list.extend(all(&format!("cvt{{.rn,.rz,.rm,.rp}}{{,.sat}}.{to}.{from}"), register(to), operand(from)));
        }
        for (from_float, flush) in [("f16", ""), ("f32", "{,.ftz}"), ("f64", "")] {
            let pattern = format!("cvt{{.rni,.rzi,.rmi,.rpi}}{flush}{{,.sat}}.{from}.{from_float}");
            list.extend(all(&pattern, register(from), from_float));
        }
        if from.ends_with('8') {
            list.extend(bytes_and_brains(from));
        } else {
            list.extend(all(&format!("cvt{{.rn,.rz,.rm,.rp}}.bf16.{from}"), "b16", operand(from)));
            list.extend(all(&format!("cvt{{.rni,.rzi,.rmi,.rpi}}.{from}.bf16"), register(from), "bf16"));
        }
    }
    list.extend(narrow_in_wide());
    list.extend(floats());
    list.extend(pairs());
    list
}

/// Between bytes and bf16, for which the byte is in a register of 8 bits.
fn bytes_and_brains(byte: &str) -> Vec<Variant> {
    let mut list = Vec::new();
    let into = format!(".reg .b8 t; cvt.u8.u32 t, a; cvt{{.rn,.rz,.rm,.rp}}.bf16.{byte} d, t;");
    list.extend(all(&into, "b16", "b32"));
    let from = format!(".reg .b8 t; cvt{{.rni,.rzi,.rmi,.rpi}}.{byte}.bf16 t, a; cvt.u32.{byte} d, t;");
    list.extend(all(&from, "b32", "bf16"));
    list
}

/// A narrow integer in a register that is wider than it.
fn narrow_in_wide() -> Vec<Variant> {
    let mut list = Vec::new();
    for to in ["u8", "s8", "u16", "s16", "u32", "s32"] {
        list.extend(all(&format!("cvt{{,.sat}}.{to}.s64"), "b64", "b64"));
        list.extend(all(&format!("cvt.rzi.{to}.f32"), "b64", "f32"));
    }
    for to in ["u16", "s16"] {
        list.extend(all(&format!("cvt{{,.sat}}.{to}.s32"), "b32", "b32"));
        list.extend(all(&format!("cvt.rni.{to}.f64"), "b32", "f64"));
    }
    for from in ["u8", "s8", "u16", "s16", "u32", "s32"] {
        list.extend(all(&format!("cvt.rn.f32.{from}"), "b32", "b64"));
        list.extend(all(&format!("cvt.s64.{from}"), "b64", "b64"));
    }
    list
}

fn floats() -> Vec<Variant> {
    let mut list = Vec::new();
    let integral = "{.rni,.rzi,.rmi,.rpi}";
    list.extend(all(&format!("cvt{{,{}}}{{,.sat}}.f16.f16", &integral[1..integral.len() - 1]), "b16", "f16"));
    list.extend(all(&format!("cvt{{,{}}}{{,.ftz}}{{,.sat}}.f32.f32", &integral[1..integral.len() - 1]), "b32", "f32"));
    list.extend(all(&format!("cvt{{,{}}}{{,.sat}}.f64.f64", &integral[1..integral.len() - 1]), "b64", "f64"));
    list.extend(all(&format!("cvt{{{}}}.bf16.bf16", &integral[1..integral.len() - 1]), "b16", "bf16"));
    list.extend(all("cvt{,.ftz}{,.sat}.f32.f16", "b32", "f16"));
    list.extend(all("cvt{,.ftz}.f32.bf16", "b32", "bf16"));
    list.extend(all("cvt{,.ftz}{,.sat}.f64.f32", "b64", "f32"));
    list.extend(all("cvt{,.sat}.f64.f16", "b64", "f16"));
    list.extend(all("cvt.f64.bf16", "b64", "bf16"));
    list.extend(all("cvt{.rn,.rz,.rm,.rp}{,.ftz}{,.sat}.f32.f64", "b32", "f64"));
    list.extend(all("cvt{.rn,.rz,.rm,.rp}{,.sat}.f16.f64", "b16", "f64"));
    list.extend(all("cvt{.rn,.rz,.rm,.rp}.bf16.f64", "b16", "f64"));
    list.extend(all("cvt{.rn,.rz,.rm,.rp}{,.ftz}{,.sat}.f16.f32", "b16", "f32"));
    list.extend(all("cvt{.rn,.rz}{,.relu}{,.satfinite}.bf16.f32", "b16", "f32"));
    list.extend(all("cvt{.rn,.rz}{.relu,.satfinite,.relu.satfinite}.f16.f32", "b16", "f32"));
    list.extend(all("cvt{.rm,.rp}.bf16.f32", "b16", "f32"));
    list.extend(all("cvt{.rn,.rz,.rm,.rp}.bf16.f16", "b16", "f16"));
    list.extend(all("cvt{.rn,.rz,.rm,.rp}.f16.bf16", "b16", "bf16"));
    list.extend(all("cvt{.rn,.rz}{,.relu}.tf32.f32", "b32", "f32"));
    list.extend(all("cvt.rna.tf32.f32", "b32", "f32"));
    list.into_iter().map(|variant| variant.cases(256)).collect()
}

/// Two at a time.
fn pairs() -> Vec<Variant> {
    let mut list = Vec::new();
    list.extend(all("cvt{.rn,.rz}{,.relu}{,.satfinite}.{f16x2,bf16x2}.f32", "b32", "f32 f32"));
    list.extend(all("cvt.rn.satfinite{,.relu}.{e4m3x2,e5m2x2}.f32", "b16", "f32 f32"));
    list.extend(all("cvt.rn.satfinite{,.relu}.{e4m3x2,e5m2x2}.f16x2", "b16", "f16x2"));
    list.extend(all("cvt.rn{,.relu}.f16x2.{e4m3x2,e5m2x2}", "b32", "b16"));
    list.extend(all("cvt.pack.sat.{u16,s16}.s32", "b32", "s32 s32"));
    list.extend(all("cvt.pack.sat.{u8,s8,u4,s4,u2,s2}.s32.b32", "b32", "s32 s32 b32"));
    list.into_iter().map(|variant| variant.cases(256)).collect()
}
