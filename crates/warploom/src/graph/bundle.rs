//! Owners, and the bundle of them that one version of a node's parameters keeps.

use std::any::{Any, TypeId, type_name};
use std::fmt;
use std::sync::Arc;

use crate::device::same_driver;
use crate::memory::{self, Access, AllocationRef};
use crate::{Arguments, Buffer, CaptureError, Context, DeviceCopy, Driver, Kernel, ManagedBuffer, MemoryError, Result};

/// Shared ownership of anything: a graph keeps it for as long as a node may use it.
///
/// For memory that is named by a raw address ([`Operand::raw`](super::Operand::raw)). A buffer is kept
/// as its allocation: closing or dropping the buffer does not free the memory.
///
/// A value that holds the graph which keeps it forms a cycle, and neither is ever released. Let it hold a
/// [`WeakGraph`](super::WeakGraph).
#[derive(Clone)]
pub struct Owner(pub(super) Retained);

impl Owner {
    /// Owns a value.
    pub fn new(value: impl Any + Send + Sync) -> Owner {
        Owner::shared(Arc::new(value))
    }

    /// Owns a share of a value.
    pub fn shared(value: Arc<dyn Any + Send + Sync>) -> Owner {
        Owner(Retained::Value(value))
    }
}

impl Owner {
    /// Refuses memory of another driver, of a context that was reset, or that a capture allocates for its graph.
    pub(super) fn check(&self, driver: &Driver) -> Result<()> {
        let Retained::Memory(allocation, _) = &self.0 else { return Ok(()) };
        same_driver(allocation.context().driver(), driver)?;
        allocation.context().check_generation()?;
        if allocation.capture().is_some() { Err(CaptureError::GraphMemory.into()) } else { Ok(()) }
    }
}

impl<T: DeviceCopy> From<&Buffer<T>> for Owner {
    fn from(buffer: &Buffer<T>) -> Owner {
        Owner(Retained::Memory(buffer.allocation().clone(), Access::Write))
    }
}

impl<T: DeviceCopy> From<&ManagedBuffer<T>> for Owner {
    fn from(buffer: &ManagedBuffer<T>) -> Owner {
        Owner::from(&**buffer)
    }
}

impl fmt::Debug for Owner {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match &self.0 {
            Retained::Memory(..) => "memory",
            Retained::Kernel(..) => "kernel",
            Retained::Context(_) => "context",
            Retained::Padded(_) => "type",
            Retained::Value(_) => "value",
        };
        formatter.debug_tuple("Owner").field(&format_args!("{kind}")).finish()
    }
}

/// One thing that a bundle keeps.
#[derive(Clone)]
pub(crate) enum Retained {
    Memory(AllocationRef, Access),
    /// A kernel, and the context that it runs in.
    Kernel(Kernel, Context),
    /// A context that a node runs in, and that is not the graph's.
    Context(Context),
    /// Nothing: the memory of the part has values of this type, which has padding.
    Padded(PaddedType),
    Value(Arc<dyn Any + Send + Sync>),
}

impl Retained {
    /// `true` if both are the same owner, of the same use.
    fn is_same(&self, other: &Retained) -> bool {
        match (self, other) {
            (Retained::Memory(one, access), Retained::Memory(two, other)) => {
                one.identity() == two.identity() && access == other
            }
            (Retained::Kernel(one, context), Retained::Kernel(two, other)) => {
                one.address() == two.address() && context == other
            }
            (Retained::Context(one), Retained::Context(two)) => one == two,
            (Retained::Padded(one), Retained::Padded(two)) => one.expect(Some(*two)).is_ok(),
            (Retained::Value(one), Retained::Value(two)) => Arc::ptr_eq(one, two),
            _ => false,
        }
    }
}

