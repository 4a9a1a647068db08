//! Candidates of whole capabilities that are not simulated, and of instructions that came with PTX 8.8 to 9.4.

use super::combined;

/// Adds all of them.
pub(crate) fn add_all(mut add: impl FnMut(&str, &str)) {
    newer(&mut add);
    textures(&mut add);
    tensors(&mut add);
    products(&mut add);
    across_devices(&mut add);
}

fn newer(add: &mut impl FnMut(&str, &str)) {
    let restricted: &[&str] = &[
        "",
        ".sync_restrict::shared::cluster",
        ".sync_restrict::shared::cta",
        ".sync_restrict::shared::cluster::read",
    ];
    let proxies = ["fence.proxy.async::generic.acquire", "fence.proxy.async::generic.release"];
    for name in combined(&[&proxies, restricted, &["", ".cta", ".cluster", ".gpu"]]) {
        add(&name, "");
    }
    for name in ["fence.proxy.alias", "fence.proxy.alias.acquire.sys", "fence.proxy.alias.release.sys"] {
        add(name, "");
    }
    let spaces: &[&str] = &["", ".shared", ".shared::cta"];
    for name in combined(&[&["init", "check_layout"], &[".layout::v0", ".layout::v1"], spaces]) {
        add(&format!("mbarrier.{name}.b64"), "[%q9], %r1");
        add(&format!("mbarrier.{name}.b64"), "%p1, [%q9]");
    }
    let waits = ["test_wait", "try_wait", "test_wait.parity", "try_wait.parity"];
    let orders: &[&str] = &["", ".acquire.cta", ".relaxed.cluster"];
    for name in combined(&[&waits, &[".phase_type::primary", ".phase_type::conditional"], orders, spaces]) {
        for operands in ["%p1, [%q9], %q1", "%p1, [%q9], %r1", "%p1|%p2, [%q9], %r1", "%p1, [%q9], %r1, %r2"] {
            add(&format!("mbarrier.{name}.b64"), operands);
        }
    }
    for name in combined(&[&["prefetch"], &["", ".global", ".local"], &[".L1::32B", ".L2::32B"], &["", ".valid_addr"]])
    {
        add(&name, "[%q9]");
    }
    for space in [".shared::cta", ".shared::cluster"] {
        let name = format!("cp.async.bulk{space}.global.mbarrier::complete_tx::bytes.ignore_oob");
        add(&name, "[%q1], [%q9], 16, %r1, %r2, [%q2]");
    }
    let narrow = ["e4m3x2", "e5m2x2"];
    for to in narrow {
        for relu in ["", ".relu"] {
            add(&format!("cvt.rn.satfinite{relu}.{to}.f32"), "%h1, %r2, %r3");
            add(&format!("cvt.rn.satfinite{relu}.{to}.f16x2"), "%h1, %r2");
            add(&format!("cvt.rn{relu}.f16x2.{to}"), "%r1, %h2");
        }
    }
    for name in
        combined(&[&["isspacep"], &[".shared", ".shared::cta", ".shared::cluster", ".global", ".local", ".const"]])
    {
        add(&name, "%p1, %q1");
    }
    for name in combined(&[&["mapa"], &["", ".shared::cluster"]]) {
        add(&format!("{name}.u64"), "%q1, %q2, %r1");
        add(&format!("{name}.u32"), "%r1, %r2, %r3");
    }
    for name in combined(&[&["getctarank"], &["", ".shared::cluster"]]) {
        add(&format!("{name}.u64"), "%r1, %q2");
        add(&format!("{name}.u32"), "%r1, %r2");
    }
    for name in ["griddepcontrol.wait", "griddepcontrol.launch_dependents", "griddepcontrol"] {
        add(name, "");
    }
    for name in ["setmaxnreg.inc.sync.aligned.u32", "setmaxnreg.dec.sync.aligned.u32"] {
        add(name, "64");
    }
}

