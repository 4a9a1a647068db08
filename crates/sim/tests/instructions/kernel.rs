//! A kernel for each variant: every thread loads its operands, runs the instruction once, and stores what it
//! gave.

use std::fmt::Write;

use crate::kind::Kind;
use crate::variant::{OPERANDS, RESULTS, Variant, Width};

/// Threads of a block.
pub(crate) const BLOCK: usize = 128;

/// The module with a kernel `k0`, `k1`, … for each variant.
pub(crate) fn module(variants: &[Variant]) -> String {
    let mut text = ".version 8.7\n.target sm_90\n.address_size 64\n".to_owned();
    for (index, variant) in variants.iter().enumerate() {
        kernel(&mut text, index, variant).expect("a string takes any text");
    }
    text
}

/// Operands and results lie one after the other, eight bytes for each case.
fn kernel(text: &mut String, index: usize, variant: &Variant) -> std::fmt::Result {
    let apart = variant.cases * 8;
    writeln!(text, "// {}", variant.text)?;
    writeln!(text, ".visible .entry k{index}(.param .u64 from, .param .u64 into) {{")?;
    writeln!(text, ".shared .align 16 .b8 scratch[4096];")?;
    writeln!(text, ".reg .b32 n, m, lane, word, low, high; .reg .b64 src, dst, own, wide; .reg .pred in, p;")?;
    for (name, kind) in OPERANDS.iter().zip(&variant.operands) {
        match kind {
            Kind::Predicate => writeln!(text, ".reg .pred {name};")?,
            _ => writeln!(text, ".reg .b{} {name};", kind.bits())?,
        }
    }
    for (name, width) in RESULTS.iter().zip(&variant.results) {
        match width {
            Width::Flag => writeln!(text, ".reg .pred {name};")?,
            _ => writeln!(text, ".reg .b{} {name};", width.bytes() * 8)?,
        }
    }
    writeln!(text, "ld.param.u64 src, [from]; ld.param.u64 dst, [into];")?;
    writeln!(text, "mov.u32 m, %tid.x; mov.u32 n, %ctaid.x; mad.lo.u32 n, n, {BLOCK}, m;")?;
    writeln!(text, "mul.wide.u32 own, n, 8; add.u64 src, src, own; add.u64 dst, dst, own; mov.u32 lane, %laneid;")?;
    for (place, (name, kind)) in OPERANDS.iter().zip(&variant.operands).enumerate() {
        let at = place * apart;
        match kind {
            Kind::Predicate => {
                writeln!(text, "ld.global.b32 word, [src+{at}]; setp.ne.u32 {name}, word, 0;")?;
            }
            _ => writeln!(text, "ld.global.b{} {name}, [src+{at}];", kind.bits())?,
        }
    }
    writeln!(text, "{}", variant.text)?;
    for (place, (name, width)) in RESULTS.iter().zip(&variant.results).enumerate() {
        let at = place * apart;
        match width {
            Width::Flag => writeln!(text, "selp.u32 word, 1, 0, {name}; st.global.b32 [dst+{at}], word;")?,
            _ => writeln!(text, "st.global.b{} [dst+{at}], {name};", width.bytes() * 8)?,
        }
    }
    writeln!(text, "ret; }}")
}
