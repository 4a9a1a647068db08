//! One instruction with all its modifiers, what it takes and what it gives.

use crate::kind::Kind;

/// The number of bits of a result that are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Width {
    /// A predicate: a byte of 0 or 1.
    Flag,
    Half,
    Word,
    Long,
}

impl Width {
    pub(crate) fn bytes(self) -> usize {
        match self {
            Width::Flag => 1,
            Width::Half => 2,
            Width::Word => 4,
            Width::Long => 8,
        }
    }

    fn named(name: &str) -> Width {
        match name {
            "pred" => Width::Flag,
            "b16" => Width::Half,
            "b32" => Width::Word,
            "b64" => Width::Long,
            _ => panic!("no width is called {name}"),
        }
    }
}

/// The largest distance allowed between the simulator's result and the hardware's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Bound {
    /// Not at all.
    Exact,
    /// So many steps of a format.
    Steps(Format, u64),
    /// So many steps of a single, or this much, whichever is more.
    Absolute(u64, f64),
}

/// The format of a result, whose last place is the unit of distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    F16,
    Bf16,
    F32,
    F64,
}

/// An instruction to be asked.
#[derive(Clone, Debug)]
pub(crate) struct Variant {
    /// The instruction, or the few that belong together: `add.rz.f32 d, a, b;`.
    pub(crate) text: String,
    pub(crate) operands: Vec<Kind>,
    pub(crate) results: Vec<Width>,
    pub(crate) bound: Bound,
    /// Number of executions; a multiple of the warp size.
    pub(crate) cases: usize,
}

/// Names of the operands, in order.
pub(crate) const OPERANDS: [&str; 24] = [
    "a", "b", "c", "e", "f", "g", "h", "i", "j", "k", "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18",
    "a19", "a20", "a21", "a22", "a23",
];
/// Names of the results, in order.
pub(crate) const RESULTS: [&str; 8] = ["d", "q", "r", "s", "d4", "d5", "d6", "d7"];

/// Raised when the same variant would be asked with other operands.
const EDITION: u32 = 3;

/// Cases of a variant that does not say how many.
const CASES: usize = 128;

impl Variant {
    /// `("add.f32", "b32", "f32 f32")` for `add.f32 d, a, b;`. A text with spaces in it is the whole of it.
    pub(crate) fn new(text: &str, results: &str, operands: &str) -> Variant {
        let operands: Vec<Kind> = operands.split_whitespace().map(Kind::named).collect();
        let results: Vec<Width> = results.split_whitespace().map(Width::named).collect();
        let text = if text.contains(' ') {
            text.to_owned()
        } else {
            let first = RESULTS[..results.len()].join("|");
            format!("{text} {first}, {};", OPERANDS[..operands.len()].join(", "))
        };
        Variant { text, operands, results, bound: Bound::Exact, cases: CASES }
    }

    pub(crate) fn within(self, bound: Bound) -> Variant {
        Variant { bound, ..self }
    }

    pub(crate) fn cases(self, cases: usize) -> Variant {
        Variant { cases, ..self }
    }

    /// The hash of the variant; a changed variant has no stored result.
    pub(crate) fn key(&self) -> u64 {
        let what = format!("{EDITION} {} {:?} {:?} {}", self.text, self.operands, self.results, self.cases);
        crate::stream::hash(&what)
    }

    /// Bytes of all answers.
    pub(crate) fn bytes(&self) -> usize {
        self.results.iter().map(|width| width.bytes()).sum::<usize>() * self.cases
    }
}

/// Every text of a pattern: `add{,.sat}.{u32,s32}` is four.
pub(crate) fn expand(pattern: &str) -> Vec<String> {
    let Some((before, rest)) = pattern.split_once('{') else { return vec![pattern.to_owned()] };
    let (choices, after) = rest.split_once('}').expect("a brace that closes");
    let after = expand(after);
    choices.split(',').flat_map(|choice| after.iter().map(move |after| format!("{before}{choice}{after}"))).collect()
}

/// Every variant of a pattern.
pub(crate) fn all(pattern: &str, results: &str, operands: &str) -> Vec<Variant> {
    expand(pattern).iter().map(|text| Variant::new(text, results, operands)).collect()
}

/// Every variant of a pattern, where `T` is the last type that the text names.
pub(crate) fn typed(pattern: &str, results: &str, operands: &str) -> Vec<Variant> {
    let make = |text: String| {
        let opcode = text.split(' ').next().unwrap_or(&text);
        let scalar = opcode.rsplit('.').find(|word| is_type(word)).expect("a type").to_owned();
        let bits = format!("b{}", Kind::named(&scalar).bits());
        Variant::new(&text, &results.replace('T', &bits), &operands.replace('T', &scalar))
    };
    expand(pattern).into_iter().map(make).collect()
}

fn is_type(word: &str) -> bool {
    let digits = word.trim_start_matches(['u', 's', 'b', 'f']);
    digits.len() < word.len() && matches!(digits, "16" | "32" | "64" | "16x2")
}
