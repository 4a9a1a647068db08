//! Candidates of instructions for memory, barriers and caches: every order with every scope, space and hint.

use super::combined;

const SCOPES: &[&str] = &["", ".cta", ".cluster", ".gpu", ".sys"];
const SHARED: &[&str] = &["", ".global", ".shared", ".shared::cta", ".shared::cluster"];

/// Adds all of them.
pub(crate) fn add_all(mut add: impl FnMut(&str, &str)) {
    accesses(&mut add);
    atomics(&mut add);
    barriers(&mut add);
    memory_barriers(&mut add);
    copies(&mut add);
    hints(&mut add);
}

/// The operands with a policy behind them where the name has a hint for one.
fn hinted(name: &str, operands: &str) -> String {
    if name.contains("cache_hint") { format!("{operands}, %q5") } else { operands.to_owned() }
}

fn accesses(add: &mut impl FnMut(&str, &str)) {
    let spaces: &[&str] = &["", ".global", ".shared", ".shared::cta", ".shared::cluster", ".local", ".const", ".param"];
    let orders: &[&str] = &["", ".weak", ".volatile", ".relaxed", ".acquire", ".release", ".mmio.relaxed"];
    let caches: &[&str] = &[
        "",
        ".ca",
        ".cg",
        ".cs",
        ".lu",
        ".cv",
        ".wb",
        ".wt",
        ".nc",
        ".L1::evict_last",
        ".L2::128B",
        ".L2::cache_hint",
    ];
    for name in combined(&[orders, SCOPES, spaces, caches]) {
        for (scalar, register) in [("u32", "%r1"), ("b16", "%h1")] {
            add(&format!("ld{name}.{scalar}"), &hinted(&name, &format!("{register}, [%q9]")));
            if !name.contains(".const") && !name.contains(".param") {
                add(&format!("st{name}.{scalar}"), &hinted(&name, &format!("[%q9], {register}")));
            }
        }
    }
}

fn atomics(add: &mut impl FnMut(&str, &str)) {
    let orders: &[&str] = &["", ".relaxed", ".acquire", ".release", ".acq_rel"];
    for name in combined(&[orders, SCOPES, SHARED, &[".add", ".exch"], &[".u32", ".b64"]]) {
        let file = if name.ends_with("b64") { 'q' } else { 'r' };
        add(&format!("atom{name}"), &format!("%{file}1, [%q9], %{file}2"));
        add(&format!("red{name}"), &format!("[%q9], %{file}2"));
    }
    let types: &[&str] = &[".f32", ".f16", ".f16x2", ".bf16", ".bf16x2", ".f64", ".u32"];
    for name in combined(&[
        &[".global", ".shared", ""],
        &[".add", ".min", ".exch"],
        &["", ".noftz"],
        &["", ".L2::cache_hint"],
        &[".v2", ".v4", ".v8"],
        types,
    ]) {
        let count = if name.contains(".v2") {
            2
        } else if name.contains(".v4") {
            4
        } else {
            8
        };
        let file = if name.ends_with("f16") {
            'h'
        } else if name.ends_with("64") {
            'q'
        } else {
            'r'
        };
        let values: Vec<String> = (0..count).map(|number| format!("%{file}{number}")).collect();
        let values = format!("{{{}}}", values.join(", "));
        add(&format!("atom{name}"), &hinted(&name, &format!("{values}, [%q9], {values}")));
        add(&format!("red{name}"), &hinted(&name, &format!("[%q9], {values}")));
    }
}

