//! Candidates of instructions on registers of 128 bits.

use super::combined;

const ACCESSES: &[&str] =
    &["", ".weak", ".volatile", ".relaxed.gpu", ".acquire.sys", ".release.cta", ".mmio.relaxed.sys", ".relaxed"];
const SPACES: &[&str] = &["", ".global", ".shared", ".shared::cluster", ".local", ".const"];

/// Adds all of them.
pub(crate) fn add_all(mut add: impl FnMut(&str, &str)) {
    for operands in [
        "%w1, %w2",
        "%w1, %q2",
        "%q1, %w2",
        "%w1, 5",
        "%w1, -1",
        "%w1, 0f3f800000",
        "%w1, %tid.x",
        "%w1, {%q1, %q2}",
        "%w1, {%q1, 7}",
        "%w1, {%q1}",
        "%w1, {%q1, %r1, %r2}",
        "%w1, {%r1, %r2, %r3, %r4}",
        "%w1, {%h1, %h2, %h3, %h4}",
        "{%q1, %q2}, %w1",
        "{%q1, _}, %w1",
        "{_, _}, %w1",
        "{%r1, %r2, %r3, %r4}, %w1",
        "{%r1, _, _, %r4}, %w1",
        "{%q1, %r1, %r2}, %w1",
    ] {
        add("mov.b128", operands);
        add("mov.b64", operands);
    }
    for name in combined(&[ACCESSES, SPACES]) {
        add(&format!("ld{name}.b128"), "%w1, [%q9]");
        add(&format!("ld{name}.s32"), "%w1, [%q9]");
        if !name.ends_with(".const") {
            add(&format!("st{name}.b128"), "[%q9], %w1");
            add(&format!("st{name}.u16"), "[%q9], %w1");
        }
    }
    for operands in ["%q1, [%q9]", "{%q1, %q2}, [%q9]", "%w1, [%w2]"] {
        add("ld.global.b128", operands);
    }
    for operands in ["[%q9], 5", "[%q9], %q1", "[%q9], {%q1, %q2}", "[%w1], %w2"] {
        add("st.global.b128", operands);
    }
    for name in ["ld.global.v2.b128", "ld.global.nc.b128", "ldu.global.b128", "ld.global.v2.u32", "ld.global.cs.b128"] {
        add(name, "%w1, [%q9]");
        add(name, "{%w1, %w2}, [%q9]");
    }
    for name in combined(&[
        &["", ".acq_rel.gpu", ".relaxed.sys"],
        &["", ".global", ".shared", ".shared::cluster", ".local"],
        &[".exch", ".cas", ".add", ".and"],
    ]) {
        for operands in ["%w1, [%q9], %w2", "_, [%q9], %w2", "%q1, [%q9], %w2"] {
            add(&format!("atom{name}.b128"), operands);
        }
        // Behind an exchanged value, the assembler takes a fourth operand that says nothing.
        if !name.ends_with(".exch") {
            add(&format!("atom{name}.b128"), "%w1, [%q9], %w2, %w3");
        }
        add(&format!("red{name}.b128"), "[%q9], %w2");
    }
    add("atom.global.exch.L2::cache_hint.b128", "%w1, [%q9], %w2, %q5");
    add("atom.global.exch.L2::cache_hint.b128", "%w1, [%q9], %w2, %r5");
    add("atom.global.cas.L2::cache_hint.b128", "%w1, [%q9], %w2, %w3, %q5");
    for name in ["and.b128", "xor.b128", "selp.b128", "setp.eq.b128", "shfl.sync.idx.b128", "prmt.b128"] {
        add(name, "%w1, %w2, %w3");
    }
}
