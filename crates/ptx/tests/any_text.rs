//! Robustness: no text causes a panic or takes long, and every error has a position in the text.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use warploom_ptx::syntax::{Block, Function, Module, Statement};
use warploom_ptx::{Error, Header, Position};

fn fixtures() -> Vec<String> {
    let mut paths = Vec::new();
    for folder in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels/ptx")).expect("the folder of texts")
    {
        for file in fs::read_dir(folder.expect("a folder").path()).expect("a folder of texts") {
            paths.push(file.expect("a text").path());
        }
    }
    // The order of a folder is not the same everywhere, and mutations follow it.
    paths.sort();
    paths.into_iter().map(|path| fs::read_to_string(path).expect("a text")).collect()
}

/// Reads a text; what is said about it, if anything, must make sense.
#[track_caller]
fn read(text: &str) -> Result<(), Error> {
    let header = Header::read(text);
    let error = match (Module::parse(text), header) {
        (Ok(module), Ok(header)) => {
            assert_eq!(module.header, header);
            return Ok(());
        }
        (Ok(_), Err(error)) => panic!("a module without a header: {error}"),
        (Err(error), _) => error,
    };
    let Position { line, column } = error.place;
    let found = text.split('\n').nth(line as usize - 1);
    let length = found.map(|line| line.chars().count());
    assert!(length.is_some_and(|length| (1..=length + 1).contains(&(column as usize))), "{error:?} of {text:?}");
    let printed = error.to_string();
    assert!(printed.lines().count() == 4 && printed.len() < 4000, "{printed}");
    Err(error)
}

/// Numbers that are the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }
}

/// Texts that a mutation may insert.
const PIECES: [&str; 36] = [
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    "<",
    ">",
    ";",
    ",",
    ":",
    "::",
    "@",
    "!",
    "|",
    "+",
    "-",
    "?",
    "\"",
    "/*",
    "*/",
    "//",
    "\n",
    "\0",
    "é",
    ".",
    ".reg",
    ".entry",
    ".global .u32",
    ".section .debug_str {",
    "0x",
    "0f",
    "99999999999999999999",
    "1/0",
    ".callprototype",
    "_",
];

