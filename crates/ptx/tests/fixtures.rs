//! The texts that NVRTC makes of our kernels.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use warploom_ptx::syntax::{Block, Immediate, Initial, Kind, Module, Operand, Space, Statement};

fn kernels() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels")
}

/// Every text, by the end of its path: `compute_75/vector.ptx`.
fn texts() -> BTreeMap<String, String> {
    let mut texts = BTreeMap::new();
    for folder in fs::read_dir(kernels().join("ptx")).expect("the folder of texts") {
        let folder = folder.expect("a folder").path();
        for file in fs::read_dir(&folder).expect("a folder of texts") {
            let path = file.expect("a text").path();
            let name = format!("{}/{}", name(&folder), name(&path));
            texts.insert(name, fs::read_to_string(path).expect("a text"));
        }
    }
    texts
}

fn name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).expect("a plain name")
}

#[track_caller]
fn parsed<'t>(texts: &'t BTreeMap<String, String>, name: &str) -> Module<'t> {
    Module::parse(&texts[name]).unwrap_or_else(|error| panic!("{name}:{error}"))
}

fn each_statement<'b, 't>(block: &'b Block<'t>, see: &mut impl FnMut(&'b Statement<'t>)) {
    for statement in &block.statements {
        see(statement);
        if let Statement::Block(inner) = statement {
            each_statement(inner, see);
        }
    }
}

fn statements<'m, 't>(module: &'m Module<'t>) -> Vec<&'m Statement<'t>> {
    let mut found = Vec::new();
    for body in module.functions.iter().filter_map(|function| function.body.as_ref()) {
        each_statement(body, &mut |statement| found.push(statement));
    }
    found
}

#[test]
fn every_text_is_read() {
    let texts = texts();
    let mut instructions = 0;
    for name in texts.keys() {
        let module = parsed(&texts, name);
        let found =
            statements(&module).iter().filter(|statement| matches!(statement, Statement::Instruction(_))).count();
        assert!(found > 0, "{name}");
        instructions += found;
    }
    assert!(instructions > 9_000, "{instructions} instructions");
}

/// Written anew from the tree, an instruction is what it was, up to the space between words.
#[test]
fn no_word_of_an_instruction_is_lost() {
    let texts = texts();
    for name in texts.keys() {
        for statement in statements(&parsed(&texts, name)) {
            let Statement::Instruction(instruction) = statement else { continue };
            let mut mnemonic = instruction.opcode.to_owned();
            for modifier in &instruction.modifiers {
                mnemonic.push('.');
                mnemonic.push_str(modifier);
            }
            let mut words = instruction.text.split_whitespace();
            let mut first = words.next();
            if let Some(guard) = instruction.guard {
                let sign = if guard.negated { "!" } else { "" };
                assert_eq!(first, Some(format!("@{sign}{}", guard.register).as_str()), "{name}: {}", instruction.text);
                first = words.next();
            }
            assert_eq!(first, Some(mnemonic.as_str()), "{name}: {}", instruction.text);
            let commas = instruction.text.matches(',').count();
            let mut inner = 0;
            for operand in &instruction.operands {
                if let Operand::Vector(list) | Operand::Bracketed(list) | Operand::Parenthesized(list) = operand {
                    inner += list.len().saturating_sub(1);
                    let nested = list.iter().filter_map(|part| match part {
                        Operand::Vector(part) => Some(part.len() - 1),
                        _ => None,
                    });
                    inner += nested.sum::<usize>();
                }
            }
            assert_eq!(commas, inner + instruction.operands.len().saturating_sub(1), "{name}: {}", instruction.text);
        }
    }
}

#[test]
fn every_kernel_is_described_with_as_many_arguments_as_it_takes() {
    let readme = fs::read_to_string(kernels().join("README.md")).expect("the description");
    // | `saxpy` | `float a`, `const float* x` | what it computes |
    let described: BTreeMap<&str, usize> = readme
        .lines()
        .filter_map(|line| {
            let mut cells = line.strip_prefix("| `")?.split(" | ");
            let name = cells.next()?.strip_suffix('`')?;
            Some((name, cells.next()?.matches('`').count() / 2))
        })
        .collect();
    let texts = texts();
    let mut found = BTreeSet::new();
    for name in texts.keys() {
        for kernel in parsed(&texts, name).functions.iter().filter(|function| function.kind == Kind::Entry) {
            assert_eq!(described.get(kernel.name), Some(&kernel.parameters.len()), "{}", kernel.name);
            found.insert(kernel.name);
        }
    }
    assert_eq!(found, described.into_keys().collect(), "what is described and what there is");
    assert!(found.len() >= 40, "{} kernels", found.len());
}

#[test]
fn texts_that_need_an_architecture_lie_in_its_folder() {
    for (name, text) in texts() {
        let header = Module::parse(&text).expect("a text").header;
        let folder = format!("compute_{}/", header.target.architecture);
        assert!(name.starts_with(&folder), "{name} is for {}", header.target);
    }
}

#[test]
fn initialisers_are_numbers_and_addresses() {
    let texts = texts();
    let module = parsed(&texts, "compute_75/memory.ptx");
    let variable = |name| module.variables.iter().find(|variable| variable.name == name).expect("a variable");
    let middle = variable("middle");
    assert!(
        matches!(&middle.initial, Some(Initial::Address(symbol)) if (symbol.name, symbol.generic, symbol.offset) == ("numbers", true, 12))
    );
    let Some(Initial::List(weights)) = &variable("weights").initial else { panic!("weights are a list") };
    let bytes: Vec<u8> = weights
        .iter()
        .map(|weight| match weight {
            Initial::Value(Immediate::Integer(byte)) => u8::try_from(byte.bits).expect("a byte"),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(bytes[..4], 0.0625_f32.to_le_bytes());
    assert_eq!(variable("given").space, Space::Constant);
    assert_eq!(variable("shared_with_host").attributes[0].name, "managed");
}

#[test]
fn jumps_prototypes_source_lines_and_sections_are_there() {
    let texts = texts();
    let jump = parsed(&texts, "compute_75/jump.ptx");
    let tables = statements(&jump).into_iter().filter_map(|statement| match statement {
        Statement::BranchTargets(targets) => Some(targets.labels.len()),
        _ => None,
    });
    assert!(tables.min() >= Some(15));
    let calls = parsed(&texts, "compute_75/calls.ptx");
    assert!(
        statements(&calls)
            .iter()
            .any(|statement| matches!(statement, Statement::Prototype(shape) if shape.parameters.len() == 2))
    );
    let lines = parsed(&texts, "compute_75/lineinfo.ptx");
    assert!(lines.files[0].path.ends_with("lineinfo.cu"));
    assert!(
        statements(&lines)
            .iter()
            .any(|statement| matches!(statement, Statement::Location(location) if location.inlined_at.is_some()))
    );
    let debug = parsed(&texts, "compute_75/debug.ptx");
    assert!(debug.header.target.debug && debug.sections.iter().any(|section| section.name == ".debug_info"));
}
