//! Error texts for mistakes in a text.

use warploom_ptx::syntax::{MAX_DEPTH, MAX_LENGTH, Module};

/// The error of a text with a valid header.
#[track_caller]
fn mistake(items: &str) -> String {
    let text = format!(".version 8.7 .target sm_90 .address_size 64\n{items}");
    match Module::parse(&text) {
        Ok(module) => panic!("{items:?} was read as {module:?}"),
        Err(error) => error.to_string(),
    }
}

#[track_caller]
fn headline(items: &str) -> String {
    mistake(items).lines().next().unwrap_or_default().to_owned()
}

/// The error in the statements of a body.
#[track_caller]
fn in_body(statements: &str) -> String {
    headline(&format!(".entry f {{\n{statements}\n}}"))
}

#[test]
fn the_line_is_shown_with_a_mark_under_the_word() {
    let expected = "\
3:14: expected a comma or ; behind an operand, found `%r2`
  |
3 |  add.u32 %r1 %r2;
  |              ^^^";
    assert_eq!(mistake(".entry f {\n\tadd.u32 %r1 %r2;\n}"), expected);
}

#[test]
fn a_long_line_is_cut_around_the_mark() {
    let long = format!(".entry f {{ add.u32 , {} }}", "y".repeat(500));
    let shown = mistake(&long);
    let longest = shown.lines().map(|line| line.chars().count()).max();
    assert!(longest < Some(140), "{shown}");
    let far = format!(".entry f {{ /* {} */ add.u32 ,; }}", "é".repeat(500));
    let shown = mistake(&far);
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines[0], "2:527: expected an operand, found `,`");
    let mark = lines[3].chars().position(|character| character == '^');
    assert_eq!(lines[2].chars().position(|character| character == ','), mark, "{shown}");
}

#[test]
fn errors_name_the_expected_word() {
    for (items, expected) in [
        (".global u32 a;", "2:9: expected a type such as .b32, found `u32`"),
        (".global .u33 a;", "2:9: expected a type such as .b32, found `.u33`"),
        (".global .u32 a", "2:15: expected a comma, an initialiser or ; behind a variable, found the end of the text"),
        (".global .align 3 .u32 a;", "2:16: an alignment of 3 is out of range; expected a power of two"),
        (".global .u32 a[-1];", "2:16: expected an integer, found `-`"),
        (".global .u32 a[1.5];", "2:16: expected an integer, found `1.5`"),
        (".global .u32 a = 08;", "2:18: invalid number `08`; expected one such as 42, 0x2A, 0f3F800000 or 1.5"),
        (".global .u64 a = 0xF0(b);", "2:18: 0xf0 is out of range; expected a mask of one byte such as 0xFF00"),
        (".global .u64 a = 0(b);", "2:18: 0x0 is out of range; expected a mask of one byte such as 0xFF00"),
        (".entry (.param .u64 p) f { }", "2:8: expected the name of a function, found `(`"),
        (".entry f(.param .u64 p", "2:23: expected , or ) behind a parameter, found the end of the text"),
        (".entry f .maxthreads 3 { }", "2:10: expected a directive of a kernel such as .maxntid, found `.maxthreads`"),
        (".entry f .maxntid 4294967296 { }", "2:19: 4294967296 is out of range; expected at most 4294967295"),
        (".func f .maxntid 3 { }", "2:9: expected a directive of a function such as .noreturn, found `.maxntid`"),
        (".global .u32 .align 4 a;", "2:14: expected the name of a variable, found `.align`"),
        (".global .attribute(.a, .b, .c) .u32 a;", "2:28: expected at most 2 attributes, found `.c`"),
        (".global .u32 _;", "2:14: expected the name of a variable, found `_`"),
        (".global .bf16 a;", "2:9: expected a type such as .b32, found `.bf16`"),
        (".align 4 .u32 a;", "2:10: expected a variable or function, found `.u32`"),
        (".global .u32 a = 1u;", "2:18: invalid number `1u`; expected one such as 42, 0x2A, 0f3F800000 or 1.5"),
        (".entry {", "2:8: expected the name of a function, found `{`"),
        (".visible 3", "2:10: expected a variable or function, found `3`"),
        (".section .debug_str { .b8 1", "2:28: expected numbers and labels up to }, found the end of the text"),
        (".file 1 name", "2:9: expected the path of a source file in quotes, found `name`"),
    ] {
        assert_eq!(headline(items), expected);
    }
}

#[test]
fn statements_say_where_they_break() {
    for (statements, expected) in [
        ("ret", "4:1: expected an operand, found `}`"),
        ("mov.u32 %r1, ;", "3:14: expected an operand, found `;`"),
        ("ld.u32 %r1, [%r2;", "3:17: expected an offset, a comma or ] in an address, found `;`"),
        ("ld.u32 %r1, [%r2+%r3];", "3:18: expected an offset, found `%r3`"),
        ("mov.v2.u32 {a, {b}}, c;", "3:16: expected a name or number, found `{`"),
        ("mov.u32 a, 1/0;", "3:13: division by zero"),
        ("mov.u32 a, 1 + ;", "3:16: expected a number, found `;`"),
        ("ret;;", "3:5: expected an instruction, a label, a declaration or }, found `;`"),
        ("ld.u32 %r1, [%r2-4];", "3:17: expected an offset, a comma or ] in an address, found `-`"),
        ("ret; # 1", "3:6: expected an instruction, a label, a declaration or }, found `#`"),
        ("mov.u32 a, b.u32;", "3:13: expected a comma, ; or a part of a vector such as .x, found `.u32`"),
        ("mov.v2.u32 {}, a;", "3:13: expected an operand, found `}`"),
        ("@3 ret;", "3:2: expected a predicate, found `3`"),
        (".reg .b32;", "3:10: expected the name of a register, found `;`"),
        (".reg .b32 %r<x>;", "3:14: expected an integer, found `x`"),
        (".loc 1 2", "4:1: expected an integer, found `}`"),
        ("é;", "3:1: expected an instruction, a label, a declaration or }, found `é`"),
        ("\"s\";", "3:1: expected an instruction, a label, a declaration or }, found `\"s\"`"),
    ] {
        assert_eq!(in_body(statements), expected, "{statements}");
    }
}

#[test]
fn nesting_too_deep_is_refused_without_recursion() {
    let depth = format!("nested more than {MAX_DEPTH} deep");
    for count in [MAX_DEPTH, 1_000_000] {
        assert!(in_body(&"{".repeat(count)).contains(&depth));
        assert!(in_body(&format!("mov.u32 a, {}", "(".repeat(count))).contains(&depth));
        assert!(in_body(&format!("mov.u32 a, {}1", "-".repeat(count))).contains(&depth));
        assert!(in_body(&format!("mov.u32 a, {}", "1?".repeat(count))).contains(&depth));
        assert!(in_body(&format!("mov.pred a, {}1", "!".repeat(count + 1))).contains(&depth));
        assert!(in_body(&format!("mov.u32 a, {}", "(.s64)".repeat(count))).contains(&depth));
        assert!(headline(&format!(".global .u32 a = {}", "{".repeat(count + 1))).contains(&depth));
    }
}

#[test]
fn a_text_that_is_too_long_is_refused_before_it_is_read() {
    let long = " ".repeat(MAX_LENGTH + 1);
    let error = Module::parse(&long).unwrap_err().to_string();
    let expected = format!("a text of {} bytes; at most {MAX_LENGTH} can be read", MAX_LENGTH + 1);
    assert!(error.contains(&expected), "{error}");
}
