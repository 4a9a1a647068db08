//! `cargo xtask layers`: the arrows between crates, layers and modules, held to the table in `table.rs`.
//!
//! An arrow is a path in the source: a `use`, a path in code, a path in a macro's tokens. Fields and methods
//! of a value carry no path and make no arrow; the import of the value's type does. Tests are left out.
//!
//! - `cargo xtask layers` prints tables and fails on an arrow that is not allowed, or on modules of a folder
//!   that form a cycle;
//! - `cargo xtask layers --crate NAME` looks at one crate; with `--list` it prints each pair of modules that
//!   use each other, with every line that does;
//! - `cargo xtask layers --write` puts the pictures into `docs/architecture.md`, between its markers.

mod arrows;
mod crates;
mod cycles;
mod picture;
mod source;
mod table;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use arrows::{Arrow, Target};
use cycles::Siblings;
use source::Source;
use table::{LAYERS, Layers, WITHOUT_CYCLES};

use crate::workspace::root;

/// Runs the command with its arguments.
pub(crate) fn run(arguments: &[&str]) -> Result<String, String> {
    let root = root()?;
    match arguments {
        [] => check(root, None, false),
        ["--crate", name] => check(root, Some(name), false),
        ["--crate", name, "--list"] | ["--list", "--crate", name] => check(root, Some(name), true),
        ["--list"] => check(root, None, true),
        ["--write"] => picture::write(root),
        _ => Err("layers takes --crate NAME, --list or --write".to_owned()),
    }
}

/// The modules of one crate of the workspace.
fn read(root: &Path, name: &str) -> Result<Source, String> {
    let folder = if name == "xtask" { Path::new("xtask").to_owned() } else { Path::new("crates").join(name) };
    Source::read(root, &folder)
}

fn check(root: &Path, only: Option<&str>, list: bool) -> Result<String, String> {
    let mut problems = Vec::new();
    if only.is_none() {
        let dependencies = crates::dependencies(root)?;
        println!("{}", crates::table(&dependencies));
        problems.extend(crates::problems(&dependencies));
        problems.extend(picture::stale(root)?);
    }
    let names = only.map_or_else(|| WITHOUT_CYCLES.to_vec(), |name| vec![name]);
    for name in names.into_iter().filter(|name| only.is_some() || root.join("crates").join(name).is_dir()) {
        let source = read(root, name)?;
        let arrows = arrows::of(&source);
        if let Some(layers) = LAYERS.iter().find(|layers| layers.of == name) {
            println!("{}", picture::table(layers, &arrows));
            problems.extend(not_allowed(layers, &source, &arrows));
        }
        let (report, knots) = cycles_of(name, &arrows, list);
        print!("{report}");
        problems.extend(knots);
    }
    if problems.is_empty() {
        return Ok("layers: every arrow is allowed, no modules form a cycle".to_owned());
    }
    let count = problems.len();
    Err(format!("layers: {count} {}\n{}", if count == 1 { "problem" } else { "problems" }, problems.join("\n")))
}

/// Arrows that a crate's table does not have, and modules without a row in it.
fn not_allowed(layers: &Layers, source: &Source, arrows: &[Arrow]) -> Vec<String> {
    let row = |name: &str| layers.rows.iter().find(|row| row.name == name);
    let mut problems: Vec<String> = source
        .modules
        .keys()
        .filter_map(|path| if let [name] = path.as_slice() { Some(name) } else { None })
        .filter(|name| row(name).is_none())
        .map(|name| format!("{}: module `{name}` is no layer of the table", layers.of))
        .collect();
    let wrong = arrows.iter().filter(|arrow| match (arrow.from.first(), arrow.end()) {
        (Some(from), Some(to)) => from != to && row(from).is_some_and(|row| !row.may_use.contains(&to)),
        _ => false,
    });
    let arrow =
        |arrow: &Arrow| format!("{} → {}", arrow.from.first().map_or("", |name| name), arrow.end().unwrap_or(""));
    problems
        .extend(places(wrong).into_iter().map(|(place, first)| format!("{}: {}: {place}", layers.of, arrow(first))));
    problems
}

/// `file:line (path, path)` for each line with arrows, and the first of them.
fn places<'a>(arrows: impl Iterator<Item = &'a Arrow>) -> Vec<(String, &'a Arrow)> {
    let mut lines: BTreeMap<(&Path, usize, Option<&str>), Vec<&Arrow>> = BTreeMap::new();
    for arrow in arrows {
        lines.entry((&arrow.file, arrow.line, arrow.end())).or_default().push(arrow);
    }
    lines
        .into_iter()
        .map(|((file, line, _), arrows)| {
            let paths = arrows.iter().map(|arrow| arrow.text.as_str()).collect::<Vec<_>>().join(", ");
            (format!("{}:{line} ({paths})", file.display()), arrows[0])
        })
        .collect()
}

impl Arrow {
    /// The layer or crate to which it leads.
    fn end(&self) -> Option<&str> {
        match &self.to {
            Target::Module(path) => path.first().map(String::as_str),
            Target::Crate(name) => Some(name),
        }
    }
}

/// A report on the cycles of a crate, and one line per cycle.
fn cycles_of(name: &str, arrows: &[Arrow], list: bool) -> (String, Vec<String>) {
    let mut report = String::new();
    let mut problems = Vec::new();
    for (folder, siblings) in &cycles::folders(arrows) {
        let folder: String = [name].into_iter().chain(folder.iter().map(String::as_str)).collect::<Vec<_>>().join("::");
        for knot in &siblings.knots() {
            let members = knot.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
            let mut problem = format!("{folder}: {} modules form a cycle: {members}", knot.len());
            for (from, to) in siblings.shortest(knot) {
                let witnesses = &siblings.edges[&(from.to_owned(), to.to_owned())];
                let (place, _) = &places(witnesses.iter().copied())[0];
                let _ = write!(problem, "\n    {from} → {to}: {place}");
            }
            problems.push(problem);
            if list {
                report.push_str(&pairs_of(&folder, siblings, knot));
            }
        }
    }
    (report, problems)
}

/// The modules of a knot that use each other, with every line that does.
fn pairs_of(folder: &str, siblings: &Siblings<'_>, knot: &BTreeSet<String>) -> String {
    let pairs = siblings.pairs(knot);
    let mut report = format!("{folder}: {} modules form a cycle, {} pairs use each other\n", knot.len(), pairs.len());
    for pair in &pairs {
        let [(from, to, there), (_, _, back)] = pair;
        let _ = writeln!(report, "\n{folder}: {from} → {to} {}, {to} → {from} {}", there.len(), back.len());
        for (from, to, arrows) in pair {
            for (place, _) in places(arrows.iter().copied()) {
                let _ = writeln!(report, "    {from} → {to}: {place}");
            }
        }
    }
    report.push('\n');
    report
}
