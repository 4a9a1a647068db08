//! The arrows as tables for a terminal and as pictures for `docs/architecture.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use super::arrows::{self, Arrow};
use super::table::{LAYERS, Layers};
use crate::workspace::at;

/// The page with the pictures.
const PAGE: &str = "docs/architecture.md";

/// A table of counts: one row per layer, one column per layer or crate that it uses. With the layers in order
/// no number stands left of its row's own column.
pub(crate) fn table(layers: &Layers, arrows: &[Arrow]) -> String {
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for arrow in arrows {
        if let (Some(from), Some(to)) = (arrow.from.first(), arrow.end())
            && from != to
        {
            *counts.entry((from, to)).or_default() += 1;
        }
    }
    let rows = names(layers, counts.keys().map(|(from, _)| *from));
    let columns = names(layers, counts.keys().flat_map(|(from, to)| [*from, *to]));
    let width = |name: &str| name.chars().count().max(4);
    let first = rows.iter().map(|name| width(name)).max().unwrap_or(4);
    let mut out = format!("{}: uses of a layer or crate (column) in a layer (row)\n{:first$}", layers.of, "");
    for name in &columns {
        let _ = write!(out, "  {name:>0$}", width(name));
    }
    for row in &rows {
        let _ = write!(out, "\n{row:<first$}");
        for column in &columns {
            let cell = match counts.get(&(*row, *column)) {
                Some(count) => count.to_string(),
                None if row == column => "·".to_owned(),
                None => String::new(),
            };
            let _ = write!(out, "  {cell:>0$}", width(column));
        }
    }
    out.push('\n');
    out.lines().map(str::trim_end).fold(String::new(), |out, line| out + line + "\n")
}

/// Names in the order of the table, those without a row after them.
fn names<'a>(layers: &Layers, used: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let used: BTreeSet<&str> = used.collect();
    let mut names: Vec<&str> = used.into_iter().collect();
    let place = |name: &str| layers.rows.iter().position(|row| row.name == name).unwrap_or(usize::MAX);
    names.sort_by_key(|name| place(name));
    names
}

/// The arrows between layers as a Mermaid flow chart, which forges draw and which reads as a list. Arrows
/// that a chain of others implies are left out.
pub(crate) fn picture(layers: &Layers, arrows: &[Arrow]) -> String {
    let edges: BTreeSet<(&str, &str)> = arrows
        .iter()
        .filter_map(|arrow| Some((arrow.from.first()?.as_str(), arrow.end()?)))
        .filter(|(from, to)| from != to)
        .collect();
    let mut out = "```mermaid\nflowchart TD\n".to_owned();
    for name in names(layers, edges.iter().map(|(from, _)| *from)) {
        let targets = edges.iter().filter(|(from, to)| *from == name && !implied(&edges, from, to));
        let targets: Vec<&str> = names(layers, targets.map(|(_, to)| *to));
        if !targets.is_empty() {
            let _ = writeln!(out, "    {name} --> {}", targets.join(" & "));
        }
    }
    out.push_str("```\n");
    out
}

/// Does a longer way lead from one to the other?
fn implied(edges: &BTreeSet<(&str, &str)>, from: &str, to: &str) -> bool {
    let mut seen = BTreeSet::new();
    let mut open: Vec<&str> =
        edges.iter().filter(|(start, end)| *start == from && *end != to).map(|(_, end)| *end).collect();
    while let Some(node) = open.pop() {
        if node == to {
            return true;
        }
        if node != from && seen.insert(node) {
            open.extend(edges.iter().filter(|(start, _)| *start == node).map(|(_, end)| *end));
        }
    }
    false
}

/// Writes the pictures into the page.
pub(crate) fn write(root: &Path) -> Result<String, String> {
    let path = root.join(PAGE);
    let text = fs::read_to_string(&path).map_err(at(&path))?;
    let new = with_pictures(root, &text)?;
    if new == text {
        return Ok(format!("{PAGE} is as it would be written"));
    }
    fs::write(&path, new).map_err(at(&path))?;
    Ok(format!("{PAGE} written"))
}

/// Says so if a picture of the page is not the one that would be written.
pub(crate) fn stale(root: &Path) -> Result<Option<String>, String> {
    let path = root.join(PAGE);
    let text = fs::read_to_string(&path).map_err(at(&path))?;
    Ok((with_pictures(root, &text)? != text).then(|| format!("{PAGE}: not as `cargo xtask layers --write` writes it")))
}

/// The page with its pictures renewed: the text between `<!-- layers of NAME -->` and `<!-- end -->`.
fn with_pictures(root: &Path, page: &str) -> Result<String, String> {
    let mut page = page.to_owned();
    for layers in LAYERS {
        let opening = format!("<!-- layers of {} -->\n", layers.of);
        let Some(start) = page.find(&opening).map(|start| start + opening.len()) else { continue };
        let length = page[start..].find("<!-- end -->").ok_or_else(|| format!("{PAGE}: {opening} has no end"))?;
        page.replace_range(start..start + length, &picture(layers, &arrows::of(&super::read(root, layers.of)?)));
    }
    Ok(page)
}