fn barriers(add: &mut impl FnMut(&str, &str)) {
    let kinds: &[&str] = &[".sync", ".arrive", ".red.popc", ".red.and", ".red.or", ".warp.sync"];
    for name in combined(&[&["bar", "barrier"], &["", ".cta"], kinds, &["", ".aligned"], &["", ".u32", ".pred"]]) {
        for operands in [
            "0",
            "16",
            "%r1",
            "0, 32",
            "%r1, %r2",
            "%r3, 0, %p1",
            "%r3, 0, 32, %p1",
            "%p3, 0, %p1",
            "%p3, 0, 32, !%p1",
            "0xffffffff",
        ] {
            add(&name, operands);
        }
    }
    let orders: &[&str] = &["", ".release", ".relaxed", ".acquire"];
    for name in combined(&[&["barrier.cluster"], &[".arrive", ".wait"], orders, &["", ".aligned"]]) {
        add(&name, "");
    }
    for operands in ["%r1|%p1, -1", "_|%p1, -1", "%p1, -1", "%r1, -1"] {
        add("elect.sync", operands);
        add("elect", operands);
    }
    for name in combined(&[&["match.any.sync", "match.all.sync"], &[".b32", ".u32"]]) {
        add(&name, "%r1, %r2, -1");
        add(&name, "%r1|%p1, %r2, -1");
    }
    for name in combined(&[&["shfl", "shfl.sync"], &[".up", ".idx"], &[".b32", ".u32"]]) {
        add(&name, "%r1, %r2, %r3, %r4");
        add(&name, "%r1|%p1, %r2, 1, 31, -1");
    }
    for name in combined(&[&["vote", "vote.sync"], &[".any.pred", ".ballot.b32"]]) {
        for operands in ["%p1, %p2", "%p1, !%p2, -1", "%r1, %p2", "%r1, %p2, %r3"] {
            add(&name, operands);
        }
    }
    let orders: &[&str] = &[
        "",
        ".sc",
        ".acq_rel",
        ".acquire",
        ".release",
        ".proxy.alias",
        ".proxy.async",
        ".proxy.async.global",
        ".proxy.async.shared::cta",
        ".proxy.tensormap::generic.acquire",
        ".proxy.tensormap::generic.release",
        ".mbarrier_init.release",
        ".acquire.sync_restrict::shared::cluster",
        ".release.sync_restrict::shared::cta",
    ];
    for name in combined(&[&["fence", "membar"], orders, SCOPES]) {
        add(&name, "");
        add(&name, "[%q9], 128");
    }
}

fn memory_barriers(add: &mut impl FnMut(&str, &str)) {
    let operations: &[&str] = &[
        ".init",
        ".inval",
        ".expect_tx",
        ".complete_tx",
        ".arrive",
        ".arrive_drop",
        ".arrive.expect_tx",
        ".arrive_drop.expect_tx",
        ".test_wait",
        ".test_wait.parity",
        ".try_wait",
        ".try_wait.parity",
        ".pending_count",
    ];
    let orders: &[&str] = &["", ".release", ".relaxed", ".acquire"];
    let spaces: &[&str] = &["", ".shared", ".shared::cta", ".shared::cluster"];
    for name in combined(&[&["mbarrier"], operations, &["", ".noComplete"], orders, &["", ".cta", ".cluster"], spaces])
    {
        for operands in [
            "[%q9]",
            "[%q9], %r1",
            "%q1, [%q9]",
            "%q1, [%q9], %r1",
            "_, [%q9]",
            "_, [%q9], %r1",
            "%p1, [%q9], %q1",
            "%p1, [%q9], %r1",
            "%p1, [%q9], %q1, %r1",
            "%p1, [%q9], %r1, %r2",
            "%r1, %q1",
        ] {
            // The assembler stops at these, and would say nothing of the others.
            if name.contains("_wait") && operands.starts_with('_') {
                continue;
            }
            add(&format!("{name}.b64"), operands);
        }
    }
}

fn copies(add: &mut impl FnMut(&str, &str)) {
    let hints: &[&str] = &["", ".L2::128B", ".L2::cache_hint"];
    let spaces: &[&str] = &[".shared", ".shared::cta", ""];
    for name in combined(&[&["cp.async"], &[".ca", ".cg", ""], spaces, &[".global", ""], hints]) {
        for operands in [
            "[%q1], [%q9], 4",
            "[%q1], [%q9], 16",
            "[%q1], [%q9], 16, %r1",
            "[%q1], [%q9], 16, %p1",
            "[%q1], [%q9], 5",
            "[%q1], [%q9], 16, %q5",
            "[%q1], [%q9], 16, %r1, %q5",
            "[%q1], [%q9], 16, %p1, %q5",
            "[%r1], [%q9], 8",
        ] {
            add(&name, operands);
        }
    }
}

fn hints(add: &mut impl FnMut(&str, &str)) {
    let levels: &[&str] = &["", ".L1", ".L2", ".L2::evict_last", ".L2::evict_normal", ".tensormap"];
    for name in combined(&[&["prefetch", "prefetchu"], &["", ".global", ".local", ".param", ".const"], levels]) {
        add(&name, "[%q9]");
    }
    for name in combined(&[&["applypriority", "discard"], &["", ".global", ".local"], levels]) {
        add(&name, "[%q9], 128");
    }
    let priorities: &[&str] =
        &["", ".L2::evict_last", ".L2::evict_first", ".L2::evict_normal", ".L2::evict_unchanged", ".L2"];
    for name in
        combined(&[&[".fractional", ".range", ".range.global", ".cvt"], priorities, &["", ".L2::evict_unchanged"]])
    {
        for operands in ["%q1", "%q1, 0.5", "%q1, [%q9], %r1, %r2", "%q1, %q2"] {
            add(&format!("createpolicy{name}.b64"), operands);
        }
    }
}
