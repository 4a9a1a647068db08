//! Labels of nodes: the kind of a node, its name and its fields, as a driver writes them.

/// The contents of a label.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Label {
    /// The driver's word, such as `KERNEL`. `NODE` if there is none.
    pub(super) kind: String,
    /// The name of a kernel, the direction of a copy, or the most important values.
    pub(super) name: String,
    /// The other values, by name.
    pub(super) fields: Vec<(String, String)>,
    /// Graphs that the node runs: the name in the label, such as `True`, and the graph's.
    pub(super) bodies: Vec<(String, String)>,
}

/// Understands the label of a node by its shape. A label in an unknown form is the name of the node.
pub(super) fn understand(shape: &str, text: &str) -> Label {
    let mut label = if matches!(shape, "record" | "Mrecord") { of_record(text) } else { of_lines(shape, text) };
    label.bodies = bodies(&label);
    if label.name.is_empty() {
        label.name = summary(&label);
    }
    label
}

/// The most important fields, for a node without a name.
fn summary(label: &Label) -> String {
    let value = |wanted: &str| label.fields.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str());
    let sizes = |names: [&str; 3]| names.map(|name| value(name).unwrap_or("1")).join(" x ");
    match (label.kind.as_str(), value("src MemoryType"), value("dst MemoryType"), value("value"), value("bytesize")) {
        ("MEMCPY", Some(from), Some(to), ..) => {
            format!("{from} to {to}, {}", sizes(["Extent WidthInBytes", "Extent Height", "Extent Depth"]))
        }
        ("MEMSET", _, _, Some(filled), _) => format!("{filled}, {}", sizes(["elementSize", "width", "height"])),
        ("MEM_ALLOC", .., Some(bytes)) => format!("{bytes} bytes"),
        _ => {
            let is_handle = |name: &str| name.ends_with("handle");
            let values = label.fields.iter().filter(|(name, _)| !is_handle(name)).take(3);
            values.map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join(", ")
        }
    }
}

/// The graphs that a label names. Only nodes of these two kinds have any.
fn bodies(label: &Label) -> Vec<(String, String)> {
    let named =
        |text: &str| text.split_whitespace().filter(|word| is_graph(word)).map(str::to_owned).collect::<Vec<_>>();
    match label.kind.as_str() {
        "CHILD_GRAPH" => named(&label.name).into_iter().map(|graph| (String::new(), graph)).collect(),
        "CONDITIONAL" => {
            let of_field = |(role, value): &(String, String)| {
                let role = if role == "bodies" { String::new() } else { role.clone() };
                named(value).into_iter().map(move |graph| (role.clone(), graph))
            };
            label.fields.iter().flat_map(of_field).collect()
        }
        _ => Vec::new(),
    }
}

