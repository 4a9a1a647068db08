//! `Plain`: values that are `Pod` for bytemuck.
#![expect(unsafe_code, reason = "says of bytemuck's plain types that any bytes are a value of theirs")]

use bytemuck::{Pod, TransparentWrapper, Zeroable};

use crate::DeviceCopy;

/// A value of a type that is [`Pod`] for bytemuck: any bytes are a value of it, and it has no padding.
///
/// A slice of such values is wrapped and unwrapped by bytemuck's [`TransparentWrapper`], without a copy.
///
/// ```
/// use bytemuck::{Pod, TransparentWrapper, Zeroable};
/// use warploom::{DevicePool, Driver, Plain};
///
/// #[derive(Clone, Copy, Debug, PartialEq)]
/// #[repr(C)]
/// struct Vertex([f32; 3]); // of a crate that knows bytemuck, and not this one
/// # unsafe impl Zeroable for Vertex {}
/// # unsafe impl Pod for Vertex {}
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
/// let context = driver.device(0)?.context()?;
/// let stream = context.stream()?;
/// let mesh = [Vertex([0.0, 1.0, 2.0]), Vertex([3.0, 4.0, 5.0])];
/// let buffer = DevicePool::new(&context)?.upload(Plain::wrap_slice(&mesh), &stream)?;
/// assert_eq!(Plain::peel_slice(&buffer.download(&stream)?), mesh);
/// assert_eq!(buffer.cast::<f32>()?.len(), 6);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Plain<T>(pub T);

// SAFETY: any bytes are a value of the wrapped type, which has no padding, and owns and borrows nothing.
unsafe impl<T: Pod + Send + Sync> DeviceCopy for Plain<T> {
    const HAS_PADDING: bool = false;
}
// SAFETY: it has the layout of the wrapped value.
unsafe impl<T> TransparentWrapper<T> for Plain<T> {}
// SAFETY: so has the wrapped type.
unsafe impl<T: Zeroable> Zeroable for Plain<T> {}
// SAFETY: so is the wrapped type, and it has its layout.
unsafe impl<T: Pod> Pod for Plain<T> {}
