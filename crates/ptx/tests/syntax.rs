//! The syntax tree of whole texts.

use warploom_ptx::syntax::{
    Address, Base, Function, Immediate, Initial, Integer, Kind, Linkage, Module, Operand, Pointer, Pragma, ScalarType,
    Space, Statement,
};
use warploom_ptx::{Error, Position};

const HEADER: &str = ".version 8.7\n.target sm_90\n.address_size 64\n";

/// A text with the usual header, which must parse.
fn module(items: &str) -> Result<String, Error> {
    let text = format!("{HEADER}{items}");
    Module::parse(&text)?;
    Ok(text)
}

/// The operands of one instruction, printed as Rust prints them.
#[track_caller]
fn with_operands(instruction: &str, check: impl FnOnce(&[Operand<'_>])) {
    with_statements(instruction, |statements| match statements {
        [Statement::Instruction(instruction)] => check(&instruction.operands),
        other => panic!("{instruction} was read as {other:?}"),
    });
}

#[track_caller]
fn with_statements(statements: &str, check: impl FnOnce(&[Statement<'_>])) {
    let text = module(&format!(".entry f {{ {statements} }}")).expect("a body");
    let module = Module::parse(&text).expect("it was read once");
    check(&module.functions[0].body.as_ref().expect("it has braces").statements);
}

#[track_caller]
fn with_function(function: &str, check: impl FnOnce(&Function<'_>)) {
    let text = module(function).expect("a function");
    check(&Module::parse(&text).expect("it was read once").functions[0]);
}

fn integer(value: i64) -> Operand<'static> {
    Operand::Immediate(Immediate::Integer(Integer::signed(value)))
}

#[track_caller]
fn value(expression: &str) -> Immediate {
    let mut found = None;
    with_operands(&format!("mov.b64 a, {expression};"), |operands| match operands {
        [_, Operand::Immediate(immediate)] => found = Some(*immediate),
        other => panic!("{expression} was read as {other:?}"),
    });
    found.expect("the check ran")
}

#[test]
fn a_declaration_is_kept_word_for_word() -> Result<(), Error> {
    let text = module(
        ".visible .global .align 16 .v4 .f32 table[2][3];
         .extern .shared .align 8 .b8 dynamic[];
         .global .attribute(.managed) .u32 first = 7, second;
         .tex .u64 old;",
    )?;
    let module = Module::parse(&text)?;
    let [table, dynamic, first, second, old] = module.variables.as_slice() else { panic!("{:?}", module.variables) };
    assert_eq!((table.linkage, table.space, table.alignment), (Linkage::Visible, Space::Global, Some(16)));
    assert_eq!(
        (table.scalar, table.lanes, table.dimensions.as_slice()),
        (ScalarType::F32, 4, [Some(2), Some(3)].as_slice())
    );
    assert_eq!(table.place, Position { line: 4, column: 37 });
    assert_eq!(
        (dynamic.linkage, dynamic.space, dynamic.dimensions.as_slice()),
        (Linkage::Extern, Space::Shared, [None].as_slice())
    );
    assert_eq!(first.attributes[0].name, "managed");
    assert_eq!(first.initial, Some(Initial::Value(Immediate::Integer(Integer::signed(7)))));
    assert_eq!((second.name, &second.initial, second.attributes.len()), ("second", &None, 1));
    assert_eq!(old.space, Space::Texture);
    Ok(())
}

#[test]
fn initialisers_hold_numbers_lists_and_addresses() -> Result<(), Error> {
    let text = module(
        ".global .u64 a[4] = {generic(b)+8, f, 0xFF00(generic(b)), -1};
         .global .f32 m[2][2] = {{0f3F800000, 0f00000000}, {}};",
    )?;
    let module = Module::parse(&text)?;
    let Some(Initial::List(list)) = &module.variables[0].initial else { panic!() };
    let [Initial::Address(b), Initial::Address(f), Initial::Address(byte), Initial::Value(number)] = list.as_slice()
    else {
        panic!("{list:?}")
    };
    assert_eq!((b.name, b.generic, b.offset, b.byte), ("b", true, 8, None));
    assert_eq!((f.name, f.generic, f.offset), ("f", false, 0));
    assert_eq!((byte.name, byte.generic, byte.byte), ("b", true, Some(1)));
    assert_eq!(*number, Immediate::Integer(Integer::signed(-1)));
    let Some(Initial::List(rows)) = &module.variables[1].initial else { panic!() };
    assert_eq!(
        rows[0],
        Initial::List(vec![Initial::Value(Immediate::F32(0x3F80_0000)), Initial::Value(Immediate::F32(0))])
    );
    assert_eq!(rows[1], Initial::List(Vec::new()));
    Ok(())
}

#[test]
fn a_kernel_keeps_its_parameters_and_bounds() {
    let text = ".weak .entry k(.param .u64 .ptr .global .align 16 p, .param .align 4 .b8 s[12])
                .maxntid 256, 2 .minnctapersm 3 .reqnctapercluster 2 .explicitcluster .pragma \"x\"; { ret; }";
    with_function(text, |kernel| {
        assert_eq!((kernel.kind, kernel.linkage, kernel.name), (Kind::Entry, Linkage::Weak, "k"));
        let [p, s] = kernel.parameters.as_slice() else { panic!("{:?}", kernel.parameters) };
        assert_eq!(p.pointer, Some(Pointer { space: Some(Space::Global), alignment: 16 }));
        assert_eq!((p.alignment, p.scalar, p.space), (None, ScalarType::U64, Space::Parameter));
        assert_eq!((s.alignment, s.dimensions.as_slice()), (Some(4), [Some(12)].as_slice()));
        assert_eq!((kernel.bounds.max_threads, kernel.bounds.min_blocks), (Some([256, 2, 1]), Some(3)));
        assert_eq!((kernel.bounds.required_cluster, kernel.bounds.explicit_cluster), (Some([2, 1, 1]), true));
        assert_eq!(kernel.bounds.pragmas.iter().map(|pragma| pragma.text).collect::<Vec<_>>(), ["x"]);
    });
}

#[test]
fn a_function_may_return_and_may_have_no_body() {
    with_function(".extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b) ;", |function| {
        assert_eq!((function.kind, function.results[0].name, function.parameters.len()), (Kind::Function, "r", 2));
        assert!(function.body.is_none());
    });
    with_function(".func stop() .noreturn { trap; }", |function| assert!(function.bounds.never_returns));
}

#[test]
fn an_instruction_is_its_words() {
    with_statements("  @!%p1 ld.global.L1::no_allocate .v2.f32 {a, _}, [b];", |statements| {
        let [Statement::Instruction(instruction)] = statements else { panic!("{statements:?}") };
        let guard = instruction.guard.unwrap();
        assert_eq!((guard.register, guard.negated), ("%p1", true));
        assert_eq!(instruction.opcode, "ld");
        assert_eq!(*instruction.modifiers, ["global", "L1::no_allocate", "v2", "f32"]);
        assert_eq!(instruction.text, "@!%p1 ld.global.L1::no_allocate .v2.f32 {a, _}, [b]");
        assert_eq!(instruction.place, Position { line: 4, column: 14 });
    });
}

#[test]
fn every_kind_of_operand_is_told_apart() {
    with_operands("x %r1, %tid.x, -7, 0f3F800000, !%p2, _, %p1|%p2, _|q, g+16;", |operands| {
        let expected = [
            Operand::Name("%r1"),
            Operand::Element { name: "%tid", element: "x" },
            integer(-7),
            Operand::Immediate(Immediate::F32(0x3F80_0000)),
            Operand::Not("%p2"),
            Operand::Sink,
            Operand::Pair(Some("%p1"), Some("%p2")),
            Operand::Pair(None, Some("q")),
            Operand::Sum { name: "g", offset: 16 },
        ];
        assert_eq!(operands, expected);
    });
    let address = |base, offset| Address { base, offset, unified: false };
    with_operands("x [a], [%rd1+4], [a+-8], [64], [v.y+4], a[3];", |operands| {
        let expected = [
            Operand::Address(address(Base::Name("a"), 0)),
            Operand::Address(address(Base::Name("%rd1"), 4)),
            Operand::Address(address(Base::Name("a"), -8)),
            Operand::Address(address(Base::Zero, 64)),
            Operand::Address(address(Base::Element("v", "y"), 4)),
            Operand::Subscript { name: "a", index: Box::new(address(Base::Zero, 3)) },
        ];
        assert_eq!(operands, expected);
    });
    with_operands("ld.global.u64 a, [b].unified;", |operands| {
        assert!(matches!(operands[1], Operand::Address(Address { unified: true, .. })));
    });
    with_operands("tex.2d.v4.f32.f32 {a, b, c, d}, [t, s, {x, y}];", |operands| {
        let texture = [
            Operand::Address(address(Base::Name("t"), 0)),
            Operand::Name("s"),
            Operand::Vector(vec![Operand::Name("x"), Operand::Name("y")]),
        ];
        assert_eq!(operands[1], Operand::Bracketed(texture.into()));
    });
}

#[test]
fn parentheses_are_lists_in_calls_and_arithmetic_elsewhere() {
    with_operands("call.uni (r), f, (a, 3), p;", |operands| {
        let expected = [
            Operand::Parenthesized(vec![Operand::Name("r")]),
            Operand::Name("f"),
            Operand::Parenthesized(vec![Operand::Name("a"), integer(3)]),
            Operand::Name("p"),
        ];
        assert_eq!(operands, expected);
    });
    with_operands("mov.u32 a, (2+3)*4;", |operands| assert_eq!(operands[1], integer(20)));
}

#[test]
fn constants_are_computed_with_64_bits() {
    for (expression, expected) in [
        ("1+2*3", 7),
        ("(1+2)*3", 9),
        ("10-4-3", 3),
        ("-7/2", -3),
        ("-7 % 3", -1),
        ("1<<4|3", 19),
        ("-8>>1", -4),
        ("1<<64", 0),
        ("!0", 1),
        ("~0", -1),
        ("2<3&&3<=3", 1),
        ("1?2:0?4:5", 2),
        ("0?2:0?4:5", 5),
        ("WARP_SZ-1", 31),
        ("-9223372036854775808", i64::MIN),
        ("(.s64)0xFFFFFFFFFFFFFFFF", -1),
        ("- - 5", 5),
        ("1!=2", 1),
        ("1^3&2", 3),
    ] {
        assert_eq!(value(expression), Immediate::Integer(Integer::signed(expected)), "{expression}");
    }
    assert_eq!(value("7U-8"), Immediate::Integer(Integer { bits: u64::MAX, signed: false }));
    assert_eq!(value(".5"), Immediate::F64(0.5_f64.to_bits()));
    assert_eq!(value("-1.5+1.0"), Immediate::F64((-0.5_f64).to_bits()));
    assert_eq!(value("-0f00000000"), Immediate::F32(1 << 31));
}

#[test]
fn bodies_hold_blocks_lists_and_source_lines() {
    let text = "{ .reg .pred %p<3>, q; .local .align 8 .b8 frame[16]; .pragma \"nounroll\";
                  ts: .branchtargets $L1, $L2; cs: .calltargets f; here: brx.idx r, ts;
                  pt: .callprototype (.param .b32 _) _ (.param .b64 _, .param .b32 _) ;
                  .loc 1 23 5, function_name $s+4, inlined_at 1 40 3 }";
    with_statements(text, |statements| {
        let [Statement::Block(block)] = statements else { panic!("{statements:?}") };
        let [
            Statement::Registers(registers),
            Statement::Variable(frame),
            Statement::Pragma(Pragma { text: "nounroll", place: Position { line: 4, column: 74 } }),
            Statement::BranchTargets(branches),
            Statement::CallTargets(calls),
            Statement::Label(here),
            Statement::Instruction(jump),
            Statement::Prototype(prototype),
            Statement::Location(location),
        ] = block.statements.as_slice()
        else {
            panic!("{block:?}")
        };
        assert_eq!(
            (registers.scalar, registers.names[0].count, registers.names[1].count),
            (ScalarType::Predicate, Some(3), None)
        );
        assert_eq!((frame.space, frame.name), (Space::Local, "frame"));
        assert_eq!((branches.name, branches.labels.as_slice()), ("ts", ["$L1", "$L2"].as_slice()));
        assert_eq!(calls.functions, ["f"]);
        assert_eq!((here.name, jump.opcode, &*jump.modifiers), ("here", "brx", ["idx"].as_slice()));
        assert_eq!((prototype.results.len(), prototype.parameters.len()), (1, 2));
        assert_eq!((location.source, location.inlined_at), ([1, 23, 5], Some([1, 40, 3])));
        assert_eq!(location.function, Some(("$s", 4)));
        assert_eq!((block.place.line, block.end.line), (4, 7));
    });
}

#[test]
fn files_sections_and_aliases_are_kept() -> Result<(), Error> {
    let text = module(
        ".file 1 \"a\\\\b.cu\", 12, 34\n.pragma \"p\";\n.section .debug_str { $s: .b8 95,90\n.b8 0 }
         .func f { ret; } .alias g, f;",
    )?;
    let module = Module::parse(&text)?;
    assert_eq!((module.files[0].number, module.files[0].path), (1, "a\\\\b.cu"));
    assert_eq!((module.sections[0].name, module.sections[0].text.trim()), (".debug_str", "$s: .b8 95,90\n.b8 0"));
    assert_eq!((module.aliases[0].name, module.aliases[0].function), ("g", "f"));
    assert_eq!(module.pragmas.iter().map(|pragma| pragma.text).collect::<Vec<_>>(), ["p"]);
    Ok(())
}
