//! The parts of the page: its HTML, styles, and modules, which are joined to one script.

/// A piece of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Text as it is.
    Text(&'static str),
    Title,
    Style,
    Script,
    Records,
}

const PAGE: &str = include_str!("page/page.html");

const STYLES: [&str; 3] =
    [include_str!("page/colours.css"), include_str!("page/page.css"), include_str!("page/parts.css")];

/// The modules by name, each behind those that it imports.
const MODULES: [(&str, &str); 14] = [
    ("format.js", include_str!("page/format.js")),
    ("dom.js", include_str!("page/dom.js")),
    ("data.js", include_str!("page/data.js")),
    ("rows.js", include_str!("page/rows.js")),
    ("view.js", include_str!("page/view.js")),
    ("painter.js", include_str!("page/painter.js")),
    ("timeline.js", include_str!("page/timeline.js")),
    ("search.js", include_str!("page/search.js")),
    ("tables.js", include_str!("page/tables.js")),
    ("findings.js", include_str!("page/findings.js")),
    ("links.js", include_str!("page/links.js")),
    ("memory.js", include_str!("page/memory.js")),
    ("kernels.js", include_str!("page/kernels.js")),
    ("main.js", include_str!("page/main.js")),
];

/// The page, cut at its placeholders.
pub(crate) fn page() -> Vec<Part> {
    let mut parts = Vec::new();
    let mut rest = PAGE;
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((name, behind)) = after.split_once("}}") else { break };
        parts.push(Part::Text(before));
        parts.extend(match name {
            "title" => Some(Part::Title),
            "style" => Some(Part::Style),
            "script" => Some(Part::Script),
            "records" => Some(Part::Records),
            _ => None,
        });
        rest = behind;
    }
    parts.push(Part::Text(rest));
    parts
}

pub(crate) fn style() -> String {
    STYLES.concat()
}

/// The modules as one, in which imports and exports mean nothing: all names are in one scope.
pub(crate) fn script() -> String {
    let lines = MODULES.iter().flat_map(|(_, text)| text.lines());
    let kept = lines.filter(|line| !line.starts_with("import "));
    kept.map(|line| line.strip_prefix("export ").unwrap_or(line))
        .fold(String::new(), |script, line| script + line + "\n")
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    /// The module that a line imports from.
    fn imported(line: &str) -> Option<&str> {
        line.strip_prefix("import ")?.split_once("\"./")?.1.strip_suffix("\";")
    }

    #[test]
    fn every_placeholder_has_its_part() {
        let parts = page();
        for part in [Part::Title, Part::Style, Part::Script, Part::Records] {
            assert_eq!(parts.iter().filter(|other| **other == part).count(), 1, "{part:?}");
        }
        assert!(parts.iter().all(|part| !matches!(part, Part::Text(text) if text.contains("{{"))));
    }

    #[test]
    fn modules_import_only_those_before_them() {
        let mut before = BTreeSet::new();
        for (name, text) in MODULES {
            for line in text.lines().filter(|line| line.starts_with("import ")) {
                let from = imported(line).unwrap_or_else(|| panic!("{name}: an import on one line: {line}"));
                assert!(before.contains(from), "{name} imports {from}, which comes later");
            }
            before.insert(name);
        }
    }

    #[test]
    fn names_are_declared_once_in_all_modules() {
        let mut declared = BTreeMap::new();
        for (module, text) in MODULES {
            for line in text.lines().map(|line| line.strip_prefix("export ").unwrap_or(line)) {
                let rest = ["const ", "let ", "function ", "class "].iter().find_map(|word| line.strip_prefix(word));
                let name = rest.map(|rest| rest.split(|character: char| !character.is_alphanumeric()).next());
                if let Some(name) = name.flatten().filter(|name| !name.is_empty()) {
                    let other = declared.insert(name, module);
                    assert_eq!(other, None, "{name} of {module} is declared twice");
                }
            }
        }
        assert!(declared.len() > 40, "{declared:?}");
    }

    #[test]
    fn nothing_is_fetched_and_no_text_is_parsed_as_html() {
        let script = script();
        for word in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "fetch(", "XMLHttp", "eval("] {
            assert!(!script.contains(word), "{word}");
        }
        assert!(!script.contains("</script") && !script.contains("import ") && !script.contains("\nexport "));
        assert!(PAGE.contains("default-src 'none'"), "the browser refuses what is fetched all the same");
    }
}