fn textures(add: &mut impl FnMut(&str, &str)) {
    let four = "{%r1, %r2, %r3, %r4}";
    for (shape, place) in
        [("1d", "{%r5}"), ("2d", "{%r5, %r6}"), ("3d", "{%r4, %r5, %r6, %r7}"), ("a2d", "{%r4, %r5, %r6, %r7}")]
    {
        for (scalar, from) in [("f32", "f32"), ("s32", "s32"), ("u32", "f32")] {
            add(&format!("tex.{shape}.v4.{scalar}.{from}"), &format!("{four}, [%q9, {place}]"));
        }
    }
    add("tld4.r.2d.v4.f32.f32", &format!("{four}, [%q9, {{%r5, %r6}}]"));
    for query in ["width", "height", "depth", "channel_data_type", "normalized_coords"] {
        add(&format!("txq.{query}.b32"), "%r1, [%q9]");
        add(&format!("suq.{query}.b32"), "%r1, [%q9]");
    }
    for edge in ["trap", "clamp", "zero"] {
        add(&format!("suld.b.2d.b32.{edge}"), "%r1, [%q9, {%r2, %r3}]");
        add(&format!("sust.b.2d.b32.{edge}"), "[%q9, {%r2, %r3}], %r1");
        add(&format!("sust.p.2d.b32.{edge}"), "[%q9, {%r2, %r3}], %r1");
        add(&format!("sured.b.add.2d.u32.{edge}"), "[%q9, {%r2, %r3}], %r1");
    }
    for kind in ["texref", "samplerref", "surfref"] {
        add(&format!("istypep.{kind}"), "%p1, %q9");
    }
}

fn tensors(add: &mut impl FnMut(&str, &str)) {
    let counted = "mbarrier::complete_tx::bytes";
    for (shape, place) in [("1d", "{%r1}"), ("2d", "{%r1, %r2}"), ("3d", "{%r1, %r2, %r3}")] {
        for into in ["shared::cluster", "shared::cta"] {
            add(
                &format!("cp.async.bulk.tensor.{shape}.{into}.global.tile.{counted}"),
                &format!("[%q1], [%q9, {place}], [%q2]"),
            );
        }
        add(
            &format!("cp.async.bulk.tensor.{shape}.global.shared::cta.tile.bulk_group"),
            &format!("[%q9, {place}], [%q1]"),
        );
        add(
            &format!("cp.reduce.async.bulk.tensor.{shape}.global.shared::cta.add.tile.bulk_group"),
            &format!("[%q9, {place}], [%q1]"),
        );
        add(&format!("cp.async.bulk.prefetch.tensor.{shape}.L2.global.tile"), &format!("[%q9, {place}]"));
    }
}

fn products(add: &mut impl FnMut(&str, &str)) {
    for name in ["wgmma.fence.sync.aligned", "wgmma.commit_group.sync.aligned"] {
        add(name, "");
    }
    add("wgmma.wait_group.sync.aligned", "0");
    add("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16", "{%r0, %r1, %r2, %r3}, %q1, %q2, %p1, 1, 1, 0, 0");
    add("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32", "[%q1], 32");
    add("clusterlaunchcontrol.query_cancel.is_canceled.pred.b128", "%p1, %w1");
    add("st.bulk.weak.shared::cta", "[%q1], %q2, 0");
}

fn across_devices(add: &mut impl FnMut(&str, &str)) {
    for (scalar, register) in [("u32", "%r1"), ("s32", "%r1"), ("u64", "%q1"), ("f32", "%r1")] {
        for order in ["", ".relaxed.gpu", ".acquire.sys", ".weak"] {
            for change in ["add", "min"] {
                add(&format!("multimem.ld_reduce{order}.global.{change}.{scalar}"), &format!("{register}, [%q9]"));
            }
        }
        for order in ["", ".relaxed.gpu", ".release.sys", ".weak"] {
            add(&format!("multimem.st{order}.global.{scalar}"), &format!("[%q9], {register}"));
            add(&format!("multimem.red{order}.global.add.{scalar}"), &format!("[%q9], {register}"));
        }
    }
    add("multimem.cp.async.bulk.global.shared::cta.bulk_group", "[%q1], [%q9], 16");
    add("multimem.cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32", "[%q1], [%q9], 16");
}
