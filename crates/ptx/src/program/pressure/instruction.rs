//! PTX instructions, as an assembler sees them: order, latency, and registers beside their operands.

use crate::program::atomic::{Atom, Change};
use crate::program::compute::Compute;
use crate::program::matrix::{Element, Fragment, Product};
use crate::program::operation::{Atomic, Operation};
use crate::program::space::Space;

/// Cycles until results are there.
const GLOBAL: u32 = 300;
pub(super) const SHARED: u32 = 30;
const ACROSS_LANES: u32 = 25;
const SPECIAL: u32 = 20;
pub(super) const ARITHMETIC: u32 = 5;

/// Words in which the lanes of a warp find out how they share a sum: the lane, the first lane of all, their
/// number, the lanes before.
const SHARED_SUM: u32 = 4;
/// Words in which an atomic operation on two bytes goes through the four that hardware can swap: their
/// address, old and new values, the shift.
const HALF_OF_WORD: u32 = 7;
/// Words of a division of 32 bits, which starts from an approximate reciprocal.
const DIVISION: u32 = 4;
/// Words from which a lane finds its part of a fragment: the lane, a pair for the offset, a pair for the
/// address.
const FRAGMENT: u32 = 5;

/// The instructions that one may not pass.
pub(super) enum Order {
    None,
    /// Writes to a space.
    Reads(usize),
    /// All accesses to a space.
    Writes(usize),
    /// All accesses to memory.
    Accesses,
    All,
}

/// Spaces that do not overlap.
pub(super) const SPACES: usize = 4;

fn number(space: Space) -> usize {
    match space {
        Space::Shared => 1,
        Space::Local | Space::Frame => 2,
        Space::Argument | Space::Parameter => 3,
        Space::Global | Space::Generic => 0,
    }
}

/// Order and latency of an operation.
pub(super) fn order(operation: Operation) -> (Order, u32) {
    let far = |at: Space| if number(at) == 0 { GLOBAL } else { SHARED };
    match operation {
        Operation::Load(form) if form.space == Space::Argument => (Order::None, 1),
        Operation::Load(form) if form.constant => (Order::None, SHARED),
        Operation::Load(form) if form.strong => (Order::Writes(number(form.space)), far(form.space)),
        Operation::Load(form) => (Order::Reads(number(form.space)), far(form.space)),
        Operation::LoadWhole(form) => (Order::Writes(number(form.space)), far(form.space)),
        Operation::Store(form) | Operation::StoreWhole(form) => (Order::Writes(number(form.space)), 1),
        Operation::AtomicPair(form) => (Order::Writes(number(form.space)), far(form.space)),
        Operation::Atomic(form) => (Order::Writes(number(form.space)), far(form.space)),
        Operation::Special(_) | Operation::Compute(Compute::Approximate(..)) => (Order::None, SPECIAL),
        Operation::Compute(_) => (Order::None, ARITHMETIC),
        Operation::Shuffle(_)
        | Operation::Vote(_)
        | Operation::Match { .. }
        | Operation::Reduce(_)
        | Operation::Multiply(_)
        | Operation::MultiplyQuads(_) => (Order::None, ACROSS_LANES),
        Operation::Fragment(form) if form.store => (Order::Writes(number(form.space)), 1),
        Operation::Fragment(form) => (Order::Reads(number(form.space)), far(form.space)),
        Operation::Matrix(form) if form.store => (Order::Writes(number(Space::Shared)), 1),
        Operation::Matrix(_) => (Order::Reads(number(Space::Shared)), SHARED),
        // Arithmetic may pass those that order memory.
        Operation::Barrier(_)
        | Operation::WarpBarrier
        | Operation::Fence
        | Operation::CopyAsync { .. }
        | Operation::CommitCopies
        | Operation::AwaitCopies { .. }
        | Operation::MemoryBarrier(..)
        | Operation::CopyBulk(_)
        | Operation::StoreAsync(_)
        | Operation::CommitBulk
        | Operation::AwaitBulk { .. } => (Order::Accesses, ARITHMETIC),
        _ => (Order::All, ARITHMETIC),
    }
}

/// `true` if it accesses global memory, so that its operands have to be in registers of the thread.
pub(super) fn is_global(operation: Operation) -> bool {
    match operation {
        Operation::Load(form) | Operation::Store(form) => number(form.space) == 0 && !form.constant,
        Operation::Atomic(form) => number(form.space) == 0,
        _ => false,
    }
}

/// `true` if it reads its operands some time after its start.
pub(super) fn is_late(operation: Operation) -> bool {
    match operation {
        Operation::Load(form) => form.space != Space::Argument && !form.constant,
        Operation::Store(_)
        | Operation::LoadWhole(_)
        | Operation::StoreWhole(_)
        | Operation::Atomic(_)
        | Operation::AtomicPair(_)
        | Operation::CopyAsync { .. }
        | Operation::StoreAsync(_)
        | Operation::Shuffle(_)
        | Operation::Fragment(_)
        | Operation::Matrix(_) => true,
        _ => false,
    }
}

/// `true` if its result may take the registers of its operands: hardware has read them by the time that
/// memory answers.
pub(super) fn is_answered(operation: Operation) -> bool {
    matches!(operation, Operation::Load(_) | Operation::Atomic(_))
}

/// Words that it needs meanwhile, beside operands and results. `is_common` if all threads access one place,
/// and `is_alike` if their operands are the same, too.
pub(super) fn scratch(operation: Operation, is_common: bool, is_alike: bool) -> u32 {
    match operation {
        Operation::Atomic(Atomic { change: Change::Add, scalar, .. }) if is_common => match scalar {
            Atom::U32 | Atom::S32 => SHARED_SUM,
            // A long is multiplied by the number of lanes, but longs are not added across lanes.
            Atom::U64 | Atom::S64 if is_alike => 2 * SHARED_SUM,
            _ => 0,
        },
        Operation::Atomic(Atomic { scalar: Atom::U16 | Atom::F16 | Atom::Bf16, .. }) => HALF_OF_WORD,
        Operation::Compute(Compute::Divide(_) | Compute::Remainder(_)) => DIVISION,
        // Elements that are no neighbours in memory are loaded one by one, and put together.
        Operation::Fragment(Fragment { along: false, store: false, sum: false, bits, registers, .. }) if bits < 32 => {
            FRAGMENT + u32::from(registers) * (32 / u32::from(bits) - 1)
        }
        Operation::Fragment(_) => FRAGMENT,
        _ => 0,
    }
}

/// `true` for an instruction that the assembler carries out by calling a function of its own: divisions that
/// are not of 32 bits, floating point with a rounding that hardware only approximates, and matrices of
/// elements that hardware does not multiply any more.
pub(super) fn is_call(operation: Operation) -> bool {
    use Compute::{
        Divide, DivideDouble, DivideSingle, ReciprocalDouble, ReciprocalRootDouble, ReciprocalSingle, Remainder,
        RootDouble, RootSingle,
    };
    let is_old = |Product { factors, .. }: Product| {
        factors.iter().any(|factor| matches!(factor, Element::S4 | Element::U4 | Element::Differing))
    };
    match operation {
        Operation::Compute(Divide(int) | Remainder(int)) => !int.is_word(),
        Operation::Compute(compute) => matches!(
            compute,
            DivideSingle(_)
                | ReciprocalSingle(_)
                | RootSingle(_)
                | DivideDouble(_)
                | ReciprocalDouble(_)
                | RootDouble(_)
                | ReciprocalRootDouble
        ),
        Operation::Multiply(product) => is_old(product),
        _ => false,
    }
}
