//! Kernels with typed parameters.
#![expect(unsafe_code, reason = "launches kernels, whose work nobody can check")]

use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::ops::Deref;

use super::{ArgumentsFor, Kernel, Parameters, Shape};
use crate::{Queue, Result};

/// A kernel that takes `P`, a tuple of [`Parameter`](super::Parameter)s: that there are as many, and as
/// large, was seen when it was made, so that launches need not look. The meaning of the types to the kernel
/// cannot be checked.
///
/// ```
/// use warploom::{DevicePool, Driver, LaunchConfig, TypedKernel};
///
/// # const SCALE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/scale.ptx"));
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
/// let context = driver.device(0)?.context()?;
/// let scale: TypedKernel<(f32, &mut [f32], u32)> = context.load(SCALE)?.kernel("scale")?.typed()?;
///
/// let stream = context.stream()?;
/// let mut values = DevicePool::new(&context)?.upload(&[1.0, 2.0, 3.0], &stream)?;
/// let shape = LaunchConfig::cover(values.len(), 128);
/// // SAFETY: it reads and writes as many values as it is told.
/// unsafe { scale.launch(&stream, &shape, (0.5, &mut values, 3)) }?;
/// assert_eq!(values.download(&stream)?, [0.5, 1.0, 1.5]);
/// # Ok(())
/// # }
/// ```
pub struct TypedKernel<P> {
    kernel: Kernel,
    takes: PhantomData<fn(P)>,
}

impl Kernel {
    /// The kernel, with its parameters as types.
    ///
    /// # Errors
    ///
    /// [`LaunchError::ArgumentCount`](super::LaunchError::ArgumentCount) and
    /// [`LaunchError::ArgumentSize`](super::LaunchError::ArgumentSize) if its parameters differ, and the
    /// driver's error; needs driver 12.4. For older ones there is [`Kernel::typed_unverified`].
    pub fn typed<P: Parameters>(&self) -> Result<TypedKernel<P>> {
        self.parameters()?;
        self.verify(P::SIZES)?;
        Ok(TypedKernel { kernel: self.clone(), takes: PhantomData })
    }

    /// As [`Kernel::typed`], for drivers that do not report kernel parameters.
    ///
    /// # Safety
    ///
    /// The kernel takes as many parameters, and as large.
    #[must_use]
    pub unsafe fn typed_unverified<P: Parameters>(&self) -> TypedKernel<P> {
        TypedKernel { kernel: self.clone(), takes: PhantomData }
    }
}

impl<P: Parameters> TypedKernel<P> {
    /// Launches it, as [`Kernel::launch`].
    ///
    /// # Errors
    ///
    /// As [`Kernel::launch`], but for those of arguments.
    ///
    /// # Safety
    ///
    /// As [`Kernel::launch`].
    #[inline]
    pub unsafe fn launch(&self, queue: &impl Queue, shape: &impl Shape, arguments: impl ArgumentsFor<P>) -> Result<()> {
        // SAFETY: the caller vouches for it, and the kernel takes arguments like these.
        unsafe { self.kernel.enqueue(queue.stream(), shape, &arguments) }
    }
}

impl<P> Deref for TypedKernel<P> {
    type Target = Kernel;

    fn deref(&self) -> &Kernel {
        &self.kernel
    }
}

impl<P> Clone for TypedKernel<P> {
    fn clone(&self) -> Self {
        TypedKernel { kernel: self.kernel.clone(), takes: PhantomData }
    }
}

impl<P> PartialEq for TypedKernel<P> {
    /// `true` if the two are the same kernel.
    fn eq(&self, other: &Self) -> bool {
        self.kernel == other.kernel
    }
}

impl<P> Eq for TypedKernel<P> {}

impl<P> Hash for TypedKernel<P> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.kernel.hash(state);
    }
}

impl<P> fmt::Debug for TypedKernel<P> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let takes = format_args!("{}", std::any::type_name::<P>());
        formatter.debug_struct("TypedKernel").field("name", &self.name()).field("takes", &takes).finish()
    }
}
