//! Linking of several texts.

use warploom_ptx::link::{ConflictKind, Part, link};
use warploom_ptx::{Grid, Launch, Program, Step, VecMemory};

fn text(body: &str) -> String {
    format!(".version 8.3\n.target sm_75\n.address_size 64\n{body}")
}

fn part(name: &str, body: &str) -> Part {
    Part::new(name, &text(body)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// A kernel that stores what `f(7) + counter` is.
const KERNEL: &str = ".extern .func (.param .b32 r) f(.param .b32 a);
    .extern .global .align 4 .u32 counter;
    .visible .entry kernel(.param .u64 out)
    {
        .reg .b32 %r<4>;
        .reg .b64 %rd<3>;
        ld.param.u64 %rd1, [out];
        mov.u32 %r1, 7;
        { .param .b32 a; .param .b32 r; st.param.b32 [a], %r1; call.uni (r), f, (a); ld.param.b32 %r2, [r]; }
        ld.global.u32 %r3, [counter];
        add.u32 %r3, %r3, %r2;
        st.global.u32 [%rd1], %r3;
        ret;
    }";

fn function(linkage: &str, add: u32) -> String {
    format!(
        "{linkage} .func (.param .b32 r) f(.param .b32 a)
         {{ .reg .b32 %r<3>; ld.param.b32 %r1, [a]; add.u32 %r2, %r1, {add}; st.param.b32 [r], %r2; ret; }}"
    )
}

fn variable(linkage: &str, value: u32) -> String {
    format!("{linkage} .global .align 4 .u32 counter = {value};")
}

/// The value that the kernel of linked texts stores.
fn run(parts: &[Part]) -> u32 {
    let text = link(parts, 90).unwrap_or_else(|conflicts| panic!("{conflicts:?}"));
    let program = Program::from_text(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let memory = VecMemory::new(1 << 12);
    let program = memory.place(&program);
    let out = memory.reserve(4);
    let launch = Launch { arguments: &out.to_le_bytes(), ..Launch::default() };
    let mut grid = Grid::new(program.kernel("kernel").expect("it is there"), launch, &memory).expect("it fits");
    loop {
        match grid.step(1000) {
            Step::Running => {}
            Step::Done => break,
            Step::Trapped(trap) => panic!("{trap}"),
        }
    }
    u32::from_le_bytes(memory.read(out, 4).try_into().expect("four bytes"))
}

/// The conflicts between some texts, and the symbols they are about.
fn conflicts(parts: &[Part]) -> Vec<(ConflictKind, String)> {
    let found = link(parts, 90).expect_err("they do not agree");
    found.into_iter().map(|conflict| (conflict.kind, conflict.symbol)).collect()
}

#[test]
fn a_reference_finds_its_definition_in_any_order_of_parts() {
    let definitions = format!("{}\n{}", function(".visible", 5), variable(".visible", 100));
    let (kernel, rest) = (part("kernel", KERNEL), part("rest", &definitions));
    assert_eq!(run(&[kernel.clone(), rest.clone()]), 112);
    assert_eq!(run(&[rest, kernel]), 112);
}

#[test]
fn undefined_and_multiply_defined_symbols_are_named() {
    let kernel = part("kernel", KERNEL);
    assert_eq!(
        conflicts(std::slice::from_ref(&kernel)),
        [(ConflictKind::Undefined, "counter".to_owned()), (ConflictKind::Undefined, "f".to_owned())]
    );
    let (one, two) = (part("one", &function(".visible", 5)), part("two", &function(".visible", 6)));
    let found = link(&[kernel, one, two], 90).expect_err("both define it");
    assert_eq!(found[0].to_string(), "Multiple definition of 'f' in 'two', first defined in 'one'");
    assert_eq!(found[1].to_string(), "Undefined reference to 'counter' in 'kernel'");
}

#[test]
fn an_unused_declaration_needs_no_definition() {
    let declared = ".extern .func f(.param .b32 a); .extern .global .u32 v; .visible .entry k() { ret; }";
    assert!(link(&[part("only", declared)], 90).is_ok());
}

#[test]
fn weak_definitions_give_way_and_common_ones_are_one() {
    let kernel = part("kernel", KERNEL);
    let weak = |add| part("weak", &format!("{}\n{}", function(".weak", add), variable(".weak", add * 10)));
    let strong = part("strong", &format!("{}\n{}", function(".visible", 3), variable(".visible", 30)));
    assert_eq!(run(&[kernel.clone(), weak(1), weak(2)]), 7 + 1 + 10);
    assert_eq!(run(&[kernel.clone(), weak(1), strong.clone()]), 7 + 3 + 30);
    assert_eq!(run(&[kernel.clone(), strong, weak(1)]), 7 + 3 + 30);
    let common = |bytes| part("common", &format!(".common .global .align 4 .b8 counter[{bytes}];"));
    let f = part("f", &function(".visible", 5));
    let text = link(&[kernel.clone(), f.clone(), common(4), common(16)], 90).expect("the largest is taken");
    assert!(text.contains("counter[16]") && !text.contains("counter[4]"), "{text}");
    assert_eq!(run(&[kernel, f, common(4), part("v", &variable(".visible", 9))]), 7 + 5 + 9);
}

#[test]
fn declarations_must_fit_the_definition() {
    let (kernel, f) = (part("kernel", KERNEL), part("f", &function(".visible", 5)));
    let wide = part("wide", ".visible .global .align 8 .u64 counter = 1;");
    assert_eq!(conflicts(&[kernel.clone(), f.clone(), wide]), [(ConflictKind::Size, "counter".to_owned())]);
    let constant = part("constant", ".visible .const .align 4 .u32 counter = 1;");
    assert_eq!(conflicts(&[kernel.clone(), f, constant]), [(ConflictKind::Space, "counter".to_owned())]);
    let other = part("other", ".visible .func f(.param .b64 a) { ret; }\n.visible .global .u32 counter;");
    assert_eq!(conflicts(&[kernel, other]), [(ConflictKind::Prototype, "f".to_owned())]);
}

#[test]
fn names_that_texts_keep_to_themselves_do_not_meet() {
    let own = |name: &str, value: u32, add: u32| {
        let text = format!(
            ".global .align 4 .u32 hidden = {value}, other = 0;
             .func (.param .b32 r) helper() {{ .reg .b32 %r<2>; ld.global.u32 %r1, [hidden]; st.param.b32 [r], %r1; ret; }}
             .visible .func (.param .b32 r) {name}(.param .b32 a)
             {{ .reg .b32 %r<4>; ld.param.b32 %r1, [a]; {{ .param .b32 x; call.uni (x), helper, (); ld.param.b32 %r2, [x]; }}
               add.u32 %r3, %r2, {add}; st.param.b32 [r], %r3; ret; }}"
        );
        part(name, &text)
    };
    let counter = part("counter", ".visible .global .align 4 .u32 counter = 0;\n.visible .global .u32 hidden;");
    let f = own("f", 20, 1);
    assert_eq!(run(&[part("kernel", KERNEL), own("g", 50, 2), f.clone(), counter.clone()]), 21);
    assert_eq!(run(&[part("kernel", KERNEL), f, own("g", 50, 2), counter]), 21);
}

#[test]
fn of_a_list_of_variables_only_those_that_hold_are_kept() {
    let kernel = part("kernel", KERNEL);
    let f = part("f", &function(".visible", 5));
    let weak = part("weak", ".weak .global .align 4 .u32 mine = 4, counter = 1, yours[2] = {1, 2};");
    let strong = part("strong", &variable(".visible", 100));
    let text = link(&[kernel.clone(), f.clone(), weak.clone(), strong.clone()], 90).expect("all is there");
    assert!(text.contains("mine = 4;") && text.contains("yours[2] = {1, 2};"), "{text}");
    assert_eq!(run(&[kernel, f, weak, strong]), 112);
}

#[test]
fn the_machines_own_functions_and_dynamic_memory_are_declared_once() {
    let printing = |name: &str, alignment: u32| {
        let text = format!(
            ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);
             .extern .shared .align {alignment} .b8 room[];
             .visible .entry {name}() {{ .reg .b32 %r<2>; .reg .b64 %rd<2>; mov.u64 %rd1, 0; ld.shared.u32 %r1, [room];
             {{ .param .b64 a; .param .b64 b; .param .b32 r; st.param.b64 [a], %rd1; st.param.b64 [b], %rd1;
                call.uni (r), vprintf, (a, b); }} ret; }}"
        );
        part(name, &text)
    };
    let text = link(&[printing("a", 4), printing("b", 16)], 90).expect("nothing is missing");
    assert_eq!((text.matches("vprintf(").count(), text.matches("room[]").count()), (1, 1), "{text}");
    assert!(text.contains(".align 16 .b8 room[]"), "{text}");
    assert!(Program::from_text(&text).is_ok());
}

#[test]
fn source_lines_stay_those_of_their_files() {
    let lines = |name: &str| {
        let text = format!(
            ".visible .entry {name}() {{ .loc 1 7 3\n.loc 1 8 3, function_name $L, inlined_at 1 9 1\ntrap; ret; }}
             .file 1 \"{name}.cu\"\n.section .debug_str {{ $L: .b8 65, 0 }}"
        );
        part(name, &text)
    };
    let text = link(&[lines("a"), lines("b")], 90).expect("nothing is missing");
    let program = Program::from_text(&text).expect("it is PTX");
    for name in ["a", "b"] {
        let memory = VecMemory::new(64);
        let kernel = program.kernel(name).expect("it is there");
        let mut grid = Grid::new(kernel, Launch::default(), &memory).expect("it fits");
        let Step::Trapped(trap) = grid.step(100) else { panic!("it traps") };
        assert_eq!(trap.source, Some((format!("{name}.cu"), 8)));
    }
}

#[test]
fn the_whole_is_for_the_newest_version_of_its_parts() {
    let new = Part::new("new", ".version 8.7\n.target sm_90a\n.address_size 64\n").expect("nothing is in it");
    let text = link(&[part("old", ""), new], 90).expect("nothing is in them");
    assert!(text.starts_with(".version 8.7\n.target sm_90a\n.address_size 64\n"), "{text}");
}

#[test]
fn a_part_that_is_wrong_in_itself_is_refused_alone() {
    let error = Part::new("bad", &text(".visible .entry k() {\n  no such;\n}")).unwrap_err();
    assert_eq!(error.place.line, 5);
    assert!(Part::new("bad", &text(".visible .entry k() {\n  call nobody;\n}")).is_err());
}
