//! The pages in `docs` and the README: their programs are tests, and the index lists every page.

use std::fs;
use std::path::{Path, PathBuf};

use warploom_testkit::TestResult;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The README and every page, by its path below the repository, with its text.
fn pages() -> TestResult<Vec<(String, String)>> {
    let mut found = vec![("README.md".to_owned(), fs::read_to_string(root().join("README.md"))?)];
    for entry in fs::read_dir(root().join("docs"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "md") {
            let name = path.file_name().ok_or("a file without a name")?.to_string_lossy();
            found.push((format!("docs/{name}"), fs::read_to_string(&path)?));
        }
    }
    Ok(found)
}

/// The info strings of the code blocks of a page.
fn fences(page: &str) -> impl Iterator<Item = &str> {
    page.lines().filter_map(|line| line.strip_prefix("```")).step_by(2)
}

/// All source files below a folder, as one text.
fn sources(folder: &Path, text: &mut String) -> TestResult {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            sources(&path, text)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            text.push_str(&fs::read_to_string(&path)?);
        }
    }
    Ok(())
}

#[test]
fn every_program_of_a_page_is_a_test() -> TestResult {
    let mut text = String::new();
    sources(&root().join("crates"), &mut text)?;
    for (name, page) in pages()? {
        let programs: Vec<&str> = fences(&page).filter(|fence| fence.split(',').next() == Some("rust")).collect();
        for fence in &programs {
            assert!(
                !fence.contains("ignore") && !fence.contains("no_run"),
                "{name} has a program that does not run: {fence}"
            );
        }
        let included =
            text.lines().any(|line| line.contains("doc = include_str!") && line.contains(&format!("/{name}\"")));
        assert!(programs.is_empty() || included, "no crate runs the programs of {name} as tests");
    }
    Ok(())
}

#[test]
fn the_index_lists_every_page() -> TestResult {
    let index = fs::read_to_string(root().join("docs/README.md"))?;
    for (name, _) in pages()? {
        if let Some(page) = name.strip_prefix("docs/").filter(|page| *page != "README.md") {
            assert!(index.contains(&format!("]({page})")), "docs/README.md does not list {page}");
        }
    }
    Ok(())
}

#[test]
fn links_between_pages_lead_to_files_and_headings() -> TestResult {
    for (name, page) in pages()? {
        let folder = root().join(&name).parent().ok_or("a page without a folder")?.to_owned();
        for link in page.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if link.contains("://") || link.contains(' ') || link.is_empty() {
                continue;
            }
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let path = if file.is_empty() { root().join(&name) } else { folder.join(file) };
            assert!(path.exists(), "{name} links to {link}, which does not exist");
            if !heading.is_empty() {
                let target = fs::read_to_string(&path)?;
                assert!(
                    headings(&target).any(|found| found == heading),
                    "{name} links to {link}, which has no such heading"
                );
            }
        }
    }
    Ok(())
}

/// The anchors of a page's headings: lower case, with hyphens for spaces, without punctuation.
fn headings(page: &str) -> impl Iterator<Item = String> {
    page.lines().filter(|line| line.starts_with('#')).map(|line| {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        title
            .replace(' ', "-")
            .chars()
            .filter(|letter| letter.is_alphanumeric() || *letter == '-' || *letter == '_')
            .collect()
    })
}

#[test]
fn fences_are_told_from_their_ends() {
    assert_eq!(fences("```rust,ignore\nx\n```\n```text\n```\n").collect::<Vec<_>>(), ["rust,ignore", "text"]);
    assert_eq!(headings("# A `b` c, d\n").collect::<Vec<_>>(), ["a-b-c-d"]);
}
