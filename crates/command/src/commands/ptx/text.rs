//! One PTX text: header, kernels, instructions, problems.

use std::collections::BTreeMap;

use warploom_ptx::syntax::{Block, Function, Instruction, Kind, Module, Statement, Variable};
use warploom_ptx::{Error, Header, Problem, Program};
use warploom_sim::CodeText;

use crate::report::{KernelReport, ParameterReport, ProblemReport, PtxText};

/// The most problems of a text that are listed.
const MOST_PROBLEMS: usize = 20;

/// Reports on a text of a file that a device accepts, or not.
pub(super) fn report(part: &CodeText<'_>, is_accepted: bool) -> PtxText {
    let header = Header::read(part.text).ok();
    let mut report = PtxText {
        cubin: part.cubin.map(|architecture| format!("sm_{architecture}")),
        version: header.as_ref().map(|header| header.version.to_string()),
        target: header.as_ref().map(|header| header.target.to_string()),
        kernels: Vec::new(),
        functions: 0,
        opcodes: BTreeMap::new(),
        instructions: BTreeMap::new(),
        problems: Vec::new(),
        warnings: Vec::new(),
    };
    let module = match Module::parse(part.text) {
        Ok(module) => module,
        Err(error) => {
            report.problems.push(problem(&error));
            return report;
        }
    };
    let program = Program::from_text(part.text);
    for function in module.functions.iter().filter(|function| function.body.is_some()) {
        let mut count = 0;
        each_instruction(function.body.as_ref(), &mut |instruction| {
            count += 1;
            *report.opcodes.entry(instruction.opcode.to_owned()).or_default() += 1;
            *report.instructions.entry(spelled(instruction)).or_default() += 1;
        });
        match function.kind {
            Kind::Entry => report.kernels.push(kernel(function, count, program.as_ref().ok())),
            Kind::Function => report.functions += 1,
        }
    }
    match program {
        Ok(program) => report.warnings = program.warnings().to_vec(),
        // The texts of a cubin are linked with each other: a function of another text is no problem.
        Err(_) if part.cubin.is_some() && is_accepted => {}
        Err(error) => report.problems = problems(part.text, error),
    }
    report
}

/// Opcode and modifiers.
fn spelled(instruction: &Instruction<'_>) -> String {
    let mut text = instruction.opcode.to_owned();
    for modifier in &instruction.modifiers {
        text.push('.');
        text += modifier;
    }
    text
}

fn each_instruction<'m, 't>(block: Option<&'m Block<'t>>, see: &mut impl FnMut(&'m Instruction<'t>)) {
    for statement in block.into_iter().flat_map(|block| &block.statements) {
        match statement {
            Statement::Instruction(instruction) => see(instruction),
            Statement::Block(block) => each_instruction(Some(block), see),
            _ => {}
        }
    }
}

fn kernel(function: &Function<'_>, instructions: usize, program: Option<&Program>) -> KernelReport {
    let decoded = program.and_then(|program| program.kernel(function.name));
    KernelReport {
        name: function.name.to_owned(),
        parameters: function.parameters.iter().map(parameter).collect(),
        registers: decoded.map(|kernel| kernel.register_bound().unwrap_or(u32::MAX).min(kernel.registers())),
        shared_bytes: decoded.map(|kernel| kernel.shared_bytes()),
        local_bytes: decoded.map(|kernel| kernel.local_bytes()),
        max_threads: function.bounds.required_threads.or(function.bounds.max_threads),
        instructions,
    }
}

fn parameter(variable: &Variable<'_>) -> ParameterReport {
    let mut declared = String::new();
    if let Some(alignment) = variable.alignment {
        declared += &format!(".align {alignment} ");
    }
    declared += &format!(".{}", variable.scalar.name());
    if variable.lanes > 1 {
        declared = format!(".v{} {declared}", variable.lanes);
    }
    let mut bytes = u64::from(variable.scalar.size()) * u64::from(variable.lanes);
    for dimension in &variable.dimensions {
        bytes = bytes.saturating_mul(dimension.unwrap_or(0));
        declared += &dimension.map_or_else(|| "[]".to_owned(), |count| format!("[{count}]"));
    }
    ParameterReport { name: variable.name.to_owned(), declared, bytes }
}

/// The problem that stops decoding, and further ones: an instruction that cannot be run is blanked out, and
/// the text decoded again.
fn problems(text: &str, first: Error) -> Vec<ProblemReport> {
    let mut problems = vec![problem(&first)];
    let (mut blanked, mut last) = (text.to_owned(), first);
    while problems.len() < MOST_PROBLEMS && matches!(last.problem, Problem::Instruction { .. }) {
        let Some(range) = instruction_at(&blanked, &last) else { break };
        let spaces: String = blanked[range.clone()].chars().map(|c| if c == '\n' { '\n' } else { ' ' }).collect();
        blanked.replace_range(range, &spaces);
        match Program::from_text(&blanked) {
            // Other errors may come from the blanks.
            Err(error) if matches!(error.problem, Problem::Instruction { .. }) => {
                problems.push(problem(&error));
                last = error;
            }
            _ => break,
        }
    }
    problems
}

/// The bytes of the instruction in which an error is, without its guard's label.
fn instruction_at(text: &str, error: &Error) -> Option<std::ops::Range<usize>> {
    let module = Module::parse(text).ok()?;
    let mut found = None;
    for function in &module.functions {
        each_instruction(function.body.as_ref(), &mut |instruction| {
            if instruction.place <= error.place {
                found = found.max(Some((instruction.place, instruction.text)));
            }
        });
    }
    let (_, instruction) = found?;
    let start = instruction.as_ptr().addr().checked_sub(text.as_ptr().addr())?;
    // The semicolon behind it goes, too.
    let end = start + instruction.len();
    let semicolon = text.get(end..)?.find(';')? + end + 1;
    text.is_char_boundary(start).then_some(start..semicolon)
}

fn problem(error: &Error) -> ProblemReport {
    ProblemReport {
        line: error.place.line,
        column: error.place.column,
        problem: error.problem.to_string(),
        shown: error.to_string(),
    }
}
