//! Kernel arguments whose number and types are known at run time.
#![expect(unsafe_code, reason = "copies the bytes of values")]

use std::ffi::c_void;
use std::fmt;
use std::mem::MaybeUninit;
use std::ptr::null_mut;

use super::arguments::private::PassedAll;
use super::{Arguments, ListArgument};
use crate::Result;
use crate::memory::Operand;

/// Kernel arguments whose number and types are known at run time, beside tuples.
///
/// It is compared with the kernel's parameters by each launch, as tuples are, and may be launched with again.
///
/// ```
/// use warploom::{ArgumentList, DevicePool, Driver, LaunchConfig};
///
/// # const SCALE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/scale.ptx"));
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
/// let context = driver.device(0)?.context()?;
/// let scale = context.load(SCALE)?.kernel("scale")?;
///
/// let stream = context.stream()?;
/// let mut values = DevicePool::new(&context)?.upload(&[1.0_f32, 2.0, 3.0], &stream)?;
/// let mut arguments = ArgumentList::new();
/// arguments.push(2.0_f32).push(&mut values).push(3_u32);
/// // SAFETY: it reads and writes as many values as it is told.
/// unsafe { scale.launch(&stream, &LaunchConfig::cover(3, 128), &arguments) }?;
/// assert_eq!(values.download(&stream)?, [2.0, 4.0, 6.0]);
/// # Ok(())
/// # }
/// ```
#[derive(Default)]
pub struct ArgumentList<'a> {
    /// The values, each at a multiple of 16 bytes.
    values: Vec<MaybeUninit<u128>>,
    /// The start of each value.
    starts: Vec<usize>,
    sizes: Vec<usize>,
    memory: Vec<Operand<'a>>,
    scopes: Vec<u64>,
}

/// The most arguments whose addresses a launch has on the stack.
const ON_STACK: usize = 64;

impl<'a> ArgumentList<'a> {
    /// No arguments.
    #[must_use]
    pub fn new() -> ArgumentList<'a> {
        ArgumentList::default()
    }

    /// Appends an argument.
    pub fn push<A: ListArgument<'a>>(&mut self, argument: A) -> &mut ArgumentList<'a> {
        let (value, size) = (argument.value(), size_of::<A::Value>());
        let start = self.values.len();
        self.values.resize(start + size.div_ceil(size_of::<u128>()), MaybeUninit::uninit());
        let room = self.values[start..].as_mut_ptr().cast::<u8>();
        // SAFETY: there is room for as many bytes; padding stays uninitialised.
        unsafe { (&raw const value).cast::<u8>().copy_to_nonoverlapping(room, size) };
        self.starts.push(start);
        self.sizes.push(size);
        self.scopes.extend(argument.scope());
        self.memory.extend(argument.into_operand());
        self
    }

    /// The number of arguments.
    #[must_use]
    pub fn len(&self) -> usize {
        self.sizes.len()
    }

    /// `true` if it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sizes.is_empty()
    }
}

impl fmt::Debug for ArgumentList<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ArgumentList").field("sizes", &self.sizes).finish_non_exhaustive()
    }
}

impl Arguments for &ArgumentList<'_> {}
impl PassedAll for &ArgumentList<'_> {
    const IS_SCOPED: bool = true;

    fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    fn each_scope(&self, see: impl FnMut(u64) -> Result<()>) -> Result<()> {
        self.scopes.iter().copied().try_for_each(see)
    }

    fn each_operand(&self, see: impl FnMut(Operand<'_>) -> Result<()>) -> Result<()> {
        self.memory.iter().copied().try_for_each(see)
    }

    fn pass<R>(&self, call: impl FnOnce(*mut *mut c_void) -> R) -> R {
        let addresses = self.starts.iter().map(|start| self.values[*start..].as_ptr().cast_mut().cast::<c_void>());
        if self.len() > ON_STACK {
            return call(addresses.collect::<Vec<_>>().as_mut_ptr());
        }
        let mut room = [null_mut(); ON_STACK];
        room.iter_mut().zip(addresses).for_each(|(place, address)| *place = address);
        call(room.as_mut_ptr())
    }
}
