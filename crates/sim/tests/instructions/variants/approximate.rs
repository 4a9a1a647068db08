//! Functions that hardware approximates: how far they are from the true value is part of what PTX promises.

use crate::variant::{Bound, Format, Variant, all};

pub(crate) fn variants() -> Vec<Variant> {
    let mut list = Vec::new();
    let mut add = |pattern: &str, bits: &str, operands: &str, bound: Bound| {
        let variants = if pattern.contains(' ') {
            vec![Variant::new(pattern, bits, operands)]
        } else {
            all(pattern, bits, operands)
        };
        list.extend(variants.into_iter().map(|variant| variant.within(bound).cases(1024)));
    };
    let singles = |steps| Bound::Steps(Format::F32, steps);
    add("rcp.approx{,.ftz}.f32", "b32", "f32", singles(1));
    add("sqrt.approx{,.ftz}.f32", "b32", "f32", singles(1));
    add("rsqrt.approx{,.ftz}.f32", "b32", "f32", singles(2));
    add("div.approx{,.ftz}.f32", "b32", "f32 f32", singles(2));
    add("div.full{,.ftz}.f32", "b32", "f32 f32", singles(2));
    add("ex2.approx{,.ftz}.f32", "b32", "f32", singles(2));
    add("ex2.approx{,.ftz}.f32", "b32", "angle", singles(2));
    add("lg2.approx{,.ftz}.f32", "b32", "f32", Bound::Absolute(1, 2f64.powf(-22.6)));
    add("{sin,cos}.approx{,.ftz}.f32", "b32", "angle", Bound::Absolute(0, 2f64.powf(-20.5)));
    add("{sin,cos}.approx{,.ftz}.f32", "b32", "f32", Bound::Absolute(0, 2f64.powf(-20.5)));
    add("tanh.approx.f32", "b32", "f32", singles(1 << 12));
    add("tanh.approx.f32", "b32", "angle", singles(1 << 12));
    add("tanh.approx.f16", "b16", "f16", Bound::Steps(Format::F16, 1));
    add("tanh.approx.bf16", "b16", "bf16", Bound::Steps(Format::Bf16, 1));
    add("ex2.approx.f16", "b16", "f16", Bound::Steps(Format::F16, 1));
    add("ex2.approx.ftz.bf16", "b16", "bf16", Bound::Steps(Format::Bf16, 1));
    let pairs = "b16 b16";
    add("tanh.approx.f16x2 word, a; mov.b32 {d, q}, word;", pairs, "f16x2", Bound::Steps(Format::F16, 1));
    add("tanh.approx.bf16x2 word, a; mov.b32 {d, q}, word;", pairs, "bf16x2", Bound::Steps(Format::Bf16, 1));
    add("ex2.approx.f16x2 word, a; mov.b32 {d, q}, word;", pairs, "f16x2", Bound::Steps(Format::F16, 1));
    add("ex2.approx.ftz.bf16x2 word, a; mov.b32 {d, q}, word;", pairs, "bf16x2", Bound::Steps(Format::Bf16, 1));
    add("rsqrt.approx.f64", "b64", "f64", Bound::Steps(Format::F64, 2));
    add("{rcp,rsqrt}.approx.ftz.f64", "b64", "f64", Bound::Steps(Format::F64, 1 << 32));
    list
}
