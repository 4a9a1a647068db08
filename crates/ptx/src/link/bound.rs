//! Bounds on the registers of kernels, written into their text.

use crate::syntax::{Bounds, ItemKind, Kind, Lexer, Module};

/// The text with `.maxnreg` for each kernel whose directives do not bound its registers.
pub(super) fn bounded(text: &str, registers: u32) -> String {
    let Ok((module, items)) = Module::parse_items(text) else { return text.to_owned() };
    let mut bounded = String::with_capacity(text.len());
    let mut copied = 0;
    for item in &items {
        let ItemKind::Function(index) = item.kind else { continue };
        let function = &module.functions[index];
        if function.kind != Kind::Entry || has_bound(&function.bounds) {
            continue;
        }
        if let Some(body) = body(&text[item.range.clone()]) {
            let start = item.range.start + body;
            bounded.push_str(&text[copied..start]);
            bounded.push_str(&format!(".maxnreg {registers} "));
            copied = start;
        }
    }
    bounded.push_str(&text[copied..]);
    bounded
}

fn has_bound(bounds: &Bounds<'_>) -> bool {
    bounds.max_registers.is_some() || bounds.max_threads.is_some() || bounds.required_threads.is_some()
}

/// The start of a function's body in its text.
fn body(text: &str) -> Option<usize> {
    let mut lexer = Lexer::new(text);
    let mut depth = 0_usize;
    while let Ok(word) = lexer.next() {
        match word.text {
            "" => break,
            "(" => depth += 1,
            ")" => depth = depth.saturating_sub(1),
            "{" if depth == 0 => return Some(word.start),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::Program;

    #[test]
    fn kernels_without_a_bound_get_one() -> Result<(), crate::error::Error> {
        let text = ".version 8.7 .target sm_90 .address_size 64
            .func f() { ret; }
            .visible .entry plain(.param .u64 p) /* { */ { call f; ret; }
            .visible .entry own() .maxnreg 64 { ret; }
            .visible .entry threads() .maxntid 1024, 1, 1 { ret; }
            .visible .entry last() .minnctapersm 1 { ret; }";
        let program = Program::from_text(&bounded(text, 24))?;
        let bounds: Vec<_> = program.kernels().map(|kernel| (kernel.name(), kernel.register_bound())).collect();
        assert_eq!(bounds, [("plain", Some(24)), ("own", Some(64)), ("threads", Some(64)), ("last", Some(24))]);
        Ok(())
    }
}
