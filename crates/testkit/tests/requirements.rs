//! `docs/requirements.md` lists every requirement, each with its tests, and every number that a test or a comment
//! names.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use warploom_testkit::TestResult;

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Numbers such as `S0.13`, `S0.D`, `C.5` and `M.2` in a text.
fn numbers(text: &str) -> BTreeSet<&str> {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '.' || letter == '_';
    let words = text.split(|letter| !is_part(letter)).map(|word| word.trim_matches('.'));
    words.filter(|word| is_number(word)).collect()
}

fn is_number(word: &str) -> bool {
    let Some((family, rest)) = word.split_once('.') else { return false };
    let is_count = !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit());
    let is_section = rest.len() == 1 && rest.bytes().all(|byte| byte.is_ascii_uppercase());
    match family.as_bytes() {
        [b'C' | b'M'] => is_count,
        [b'S', digit] => digit.is_ascii_digit() && (is_count || is_section),
        _ => false,
    }
}

/// The numbers in comments of all Rust files below a folder, with the files, relative to `crates`.
fn named(folder: &Path, found: &mut BTreeMap<String, BTreeSet<String>>) -> TestResult {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            named(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path)?;
            let file = path.strip_prefix(crates())?.to_string_lossy().into_owned();
            for comment in text.lines().filter_map(|line| line.split_once("//")) {
                for number in numbers(comment.1) {
                    found.entry(number.to_owned()).or_default().insert(file.clone());
                }
            }
        }
    }
    Ok(())
}

fn page() -> TestResult<String> {
    Ok(fs::read_to_string(crates().join("../docs/requirements.md"))?)
}

/// The numbers that the page says there are: `Numbers: C.1 to C.6, M.1 to M.8.`
fn stated(page: &str) -> TestResult<BTreeSet<String>> {
    let mut stated = BTreeSet::new();
    for range in page.lines().filter_map(|line| line.strip_prefix("Numbers: ")).flat_map(|line| line.split(", ")) {
        let (first, last) = range.trim_end_matches('.').split_once(" to ").ok_or("a range without an end")?;
        let (family, first) = first.split_once('.').ok_or("a number without a family")?;
        let last = last.strip_prefix(family).and_then(|last| last.strip_prefix('.'));
        let last: u32 = last.ok_or("a range of two families")?.parse()?;
        assert_eq!(first, "1", "{range}");
        assert!((1..=last).all(|number| stated.insert(format!("{family}.{number}"))), "{range} is stated twice");
    }
    Ok(stated)
}

/// The entries of the page: `- **S0.1** words`, then `Tests: files in backquotes`.
fn listed() -> TestResult<BTreeMap<String, BTreeSet<String>>> {
    let page = page()?;
    let mut found = BTreeMap::new();
    for entry in page.split("\n- **").skip(1) {
        let (number, text) = entry.split_once("** ").ok_or("an entry without words")?;
        let (_, tests) = text.rsplit_once("Tests: ").ok_or_else(|| format!("{number} has no tests"))?;
        let tests = tests.split("\n\n").next().unwrap_or_default();
        let files: BTreeSet<String> = tests.split('`').skip(1).step_by(2).map(str::to_owned).collect();
        assert!(found.insert(number.to_owned(), files).is_none(), "{number} is listed twice");
    }
    Ok(found)
}

#[test]
fn every_requirement_that_is_named_is_listed_with_its_tests() -> TestResult {
    let (mut named_in, listed) = (BTreeMap::new(), listed()?);
    for entry in fs::read_dir(crates())? {
        named(&entry?.path(), &mut named_in)?;
    }
    assert!(named_in.len() > 100, "requirements are found in comments: {named_in:?}");
    let missing: Vec<_> = named_in.iter().filter(|(number, _)| !listed.contains_key(*number)).collect();
    assert!(missing.is_empty(), "not in docs/requirements.md: {missing:#?}");
    for (number, files) in &listed {
        let names = named_in.get(number);
        let stale: Vec<_> = files.iter().filter(|file| !names.is_some_and(|names| names.contains(*file))).collect();
        assert!(!files.is_empty() && stale.is_empty(), "{number} is not named in {stale:?}");
    }
    Ok(())
}

/// Sections, which have a letter, are between the numbers.
#[test]
fn every_requirement_is_listed() -> TestResult {
    let (stated, listed) = (stated(&page()?)?, listed()?);
    let families: BTreeSet<_> = stated.iter().filter_map(|number| number.split('.').next()).collect();
    assert_eq!(families, BTreeSet::from(["C", "M", "S0", "S1", "S2", "S3", "S4"]));
    let is_count = |number: &&String| number.bytes().last().is_some_and(|byte| byte.is_ascii_digit());
    let listed: BTreeSet<_> = listed.keys().filter(is_count).cloned().collect();
    let differ: Vec<_> = stated.symmetric_difference(&listed).collect();
    assert!(differ.is_empty(), "stated or listed in docs/requirements.md, and not both: {differ:?}");
    Ok(())
}

#[test]
fn numbers_are_told_from_other_words() {
    let text = "S0.13, (S1.D), C.5: M.2; v1.2.3, C.x, S10.1 and S0.13_x, e.g. A.1";
    assert_eq!(numbers(text), BTreeSet::from(["S0.13", "S1.D", "C.5", "M.2"]));
}