fn is_graph(word: &str) -> bool {
    let number = word.strip_prefix("graph_");
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

fn is_kind(word: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    word.starts_with(|first: char| first.is_ascii_uppercase()) && word.bytes().all(is_part)
}

/// `0`, or `0 (topoId: 3)`
fn is_number(text: &str) -> bool {
    let number = text.split(" (").next().unwrap_or_default();
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// A label of lines: number, kind or name, and fields.
fn of_lines(shape: &str, text: &str) -> Label {
    let text = unescaped(text);
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let (first, second) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    let rest = |kind: &str, name: &str| {
        let mut label = Label { kind: kind.to_owned(), name: name.to_owned(), ..Label::default() };
        for line in lines.clone() {
            match line.split_once(": ") {
                Some((name, value)) => label.fields.push((name.to_owned(), value.to_owned())),
                None => {
                    let line = line.strip_prefix('(').and_then(|line| line.strip_suffix(')')).unwrap_or(line);
                    let space = if label.name.is_empty() { "" } else { " " };
                    label.name += &format!("{space}{line}");
                }
            }
        }
        label
    };
    match second {
        _ if !is_number(first) || second.is_empty() => {
            let name = text.split_whitespace().collect::<Vec<_>>().join(" ");
            Label { kind: "NODE".to_owned(), name, ..Label::default() }
        }
        _ if shape == "octagon" => rest("KERNEL", second),
        _ if is_graph(second) => rest("CHILD_GRAPH", second),
        _ if is_kind(second) => rest(second, ""),
        _ => rest("NODE", second),
    }
}

/// A label in fields with brackets and bars: the kind, the number with a name, and rows of names and values.
fn of_record(text: &str) -> Label {
    let mut rows = rows(text).into_iter();
    let kind = rows.next().and_then(|groups| groups.into_iter().flatten().next()).unwrap_or_default();
    let mut label = Label { kind, ..Label::default() };
    for groups in rows {
        match groups.as_slice() {
            [group] => match group.as_slice() {
                [id, _] if id == "ID" => {}
                [id, _, name] if id == "ID" => label.name.clone_from(name),
                [name, value] => label.fields.push((name.clone(), value.clone())),
                other => label.fields.push((String::new(), other.join(" "))),
            },
            groups => label.fields.extend(table(groups)),
        }
    }
    if !is_kind(&label.kind) {
        label.name = format!("{} {}", label.kind, label.name).trim().to_owned();
        "NODE".clone_into(&mut label.kind);
    }
    let of_type = label.fields.iter().find(|(name, _)| name == "Conditional Type").map(|(_, value)| value.clone());
    if let (true, Some(value)) = (label.name.is_empty(), of_type) {
        label.name = value;
    }
    label
}

/// The fields of a row of groups: names, and as many values. A first group may have a name for all or for
/// parts of them.
fn table(groups: &[Vec<String>]) -> Vec<(String, String)> {
    match groups {
        [names, values] if names.len() == values.len() => {
            names.iter().cloned().zip(values.iter().cloned()).filter(|(name, _)| name != "ID").collect()
        }
        [parts, names, values] if names.len() == values.len() && names.len() % parts.len().max(1) == 0 => {
            let each = (names.len() / parts.len().max(1)).max(1);
            let part = |at: usize| parts.get(at / each).map(String::as_str).unwrap_or_default();
            let field = |(at, (name, value)): (usize, (&String, &String))| {
                (format!("{} {name}", part(at)).trim().to_owned(), value.clone())
            };
            names.iter().zip(values).enumerate().map(field).collect()
        }
        _ => {
            let mut cells = groups.iter().flatten().cloned();
            let name = cells.next().unwrap_or_default();
            vec![(name, cells.collect::<Vec<_>>().join(" "))]
        }
    }
}

/// The rows of a record: cells in groups. A bracket begins or ends a group.
fn rows(text: &str) -> Vec<Vec<Vec<String>>> {
    let text = text.trim();
    let outer = usize::from(text.starts_with('{'));
    let (mut rows, mut depth) = (vec![vec![Vec::new()]], 0_usize);
    let mut cell = String::new();
    let mut characters = text.chars();
    let finish = |cell: &mut String, rows: &mut Vec<Vec<Vec<String>>>| {
        let text = cell.trim();
        if let (false, Some(group)) = (text.is_empty(), rows.last_mut().and_then(|row| row.last_mut())) {
            group.push(text.to_owned());
        }
        cell.clear();
    };
    while let Some(character) = characters.next() {
        match character {
            '\\' => cell.push(escape(characters.next())),
            '{' | '}' => {
                finish(&mut cell, &mut rows);
                depth = if character == '{' { depth + 1 } else { depth.saturating_sub(1) };
                if let Some(row) = rows.last_mut() {
                    row.push(Vec::new());
                }
            }
            '|' => {
                finish(&mut cell, &mut rows);
                if depth <= outer {
                    rows.push(vec![Vec::new()]);
                }
            }
            other => cell.push(other),
        }
    }
    finish(&mut cell, &mut rows);
    for row in &mut rows {
        row.retain(|group| !group.is_empty());
    }
    rows.retain(|row| !row.is_empty());
    rows
}

fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        plain.push(if character == '\\' { escape(characters.next()) } else { character });
    }
    plain
}

