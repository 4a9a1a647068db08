use std::collections::BTreeSet;
use std::path::Path;

use super::arrows::{self, Arrow, Target};
use super::source::Source;
use super::table::{Layers, Row};
use super::{crates, cycles, cycles_of, not_allowed, picture};

/// A crate of these modules: `(path, text)`, the root's path empty.
fn crate_of(modules: &[(&str, &str)]) -> Source {
    let mut source = Source::default();
    for (path, text) in modules {
        let path: Vec<String> = path.split("::").filter(|name| !name.is_empty()).map(str::to_owned).collect();
        let file = format!("{}.rs", if path.is_empty() { "lib".to_owned() } else { path.join("/") });
        source.add(path, Path::new(&file), text).unwrap();
    }
    source
}

/// Its arrows as `from → to line`.
fn arrows_of(modules: &[(&str, &str)]) -> Vec<String> {
    arrows::of(&crate_of(modules)).iter().map(shown).collect()
}

fn shown(arrow: &Arrow) -> String {
    let to = match &arrow.to {
        Target::Module(path) => path.join("::"),
        Target::Crate(name) => format!("crate {name}"),
    };
    format!("{} → {to} {}", arrow.from.join("::"), arrow.line)
}

const ROOT: (&str, &str) = ("", "mod a; mod b; mod c;");

#[test]
fn a_use_is_an_arrow_to_the_module_that_it_names() {
    let text = "use crate::b::{Thing, deep::{Other as Renamed, self}};\nuse super::c::*;\nuse std::fmt;";
    let arrows = arrows_of(&[ROOT, ("a", text), ("b", "pub mod deep;"), ("b::deep", ""), ("c", "")]);
    assert_eq!(arrows, ["a → b 1", "a → b::deep 1", "a → b::deep 1", "a → c 2"]);
}

#[test]
fn a_path_in_code_is_an_arrow() {
    let text = "struct S(crate::b::T);\nfn f() {\n    super::c::g::<super::b::T>();\n}\nimpl crate::c::Trait for S {}";
    let arrows = arrows_of(&[ROOT, ("a", text), ("b", ""), ("c", "")]);
    assert_eq!(arrows, ["a → b 1", "a → b 3", "a → c 3", "a → c 5"]);
}

#[test]
fn a_name_that_was_imported_is_counted_at_its_import_only() {
    let text = "use crate::b;\nfn f() { b::g(); b::h(); }";
    assert_eq!(arrows_of(&[ROOT, ("a", text), ("b", ""), ("c", "")]), ["a → b 1"]);
}

#[test]
fn a_path_through_an_imported_parent_leads_to_the_sibling() {
    let modules = [
        ("", "mod api;"),
        ("api", "mod launch; mod stream;"),
        ("api::launch", "use crate::api;\nfn f() { api::stream::g(); }"),
        ("api::stream", ""),
    ];
    assert_eq!(arrows_of(&modules), ["api::launch → api::stream 2"]);
}

#[test]
fn paths_in_macros_are_arrows() {
    let text = "macro_rules! m { () => { $crate::b::f(); } }\nfn f() { println!(\"{}\", super::c::NUMBER); }";
    assert_eq!(arrows_of(&[ROOT, ("a", text), ("b", ""), ("c", "")]), ["a → b 1", "a → c 2"]);
}

#[test]
fn a_module_in_a_macro_has_the_macros_module_as_its_parent() {
    let text = "m! {\n mod inner {\n use super::{b, f};\n use super::super::c::g;\n }\n }";
    assert_eq!(arrows_of(&[ROOT, ("a", text), ("b", ""), ("c", "")]), ["a → c 4"]);
}