fn mutated(text: &str, other: &str, random: &mut Random) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..=random.below(3) {
        let at = random.below(bytes.len());
        let length = random.below(40).min(bytes.len() - at);
        match random.below(6) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..at + length)),
            2 => drop(bytes.splice(at..at, PIECES[random.below(PIECES.len())].bytes())),
            3 => bytes.get_mut(at).into_iter().for_each(|byte| *byte ^= 1 << random.below(8)),
            4 => {
                let again = bytes[at..at + length].to_vec();
                drop(bytes.splice(at..at, again));
            }
            _ => {
                let from = random.below(other.len());
                let piece = &other.as_bytes()[from..other.len().min(from + 200)];
                drop(bytes.splice(at..at, piece.iter().copied()));
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn mutated_texts_are_read_or_refused() {
    let fixtures = fixtures();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let (mut read_well, mut refused) = (0, 0);
    for text in &fixtures {
        // A whole text takes its time, so most mutations see only the beginning and one function's worth of
        // it.
        let short: String = text.chars().take(3000).collect();
        for round in 0..60 {
            let other = &fixtures[random.below(fixtures.len())];
            let text = mutated(if round < 5 { text } else { &short }, other, &mut random);
            match read(&text) {
                Ok(()) => read_well += 1,
                Err(_) => refused += 1,
            }
        }
    }
    assert!(
        read_well > 50 && refused > 1000,
        "{read_well} read, {refused} refused: the mutations are too weak or too strong"
    );
}

#[test]
fn a_text_that_ends_early_is_refused_where_it_ends() {
    for text in fixtures() {
        let body = text.find(".entry").expect("a kernel") + ".entry".len();
        let end = text.rfind('}').expect("a body");
        for cut in (body..end.min(body + 3000)).step_by(7) {
            // Between two functions a text may end; inside one it may not.
            let (open, closed) = (text[..cut].matches('{').count(), text[..cut].matches('}').count());
            if open > closed {
                assert!(read(&text[..cut]).is_err(), "{}", &text[..cut]);
            }
        }
    }
}

/// The contents of a text, without positions and formatting.
fn said(text: &str) -> Vec<String> {
    fn statements(block: &Block<'_>, said: &mut Vec<String>) {
        for statement in &block.statements {
            match statement {
                Statement::Block(inner) => statements(inner, said),
                Statement::Instruction(it) => {
                    said.push(format!("{:?} {} {:?} {:?}", it.guard, it.opcode, it.modifiers, it.operands));
                }
                Statement::Label(label) => said.push(label.name.to_owned()),
                Statement::Location(location) => said.push(format!("{:?}", location.source)),
                Statement::Registers(it) => {
                    said.extend(it.names.iter().map(|name| format!("{:?} {} {:?}", it.scalar, name.name, name.count)));
                }
                _ => said.push("other".to_owned()),
            }
        }
    }
    let module = Module::parse(text).unwrap_or_else(|error| panic!("{error}"));
    let mut said = vec![format!("{:?}", module.header)];
    said.extend(module.variables.iter().map(|variable| format!("{} {:?}", variable.name, variable.dimensions)));
    for Function { name, parameters, body, .. } in &module.functions {
        said.push(format!("{name} {}", parameters.len()));
        body.iter().for_each(|body| statements(body, &mut said));
    }
    said
}

#[test]
fn space_and_comments_mean_nothing() {
    for text in fixtures() {
        let spaced: String =
            text.lines()
                // Quotes may hold what looks like the end of a word.
                .map(|line| {
                    if line.contains(['"', '/']) {
                        line.to_owned()
                    } else {
                        line.replace(',', " /* , */\r\n\t, // ;\n")
                    }
                })
                .map(|line| line + "\n/* } */ ")
                .collect();
        assert_eq!(said(&text), said(&spaced));
    }
}

#[test]
fn repeated_list_entries_cost_no_more_than_their_length() {
    // Each of these is quadratic if something is copied or sought again for every element.
    let many = 20_000;
    let texts = [
        format!(".global .attribute({}) .u32 {} a;", ".managed, ".repeat(many), "a, ".repeat(many)),
        format!(".global .attribute(.managed) .u32 {} a;", "a, ".repeat(many)),
        format!(".global .u32 a{};", "[1]".repeat(many)),
        format!(".global .u32 a = {};", "1+".repeat(many)),
        format!(".global .u32 a[] = {{{}}};", "-1,".repeat(many)),
        format!(".entry f {{ {} }}", "a:".repeat(many)),
        format!(".entry f {{ {} }}", "a.b.c d, e;".repeat(many)),
        format!(".entry f {{ a {{{}}}; }}", "b,".repeat(many)),
        format!(".entry f {{ .loc 1 2 3{} }}", ", inlined_at 1 2 3".repeat(many)),
        format!(".entry f {{ a: .branchtargets {} a; }}", "a, ".repeat(many)),
        format!(".entry f {{ {} }}", "{}".repeat(many)),
        format!(".entry f {} ;", ".noreturn ".repeat(many)),
        "/* */ ".repeat(many),
        format!(".entry f {{ {} }}", "/".repeat(many)),
        format!(".entry f {{ {} }}", ";".repeat(many)),
    ];
    for items in texts {
        drop(read(&format!(".version 8.7 .target sm_90 .address_size 64 {items}")));
    }
}

proptest! {
    #[test]
    fn any_characters_are_read_or_refused(text in any::<String>()) {
        drop(read(&text));
    }

    #[test]
    fn any_words_are_read_or_refused(pieces in prop::collection::vec(prop::sample::select(&WORDS[..]), 0..60)) {
        let words = pieces.join(" ");
        drop(read(&format!(".version 8.7 .target sm_90 .address_size 64\n{words}")));
        drop(read(&format!(".version 8.7 .target sm_90 .address_size 64 .entry f(.param .u64 p) {{\n{words}")));
    }

    #[test]
    fn expressions_are_evaluated_or_refused(pieces in prop::collection::vec(prop::sample::select(&SYMBOLS[..]), 1..24)) {
        let expression = pieces.concat();
        drop(read(&format!(".version 8.7 .target sm_90\n.global .u64 a = {expression};")));
    }
}

/// Words of generated bodies.
const WORDS: [&str; 44] = [
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    "<",
    ">",
    ";",
    ",",
    ":",
    "@",
    "!",
    "|",
    "+",
    "-",
    "=",
    ".reg",
    ".b32",
    ".pred",
    ".local",
    ".param",
    ".align 8",
    ".v4",
    ".loc 1 2 3",
    ".pragma",
    "\"s\"",
    "%r1",
    "%p<3>",
    "$L1:",
    "ld",
    ".global",
    ".u32",
    "call",
    "_",
    "7",
    "-1",
    "0f3F800000",
    ".callprototype",
    ".branchtargets",
    ".entry",
    ".func",
    "ret;",
    ".section .x",
];

/// Symbols of generated expressions.
const SYMBOLS: [&str; 27] = [
    "1",
    "0",
    "0U",
    "9223372036854775808",
    "-",
    "+",
    "~",
    "!",
    "(",
    ")",
    "*",
    "/",
    "%",
    "<<",
    ">>",
    "<",
    ">=",
    "==",
    "&&",
    "||",
    "&",
    "?",
    ":",
    "1.5",
    "0f7FC00000",
    "(.s64)",
    "WARP_SZ",
];
