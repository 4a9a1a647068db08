//! `cargo xtask api`: the public items of the published libraries, one line each, in files that are kept.
//!
//! A removed or renamed item is a change for users. With `--check`, a list that differs from its file is a
//! failure, so that such a change is made knowingly and shows in a review. There is no release to compare with
//! yet; tools that compare with one need it.
//!
//! The list comes from the compiler's own documentation as data, a format that is not stable. A version of it
//! that is not among [`FORMATS`] is an error. All crates of the workspace are documented, with all features, as
//! their tests are compiled; so mistakes in documentation show here, too: as errors with
//! `RUSTDOCFLAGS="-D warnings"`.

mod listing;
mod rustdoc;

use std::collections::BTreeSet;
use std::fs;
use std::ops::RangeInclusive;
use std::path::Path;

use serde_json::Value;

pub(crate) use self::rustdoc::run_if_asked;
use crate::workspace::{at, root};

/// Libraries whose items programs name.
const LIBRARIES: &[&str] = &["warploom", "warploom-driver", "warploom-sim", "warploom-test", "warploom-topology"];

/// Versions of the data whose parts that are read here are the same.
const FORMATS: RangeInclusive<u64> = 53..=60;

/// Writes the lists.
pub(crate) fn write() -> Result<String, String> {
    let (folder, data) = (root()?.join("docs/api"), rustdoc::document()?);
    fs::create_dir_all(&folder).map_err(at(&folder))?;
    for library in LIBRARIES {
        let path = folder.join(format!("{library}.txt"));
        fs::write(&path, text(&items(library, &data)?)).map_err(at(&path))?;
    }
    Ok(format!("api: {} lists written", LIBRARIES.len()))
}

/// Compares the lists with those that are kept.
pub(crate) fn check() -> Result<String, String> {
    let (data, mut differences) = (rustdoc::document()?, Vec::new());
    for library in LIBRARIES {
        let path = root()?.join("docs/api").join(format!("{library}.txt"));
        let kept = fs::read_to_string(&path).map_err(at(&path))?;
        let kept: BTreeSet<String> = kept.lines().map(str::to_owned).collect();
        let now = items(library, &data)?;
        differences.extend(kept.difference(&now).map(|item| format!("- {item}")));
        differences.extend(now.difference(&kept).map(|item| format!("+ {item}")));
    }
    if differences.is_empty() {
        return Ok(format!("api: the public items of {} libraries are those that are kept", LIBRARIES.len()));
    }
    println!("{}", differences.join("\n"));
    Err(format!(
        "api: {} public items differ from docs/api; if that is meant, write them anew with `cargo xtask api`, and \
         tell users in CHANGELOG.md",
        differences.len()
    ))
}

fn text(items: &BTreeSet<String>) -> String {
    items.iter().flat_map(|item| [item.as_str(), "\n"]).collect()
}

/// The public items of a library, from the data of all in a folder.
fn items(library: &str, folder: &Path) -> Result<BTreeSet<String>, String> {
    let path = folder.join(format!("{}.json", library.replace('-', "_")));
    let data: Value = serde_json::from_slice(&fs::read(&path).map_err(at(&path))?)
        .map_err(|error| format!("{}: {error}", path.display()))?;
    match data["format_version"].as_u64() {
        Some(version) if FORMATS.contains(&version) => Ok(listing::of(&data)),
        version => Err(format!("the compiler writes format {version:?}, and {FORMATS:?} are known")),
    }
}
