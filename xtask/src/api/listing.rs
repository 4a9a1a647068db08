//! Public items in the compiler's documentation of a library.

use std::collections::BTreeSet;

use serde_json::Value;

/// Re-exports that lead to re-exports; more are a cycle.
const MOST_REEXPORTS: usize = 16;

/// The items, each as its kind and its path: `fn warploom::Stream::record`.
pub(super) fn of(data: &Value) -> BTreeSet<String> {
    let mut walk = Walk { index: &data["index"], found: BTreeSet::new() };
    if let Some(name) = data["index"][key(&data["root"])]["name"].as_str() {
        walk.members(&data["index"][key(&data["root"])]["inner"]["module"]["items"], name, 0);
    }
    walk.found
}

/// Ids are numbers, and keys of the index are texts.
fn key(id: &Value) -> String {
    id.as_str().map_or_else(|| id.to_string(), str::to_owned)
}

struct Walk<'a> {
    index: &'a Value,
    found: BTreeSet<String>,
}

impl Walk<'_> {
    fn members(&mut self, ids: &Value, path: &str, followed: usize) {
        for id in ids.as_array().into_iter().flatten() {
            self.item(id, path, None, followed);
        }
    }

    /// An item below a path, under its own name or the one of a re-export.
    fn item(&mut self, id: &Value, path: &str, renamed: Option<&str>, followed: usize) {
        let item = &self.index[key(id)];
        let Some((kind, inner)) = item["inner"].as_object().and_then(|inner| inner.iter().next()) else { return };
        if kind == "use" {
            return self.reexport(inner, path, followed);
        }
        let is_public = matches!(item["visibility"].as_str(), Some("public" | "default"));
        let Some(name) = renamed.or(item["name"].as_str()).filter(|_| is_public) else { return };
        let path = format!("{path}::{name}");
        self.found.insert(format!("{} {path}", short(kind)));
        match kind.as_str() {
            "module" => self.members(&inner["items"], &path, followed),
            "struct" => {
                let fields = &inner["kind"];
                self.members(&fields["plain"]["fields"], &path, followed);
                self.members(&fields["tuple"], &path, followed);
            }
            "union" => self.members(&inner["fields"], &path, followed),
            "enum" => self.members(&inner["variants"], &path, followed),
            "variant" => self.members(&inner["kind"]["struct"]["fields"], &path, followed),
            "trait" => self.members(&inner["items"], &path, followed),
            _ => {}
        }
        for implementation in inner["impls"].as_array().into_iter().flatten() {
            let implementation = &self.index[key(implementation)]["inner"]["impl"];
            if implementation["trait"].is_null() {
                let items = implementation["items"].clone();
                self.members(&items, &path, followed);
            }
        }
    }

    fn reexport(&mut self, inner: &Value, path: &str, followed: usize) {
        if followed == MOST_REEXPORTS {
            return;
        }
        let (target, name) = (&inner["id"], inner["name"].as_str().unwrap_or_default());
        let item = &self.index[key(target)];
        if item.is_null() {
            // Of another library.
            let source = inner["source"].as_str().unwrap_or_default();
            self.found.insert(format!("use {path}::{name} = {source}"));
        } else if inner["is_glob"].as_bool() == Some(true) {
            let inside = item["inner"]["module"]["items"].as_array().or(item["inner"]["enum"]["variants"].as_array());
            let inside = Value::Array(inside.cloned().unwrap_or_default());
            self.members(&inside, path, followed + 1);
        } else {
            let (target, name) = (target.clone(), name.to_owned());
            self.item(&target, path, Some(&name), followed + 1);
        }
    }
}

/// The keyword of a kind of item.
fn short(kind: &str) -> &str {
    match kind {
        "function" => "fn",
        "module" => "mod",
        "struct_field" => "field",
        "type_alias" | "assoc_type" => "type",
        "constant" | "assoc_const" => "const",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn items_methods_and_reexports_are_listed_and_private_items_are_not() {
        let data = json!({
            "root": 0,
            "index": {
                "0": { "name": "lib", "visibility": "public", "inner": { "module": { "items": [1, 2, 6, 7] } } },
                "1": { "name": null, "visibility": "public",
                       "inner": { "use": { "source": "hidden::A", "name": "B", "id": 3, "is_glob": false } } },
                "2": { "name": "secret", "visibility": "crate", "inner": { "function": {} } },
                "3": { "name": "A", "visibility": "public",
                       "inner": { "struct": { "kind": { "plain": { "fields": [8, 9] } }, "impls": [4, 10] } } },
                "4": { "name": null, "visibility": "default", "inner": { "impl": { "trait": null, "items": [5] } } },
                "5": { "name": "method", "visibility": "public", "inner": { "function": {} } },
                "6": { "name": null, "visibility": "public",
                       "inner": { "use": { "source": "other::C", "name": "C", "id": 99, "is_glob": false } } },
                "7": { "name": "E", "visibility": "public", "inner": { "enum": { "variants": [11], "impls": [] } } },
                "8": { "name": "open", "visibility": "public", "inner": { "struct_field": {} } },
                "9": { "name": "shut", "visibility": "default_private", "inner": { "struct_field": {} } },
                "10": { "name": null, "visibility": "default",
                        "inner": { "impl": { "trait": { "path": "Clone" }, "items": [5] } } },
                "11": { "name": "One", "visibility": "default", "inner": { "variant": { "kind": "plain" } } },
            }
        });
        let expected = [
            "enum lib::E",
            "field lib::B::open",
            "fn lib::B::method",
            "struct lib::B",
            "use lib::C = other::C",
            "variant lib::E::One",
        ];
        assert_eq!(of(&data).into_iter().collect::<Vec<_>>(), expected);
    }
}
