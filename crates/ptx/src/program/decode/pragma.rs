//! Strings of `.pragma`.
//!
//! They advise a compiler, and an interpreter has no use for most of them. One says something about the
//! program: `used_bytes_mask`, in front of a load, tells which of the loaded bytes are used. The others are
//! not looked at by any check. Strings are refused where `ptxas` refuses them, and unknown ones are ignored
//! with a warning.

use super::super::operation::{Instruction, Operation};
use super::{Decoder, Refusal};
use crate::error::{Position, Problem};
use crate::syntax::{Pragma, Version};

/// The scope of a pragma.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PragmaScope {
    /// Outside of functions.
    Module,
    /// Between the parameters of a function and its body.
    Head,
    /// In a body.
    Body,
}

/// Pragmas of bodies, and the version that brought each.
const OF_BODIES: [(&str, Version); 4] = [
    ("used_bytes_mask", Version { major: 8, minor: 3 }),
    ("enable_smem_spilling", Version { major: 8, minor: 7 }),
    ("frequency", Version { major: 9, minor: 0 }),
    ("mma_throughput", Version { major: 9, minor: 3 }),
];

impl Decoder<'_, '_> {
    /// Takes one string of a `.pragma`.
    pub(super) fn pragma(&mut self, pragma: &Pragma<'_>, scope: PragmaScope) -> Result<(), Refusal> {
        let Pragma { place, text } = *pragma;
        let refuse = |why: String| Err(refused(place, text, why));
        let (name, argument) = text.split_once(' ').unwrap_or((text, ""));
        if let Some((_, since)) = OF_BODIES.into_iter().find(|(known, _)| *known == name) {
            if scope != PragmaScope::Body {
                return refuse(format!("the pragma `{name}` stands outside of a function's body"));
            }
            if self.code.header.version < since {
                return refuse(format!("the pragma `{name}` needs at least `.version {since}`"));
            }
        }
        match (name, scope) {
            ("used_bytes_mask", _) => match number(argument.trim()) {
                // Loads have 32 bytes at most.
                Some(mask) => self.used_bytes = Some(mask as u32),
                None => return refuse(format!("`{argument}` is no mask of bytes")),
            },
            ("frequency", _) if number(argument.trim()).is_none_or(|count| count < 0) => {
                return refuse(format!("`{argument}` is no count of executions"));
            }
            ("frequency" | "enable_smem_spilling" | "mma_throughput", _) => {}
            ("nounroll", _) if argument.is_empty() => {
                let next = self.pc();
                self.code.rolled.push(next);
            }
            ("abi_param_reg", _) if argument.is_empty() => return refuse("`abi_param_reg` has no argument".to_owned()),
            ("abi_param_reg", PragmaScope::Body) if self.entry => {
                return refuse("`abi_param_reg` is not for kernels".to_owned());
            }
            // How functions are called is a compiler's business.
            ("abi_param_reg", _) => {}
            ("coroutine", _) => self.ignore(place, text),
            (_, PragmaScope::Module) => return refuse(format!("unknown pragma `{text}`")),
            (_, PragmaScope::Head | PragmaScope::Body) => self.ignore(place, text),
        }
        Ok(())
    }

    fn ignore(&mut self, place: Position, text: &str) {
        self.code.warnings.push(format!("{place}: unknown pragma `{text}` is ignored"));
    }

    /// Notes the bytes that a load uses: the one among the operations from `first` on, if there is one.
    pub(super) fn note_used_bytes(&mut self, first: u32, used: Option<u32>) {
        let Some(used) = used else { return };
        let added = &self.code.instructions[first as usize..];
        let is_load = |found: &Instruction| matches!(found.operation, Operation::Load(_));
        if let Some(index) = added.iter().position(is_load) {
            self.code.used_bytes.push((first + index as u32, used));
        }
    }
}

fn refused(place: Position, text: &str, why: String) -> Refusal {
    Refusal::new(place, text.len() + 2, Problem::Declaration { why })
}

/// A number as C writes it: decimal, hexadecimal or octal, also a negative one.
fn number(text: &str) -> Option<i64> {
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
    let hexadecimal = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
    let octal = digits.strip_prefix('0').filter(|rest| !rest.is_empty());
    let value = match (hexadecimal, octal) {
        (Some(digits), _) => u64::from_str_radix(digits, 16),
        (None, Some(digits)) => u64::from_str_radix(digits, 8),
        (None, None) => digits.parse(),
    };
    let value = value.ok()?.cast_signed();
    Some(if negative { value.wrapping_neg() } else { value })
}