/// A type with padding, whose values are not copied to memory of another type: padding is uninitialised.
#[derive(Clone, Copy)]
pub(crate) struct PaddedType(fn() -> (TypeId, &'static str));

impl PaddedType {
    /// The type, if it has padding.
    #[inline]
    pub(crate) fn of<T: DeviceCopy>() -> Option<PaddedType> {
        T::HAS_PADDING.then_some(PaddedType(|| (TypeId::of::<T>(), type_name::<T>())))
    }

    /// Refuses memory of another type.
    pub(crate) fn expect(self, other: Option<PaddedType>) -> Result<()> {
        let (id, padded) = (self.0)();
        match other {
            Some(other) if (other.0)().0 == id => Ok(()),
            _ => Err(MemoryError::CastPadding { padded }.into()),
        }
    }
}

/// The parameter of a node that a value is kept for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Kernel,
    Argument,
    Source,
    Destination,
    Event,
    Function,
    /// No parameter of one node.
    Whole,
}

/// The owners that a bundle has room for in itself: a kernel, and the memory of two arguments.
const ROOM: usize = 3;

/// Owners of one version of a node's parameters. It is not changed once it has been given to a graph.
///
/// Few are stored in the bundle itself, so that a node takes no block from the heap for them.
#[derive(Clone, Default)]
pub(crate) struct Bundle {
    /// Filled from the first.
    few: [Option<(Part, Retained)>; ROOM],
    /// The others.
    more: Vec<(Part, Retained)>,
}

impl Bundle {
    pub(crate) fn with_capacity(count: usize) -> Bundle {
        Bundle { more: Vec::with_capacity(count.saturating_sub(ROOM)), ..Bundle::default() }
    }

    pub(crate) fn of(part: Part, retained: Option<Retained>) -> Bundle {
        let mut bundle = Bundle::default();
        bundle.keep(part, retained);
        bundle
    }

    /// Keeps an owner, if there is one.
    #[inline]
    pub(crate) fn keep(&mut self, part: Part, retained: impl Into<Option<Retained>>) {
        let Some(retained) = retained.into() else { return };
        match self.few.iter_mut().find(|place| place.is_none()) {
            Some(place) => *place = Some((part, retained)),
            None => self.more.push((part, retained)),
        }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.few[0].is_none()
    }

    fn parts(&self) -> impl Iterator<Item = &(Part, Retained)> {
        self.few.iter().flatten().chain(&self.more)
    }

    /// The owners of the parts that are meant.
    pub(crate) fn retained(&self, is_meant: impl Fn(Part) -> bool) -> impl Iterator<Item = &(Part, Retained)> {
        self.parts().filter(move |(part, _)| is_meant(*part))
    }

    /// Keeps the owners of another bundle's parts that are meant.
    pub(crate) fn keep_parts_of(&mut self, other: &Bundle, is_meant: impl Fn(Part) -> bool) {
        for (part, retained) in other.retained(is_meant) {
            self.keep(*part, retained.clone());
        }
    }

    /// The context that a node with these owners runs in, if it is kept.
    pub(crate) fn context(&self) -> Option<&Context> {
        self.all().find_map(|retained| match retained {
            Retained::Kernel(_, context) | Retained::Context(context) => Some(context),
            Retained::Memory(..) | Retained::Padded(_) | Retained::Value(_) => None,
        })
    }

    /// The type of a part's values, if it has padding.
    pub(crate) fn padded(&self, part: Part) -> Option<PaddedType> {
        self.retained(|kept| kept == part).find_map(|(_, retained)| match retained {
            Retained::Padded(padded) => Some(*padded),
            _ => None,
        })
    }

    /// All owners.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Retained> {
        self.parts().map(|(_, retained)| retained)
    }

    /// The memory among them, as the node uses it.
    pub(crate) fn memory(&self) -> impl Iterator<Item = (&AllocationRef, Access)> {
        self.all().filter_map(|retained| match retained {
            Retained::Memory(allocation, access) => Some((allocation, *access)),
            _ => None,
        })
    }

    /// `true` if the owners of both are the same, in the same order.
    pub(crate) fn is_same(&self, other: &Bundle) -> bool {
        let (mut one, mut two) = (self.all(), other.all());
        loop {
            match (one.next(), two.next()) {
                (None, None) => return true,
                (Some(one), Some(two)) if one.is_same(two) => {}
                _ => return false,
            }
        }
    }

    /// `true` if it keeps a kernel in a context and the memory of its arguments, and nodes in the context can use that.
    #[inline]
    pub(crate) fn is_of_launch(&self, kernel: &Kernel, context: &Context, arguments: &impl Arguments) -> bool {
        let mut kept = self.all();
        let has_kernel = matches!(kept.next(), Some(Retained::Kernel(known, its))
            if known.address() == kernel.address() && its.address() == context.address());
        let mut is_same = has_kernel;
        let see = |operand: memory::Operand<'_>| {
            let (argument, its_access) = operand.use_in_graph(context)?;
            is_same &= matches!(kept.next(), Some(Retained::Memory(allocation, access))
                if allocation.identity() == argument.identity() && *access == its_access);
            Ok(())
        };
        arguments.each_operand(see).is_ok() && is_same && kept.next().is_none()
    }

    /// `true` if it may keep owners, besides those of another, that are dropped only after the launches that use them.
    /// Memory that a stream frees is not among them: it is freed in the order of the launches.
    pub(crate) fn outlasts_launches(&self, other: Option<&Bundle>) -> bool {
        let is_shared = |retained: &Retained| other.is_some_and(|other| other.all().any(|kept| kept.is_same(retained)));
        self.all().any(|retained| match retained {
            Retained::Memory(allocation, _) => !allocation.is_freed_in_order() && !is_shared(retained),
            Retained::Kernel(..) | Retained::Value(_) => !is_shared(retained),
            Retained::Context(_) | Retained::Padded(_) => false,
        })
    }
}