#[test]
fn tests_visibility_and_attributes_are_no_arrows() {
    let text = "#[cfg(test)] mod tests { use crate::b::T; }
        #[cfg(test)] use crate::b::U;
        #[cfg(all(test, unix))] fn f() { crate::b::g(); }
        struct S;
        impl S { #[cfg(test)] fn g() { crate::b::g(); } pub(in crate::b) fn h() {} }";
    assert!(arrows_of(&[ROOT, ("a", text), ("b", ""), ("c", "")]).is_empty());
}

#[test]
fn code_for_anything_but_tests_is_read() {
    let text = "#[cfg(not(test))] use crate::b::T;\n#[cfg(any(test, unix))] use crate::c::T as U;";
    assert_eq!(arrows_of(&[ROOT, ("a", text), ("b", ""), ("c", "")]), ["a → b 1", "a → c 2"]);
}

#[test]
fn a_reexport_of_a_module_around_leads_to_the_sibling_that_declares_it() {
    let modules = [
        ("", "mod check; mod memory; pub use check::Known;"),
        ("check", "mod known; mod report; pub use known::*; use crate::memory::Range; struct Own;"),
        ("check::known", "pub struct Known;"),
        ("check::report", "use super::{Known, Own};\nuse crate::Known as Same;\nuse super::Range;"),
        ("memory", "pub struct Range;\nuse crate::check::Known;"),
    ];
    assert_eq!(
        arrows_of(&modules),
        [
            "check → memory 1",
            "check::report → check::known 1",
            "check::report → check::known 2",
            "check::report → memory 3",
            "memory → check 2",
        ]
    );
}

#[test]
fn crates_of_the_workspace_are_targets_under_any_name() {
    let modules = [
        ("", "mod a; pub use warploom_topology as topology;"),
        (
            "a",
            "use warploom_engine::Op;\nuse crate::topology::Topology;\nuse ::warploom_sys::types::*;\nuse libc::c_int;",
        ),
    ];
    assert_eq!(
        arrows_of(&modules),
        [" → crate topology 1", "a → crate engine 1", "a → crate sys 3", "a → crate topology 2"]
    );
}

#[test]
fn inline_modules_are_modules() {
    let modules = [("", "mod a { use super::b::T; } mod b { pub struct T; }")];
    assert_eq!(arrows_of(&modules), ["a → b 1"]);
}

#[test]
fn a_cycle_is_found_in_the_folder_of_its_modules() {
    let source = crate_of(&[
        ("", "mod x;"),
        ("x", "mod a; mod b; mod c; mod d; pub use a::A; struct Own; use d::D;"),
        ("x::a", "mod deep;"),
        ("x::a::deep", "use crate::x::b::B;\nuse crate::x::Own;"),
        ("x::b", "use super::c::C;"),
        ("x::c", "use super::A;"),
        ("x::d", "use super::a::A;\nuse super::Own;"),
    ]);
    let arrows = arrows::of(&source);
    let folders = cycles::folders(&arrows);
    let siblings = &folders[&vec!["x".to_owned()]];
    let knots = siblings.knots();
    assert_eq!(knots, [BTreeSet::from(["a", "b", "c"].map(str::to_owned))]);
    assert_eq!(siblings.shortest(&knots[0]), [("a", "b"), ("b", "c"), ("c", "a")]);
    assert!(siblings.pairs(&knots[0]).is_empty());
    let (_, problems) = cycles_of("sim", &arrows, false);
    assert_eq!(
        problems,
        ["sim::x: 3 modules form a cycle: a, b, c\n    a → b: x/a/deep.rs:1 (crate::x::b::B)\n    b → c: x/b.rs:1 \
          (super::c::C)\n    c → a: x/c.rs:1 (super::A)"]
    );
}

#[test]
fn pairs_list_every_line_with_the_rarer_direction_first() {
    let source = crate_of(&[
        ("", "mod a; mod b;"),
        ("a", "use crate::b::{T, U};\nfn f() { crate::b::g(); }"),
        ("b", "use crate::a::f;"),
    ]);
    let (report, problems) = cycles_of("sim", &arrows::of(&source), true);
    assert_eq!(problems.len(), 1);
    assert_eq!(
        report,
        "sim: 2 modules form a cycle, 1 pairs use each other\n\nsim: b → a 1, a → b 3\n    b → a: b.rs:1 (crate::a::f)\n    \
         a → b: a.rs:1 (crate::b::T, crate::b::U)\n    a → b: a.rs:2 (crate::b::g)\n\n"
    );
}

const LAYERS: Layers = Layers {
    of: "sim",
    rows: &[
        Row { name: "a", may_use: &["b", "sys"], job: "" },
        Row { name: "b", may_use: &["c"], job: "" },
        Row { name: "c", may_use: &[], job: "" },
    ],
};

#[test]
fn arrows_that_the_table_does_not_have_are_problems() {
    let source = crate_of(&[
        ("", "mod a; mod b; mod c; mod new;"),
        ("a", "use crate::b::T;\nuse warploom_sys::X;"),
        ("b", "use crate::c::T;\nuse crate::a::{U, V};\nuse warploom_sys::X;"),
        ("c", ""),
        ("new", "use crate::a::U;"),
    ]);
    assert_eq!(
        not_allowed(&LAYERS, &source, &arrows::of(&source)),
        [
            "sim: module `new` is no layer of the table",
            "sim: b → a: b.rs:2 (crate::a::U, crate::a::V)",
            "sim: b → sys: b.rs:3 (warploom_sys::X)",
        ]
    );
}

#[test]
fn the_picture_leaves_out_arrows_that_others_imply() {
    let source = crate_of(&[
        ROOT,
        ("a", "use crate::b::T; use crate::c::T as U; use warploom_sys::X;"),
        ("b", "use crate::c::T;"),
        ("c", ""),
    ]);
    assert_eq!(
        picture::picture(&LAYERS, &arrows::of(&source)),
        "```mermaid\nflowchart TD\n    a --> b & sys\n    b --> c\n```\n"
    );
}

#[test]
fn dependencies_of_tests_are_free() {
    let metadata = serde_json::json!({ "packages": [
        { "manifest_path": "/x/crates/ptx/Cargo.toml", "dependencies": [
            { "name": "warploom-sys", "path": "/x/crates/sys", "kind": "dev" },
            { "name": "serde", "kind": null },
        ] },
        { "manifest_path": "/x/crates/warploom/Cargo.toml", "dependencies": [
            { "name": "warploom-sim", "path": "/x/crates/sim", "kind": null },
            { "name": "warploom-driver", "path": "/x/crates/driver", "kind": null },
        ] },
        { "manifest_path": "/x/crates/other/Cargo.toml", "dependencies": [] },
    ] });
    assert_eq!(
        crates::problems(&crates::of_metadata(&metadata)),
        ["crate `other` is not in the table", "crates/warploom/Cargo.toml: warploom → sim"]
    );
}