/// The character that an escape stands for.
fn escape(escaped: Option<char>) -> char {
    match escaped {
        Some('n' | 'l' | 'r') | None => '\n',
        Some(other) => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(label: &Label) -> Vec<(&str, &str)> {
        label.fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
    }

    fn bodies(label: &Label) -> Vec<(&str, &str)> {
        label.bodies.iter().map(|(role, graph)| (role.as_str(), graph.as_str())).collect()
    }

    #[test]
    fn lines_of_the_driver() {
        for (shape, text, kind, name) in [
            ("octagon", "0\ninc\n", "KERNEL", "inc"),
            ("octagon", "0 (topoId: 3)\ngraph_3\n", "KERNEL", "graph_3"),
            ("trapezium", "1\nMEMCPY\n(DtoD,64)\n", "MEMCPY", "DtoD,64"),
            ("rectangle", "4 (topoId: 9)\ngraph_3\n", "CHILD_GRAPH", "graph_3"),
            ("rectangle", "5\\nEMPTY\\n", "EMPTY", ""),
            ("box", "any text", "NODE", "any text"),
            ("", "", "NODE", ""),
        ] {
            let label = understand(shape, text);
            assert_eq!((label.kind.as_str(), label.name.as_str()), (kind, name), "{text:?}");
        }
        let host = understand("rectangle", "3\nHOST\nnode handle: 0x5\nfn: 0x7\n");
        assert_eq!((fields(&host), host.name.as_str()), (vec![("node handle", "0x5"), ("fn", "0x7")], "fn 0x7"));
        assert_eq!(bodies(&understand("rectangle", "4\ngraph_3\n")), [("", "graph_3")]);
        assert_eq!(bodies(&understand("octagon", "4\ngraph_3\n")), []);
    }

    #[test]
    fn records_of_the_driver() {
        let kernel = understand(
            "record",
            "{KERNEL\n| {ID | 0 (topoId: 1) | inc\\<\\<\\<1,1,0\\>\\>\\>}\n| {{node handle | func handle} | {0x5 | 0x7}}\n\
             | {accessPolicyWindow | {base_ptr | num_bytes} | {0x0 | 0}}\n| {priority | 0}\n}",
        );
        assert_eq!((kernel.kind.as_str(), kernel.name.as_str()), ("KERNEL", "inc<<<1,1,0>>>"));
        let expected = [
            ("node handle", "0x5"),
            ("func handle", "0x7"),
            ("accessPolicyWindow base_ptr", "0x0"),
            ("accessPolicyWindow num_bytes", "0"),
            ("priority", "0"),
        ];
        assert_eq!(fields(&kernel), expected);
        let copy = understand(
            "record",
            "{\nMEMCPY\n| {{ID | node handle} | {1 | 0x5}}\n| {{src | dst} | { Y | Z | Y | Z} | {1 | 2 | 3 | 4}}}",
        );
        assert_eq!(
            fields(&copy),
            [("node handle", "0x5"), ("src Y", "1"), ("src Z", "2"), ("dst Y", "3"), ("dst Z", "4")]
        );
        assert_eq!(copy.name, "src Y 1, src Z 2, dst Y 3");
        let fill = understand(
            "record",
            "{MEMSET\n| {{ID | dptr | value | elementSize | width | height} | {2 | 0x5 | 1 | 4 | 64 | 3}}}",
        );
        assert_eq!((fill.kind.as_str(), fill.name.as_str()), ("MEMSET", "1, 4 x 64 x 3"));
    }

    #[test]
    fn bodies_of_conditional_nodes() {
        let of_driver =
            "{\nCONDITIONAL\n| {ID | 0}\n| {Conditional Type| IF}\n| {True | graph_5}\n| {False| graph_6}\n}\n";
        let label = understand("record", of_driver);
        assert_eq!((label.kind.as_str(), label.name.as_str()), ("CONDITIONAL", "IF"));
        assert_eq!(bodies(&label), [("True", "graph_5"), ("False", "graph_6")]);
        let listed = understand("record", "{CONDITIONAL|{ID|0|SWITCH}|{size|2}|{bodies|graph_5 graph_6}}");
        assert_eq!((listed.name.as_str(), bodies(&listed)), ("SWITCH", vec![("", "graph_5"), ("", "graph_6")]));
    }

    #[test]
    fn any_text_is_a_label() {
        for text in [
            "{",
            "}",
            "|",
            "{|}",
            "{{{{",
            "}}}}|a",
            "\\",
            "{A|{{a|b}|{c}}}",
            "{|{a|b|c|d}}",
            "{a\\",
            "{A|{}|{{}|{}|{}}}",
        ] {
            for shape in ["record", "octagon"] {
                assert!(!understand(shape, text).kind.is_empty(), "{text:?}");
            }
        }
        assert_eq!(understand("record", &"{".repeat(1 << 20)).kind, "NODE");
    }
}
