//! The least architecture that has an instruction, by its opcode and modifiers.
//!
//! As `ptxas` has it: `tests/assembler` holds its verdicts for each architecture from `sm_75` on. Products of
//! matrices and bulk copies are told by their own decoders.

use super::{Decoded, Decoder};
use crate::syntax::Instruction;

/// Opcodes, modifiers of which any counts (none for all instructions), and the architecture.
type Rule = (&'static [&'static str], &'static [&'static str], u32);

const BRAIN: &[&str] = &["bf16", "bf16x2"];

const RULES: &[Rule] = &[
    (&["applypriority", "createpolicy", "discard", "redux", "cp", "mbarrier"], &[], 80),
    (&["elect", "stmatrix", "mapa", "getctarank", "griddepcontrol", "setmaxnreg"], &[], 90),
    (&["abs", "neg", "fma", "min", "max"], BRAIN, 80),
    (&["add", "sub", "mul", "set", "setp", "ex2", "tanh", "atom", "red"], BRAIN, 90),
    (&["fma"], &["relu"], 80),
    (&["min", "max"], &["NaN", "f16", "f16x2"], 80),
    (&["min", "max"], &["abs", "xorsign"], 86),
    (&["min", "max"], &["relu"], 90),
    (&["add", "min", "max"], &["s16x2", "u16x2"], 90),
    (&["cvt"], &["relu", "rna", "f16x2", "bf16", "bf16x2"], 80),
    (&["cvt"], &["e4m3x2", "e5m2x2"], 89),
    (&["atom", "red"], &["v2", "v4", "v8", "b128"], 90),
    (&["ld", "st"], &["L2::cache_hint"], 80),
    (&["prefetch"], &["L2::evict_last", "L2::evict_normal"], 80),
    (&["prefetch"], &["tensormap", "valid_addr"], 90),
    (&["atom", "red", "ld", "st", "barrier", "fence", "mbarrier", "isspacep"], &["cluster", "shared::cluster"], 90),
    (&["fence", "membar"], &["acquire", "release", "async", "mbarrier_init"], 90),
    (&["mbarrier"], &["expect_tx", "complete_tx", "relaxed", "try_wait", "layout::v0", "phase_type::primary"], 90),
];

impl Decoder<'_, '_> {
    /// Refuses an instruction that the target's architecture does not have.
    pub(super) fn check_architecture(&self, instruction: &Instruction<'_>) -> Decoded {
        let words = &instruction.modifiers[..];
        let has = |word: &str| words.contains(&word);
        let is_it = |(opcodes, any, _): &&Rule| {
            opcodes.contains(&instruction.opcode) && (any.is_empty() || any.iter().any(|word| has(word)))
        };
        let least = RULES.iter().filter(is_it).map(|(.., architecture)| *architecture).max().unwrap_or(0);
        let is_late = match instruction.opcode {
            // Between singles and `bf16` there are conversions from sm_80 on, without `.ftz` of the latter.
            "cvt" if has("tf32") => !has("rna"),
            "cvt" if has("bf16") => match words {
                [.., "bf16", "f32"] => false,
                [rest @ .., "f32", "bf16"] => rest.contains(&"ftz"),
                _ => true,
            },
            // A count of arrivals that may complete the phase.
            "mbarrier" => {
                matches!(words.first(), Some(&"arrive" | &"arrive_drop"))
                    && instruction.operands.len() == 3
                    && !has("noComplete")
            }
            "atom" | "red" => has("noftz") && has("f32"),
            _ => false,
        };
        self.requires(if is_late { 90 } else { least })
    }
}
