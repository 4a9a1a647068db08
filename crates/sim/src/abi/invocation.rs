//! Invocations: a driver function with its arguments, on the way from C to its body.

use smallvec::SmallVec;

use crate::ffi::status::Status;
use crate::machine::call::Call;

/// Values of a call's arguments, in their order: addresses and bits of handles, 0 for others.
pub(crate) type Values = SmallVec<[u64; 12]>;

/// A driver function with its arguments.
///
/// A trait object, and not a generic parameter: the rules around the body would be compiled for each of the
/// several hundred functions. A trait of its own, and not two closures: each would bring its functions to be
/// called by value, which nothing does.
pub(crate) trait Invocation {
    /// The values of the arguments, for fault plans; calls without a plan do not collect them.
    fn values(&self) -> Values;

    /// Runs the body of the function.
    fn run(&self, call: &Call<'_>) -> Status;
}
