//! Control flow: branches, calls, returns.

use super::super::function::{Call, Passed};
use super::super::operation::Operation;
use super::super::slot::Slot;
use super::scope::{File, Symbol};
use super::{Decoded, Decoder, Into, Modifiers, Why};
use crate::syntax::{Features, Immediate, Instruction, Operand, ScalarType};

pub(super) fn branch<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    modifiers.flag("uni");
    let [target] = decoder.operands(instruction, "1")?;
    let Operand::Name(label) = target else { return Err(Why::Operand { index: 0, expected: "a label" }) };
    let index = decoder.code.instructions.len();
    decoder.emit(Operation::Branch, &[Slot::raw(0)]);
    decoder.fix(label, instruction.place, Into::Instruction(index));
    Ok(())
}

pub(super) fn branch_indexed<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    modifiers.flag("uni");
    if !modifiers.flag("idx") {
        return Err(Why::Missing("`.idx`"));
    }
    let [index, targets] = decoder.operands(instruction, "2")?;
    let index = decoder.value(index, ScalarType::U32)?;
    let Operand::Name(name) = targets else { return Err(Why::Operand { index: 1, expected: "a list of targets" }) };
    let Symbol::Targets(first, count) = decoder.symbol(name)? else {
        return Err(Why::Operand { index: 1, expected: "a list of targets" });
    };
    decoder.emit(Operation::BranchIndexed, &[index, Slot::raw(first), Slot::raw(count)]);
    Ok(())
}

impl<'t> Decoder<'_, 't> {
    fn passed_along(&mut self, operands: &[Operand<'t>]) -> Decoded<Vec<Passed>> {
        operands.iter().map(|operand| self.passed_one(operand)).collect()
    }

    fn passed_one(&mut self, operand: &Operand<'t>) -> Decoded<Passed> {
        match operand {
            Operand::Name(name) => Ok(match self.symbol(name)? {
                Symbol::Frame(offset, size) => Passed::Frame { offset, size },
                Symbol::Register(File::Words, slot) => Passed::Word(slot),
                Symbol::Register(File::Longs, slot) => Passed::Long(slot),
                Symbol::Register(File::Pairs, slot) => Passed::Pair(slot),
                Symbol::Register(File::Predicates, slot) => Passed::Predicate(slot),
                _ => Passed::Long(self.value(operand, ScalarType::U64)?),
            }),
            Operand::Immediate(Immediate::F64(bits)) => Ok(Passed::Long(self.long(*bits))),
            Operand::Immediate(_) => Ok(Passed::Word(self.value(operand, ScalarType::B32)?)),
            Operand::Sink => Ok(Passed::Word(Slot::SINK)),
            _ => Err(Why::Operand { index: 2, expected: "a variable, a register or a number" }),
        }
    }
}

pub(super) fn call<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    modifiers.flag("uni");
    let (results, rest) = match instruction.operands.as_slice() {
        [Operand::Parenthesized(results), rest @ ..] => (results.as_slice(), rest),
        rest => ([].as_slice(), rest),
    };
    let [callee, rest @ ..] = rest else { return Err(Why::Missing("what is called")) };
    let arguments = match rest {
        [Operand::Parenthesized(arguments), ..] => arguments.as_slice(),
        _ => [].as_slice(),
    };
    let (results, arguments) = (decoder.passed_along(results)?, decoder.passed_along(arguments)?);
    let index = Slot::raw(decoder.code.calls.len() as u32);
    let symbol = match callee {
        Operand::Name(name) => decoder.symbol(name)?,
        _ => return Err(Why::Operand { index: 1, expected: "a function or a register" }),
    };
    let function = match symbol {
        Symbol::Function(function) => {
            decoder.callable(function)?;
            decoder.emit(Operation::Call, &[index]);
            Some(function)
        }
        Symbol::Register(File::Longs, slot) => {
            decoder.emit(Operation::CallIndirect, &[index, slot]);
            None
        }
        _ => return Err(Why::Operand { index: 1, expected: "a function or a register of 64 bits" }),
    };
    decoder.code.calls.push(Call { function, arguments, results });
    Ok(())
}

impl Decoder<'_, '_> {
    /// Refuses a function without a definition.
    fn callable(&self, index: u32) -> Decoded {
        let function = &self.code.functions[index as usize];
        let defined = self.is_part
            || self
                .module
                .functions
                .iter()
                .any(|other| other.body.is_some() && self.functions.get(other.name) == Some(&index));
        if defined || function.builtin.is_some() { Ok(()) } else { Err(Why::Body(function.name.clone())) }
    }
}

pub(super) fn leave<'t>(decoder: &mut Decoder<'_, 't>, _: &Instruction<'t>, modifiers: &mut Modifiers) -> Decoded {
    modifiers.flag("uni");
    decoder.emit(Operation::Return, &[]);
    Ok(())
}

pub(super) fn exit<'t>(decoder: &mut Decoder<'_, 't>, _: &Instruction<'t>, _: &mut Modifiers) -> Decoded {
    decoder.emit(Operation::Exit, &[]);
    Ok(())
}

pub(super) fn trap<'t>(decoder: &mut Decoder<'_, 't>, _: &Instruction<'t>, _: &mut Modifiers) -> Decoded {
    // Without a debugger a breakpoint is a trap, too.
    decoder.emit(Operation::Trap, &[]);
    Ok(())
}

pub(super) fn sleep<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    let scalar = modifiers.scalar()?;
    let [time] = decoder.operands(instruction, "1")?;
    let time = decoder.value(time, scalar)?;
    decoder.emit(Operation::Sleep, &[time]);
    Ok(())
}

/// Instructions without an effect that a thread could see.
pub(super) fn nothing<'t>(
    decoder: &mut Decoder<'_, 't>,
    instruction: &Instruction<'t>,
    modifiers: &mut Modifiers,
) -> Decoded {
    if instruction.opcode == "setmaxnreg" && decoder.code.header.target.features == Features::Portable {
        return Err(Why::Other("it needs `.target sm_90a`"));
    }
    if instruction.opcode == "griddepcontrol" && !matches!(&instruction.modifiers[..], ["wait" | "launch_dependents"]) {
        return Err(Why::Missing("`.wait` or `.launch_dependents`"));
    }
    while modifiers.pick(|_| Some(())).is_some() {}
    decoder.emit(Operation::Nothing, &[]);
    Ok(())
}
