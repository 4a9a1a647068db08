//! Handles of the C interface: index, generation, machine and kind in 64 bits.
//!
//! ```text
//!  63    58 57        46 45              24 23                    0
//! ┌────────┬────────────┬──────────────────┬──────────────────────┐
//! │  kind  │  machine   │    generation    │        index         │
//! └────────┴────────────┴──────────────────┴──────────────────────┘
//! ```
//!
//! A handle is never dereferenced. Its type carries the kind of object as a marker ([`kind`]), not the
//! object's own type: code that only passes a handle on does not depend on the object.

use std::marker::PhantomData;

/// The kind of object that a handle names. The bits are part of the handle, so the wrong kind of handle is
/// recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    Context = 1,
    Stream = 2,
    Event = 3,
    Pool = 4,
    Physical = 5,
    Module = 6,
    Function = 7,
    Library = 8,
    Kernel = 9,
    Graph = 10,
    Node = 11,
    Executable = 12,
    Link = 13,
    UserObject = 14,
    Condition = 15,
}

impl Kind {
    pub(crate) const ALL: [Kind; 15] = [
        Kind::Context,
        Kind::Stream,
        Kind::Event,
        Kind::Pool,
        Kind::Physical,
        Kind::Module,
        Kind::Function,
        Kind::Library,
        Kind::Kernel,
        Kind::Graph,
        Kind::Node,
        Kind::Executable,
        Kind::Link,
        Kind::UserObject,
        Kind::Condition,
    ];
}

/// A kind of object, as a type.
pub(crate) trait Marker {
    const KIND: Kind;
}

/// Declares a marker type and a handle alias for each kind.
macro_rules! markers {
    ($($name:ident $alias:ident),* $(,)?) => {
        /// One marker type for each [`Kind`]; none of them has a value.
        pub(crate) mod kind {
            $(pub(crate) enum $name {})*
        }
        $(
            impl Marker for kind::$name {
                const KIND: Kind = Kind::$name;
            }
            pub(crate) type $alias = Handle<kind::$name>;
        )*
    };
}

markers! {
    Context ContextHandle,
    Stream StreamHandle,
    Event EventHandle,
    Pool PoolHandle,
    Physical PhysicalHandle,
    Module ModuleHandle,
    Function FunctionHandle,
    Library LibraryHandle,
    Kernel KernelHandle,
    Graph GraphHandle,
    Node NodeHandle,
    Executable ExecutableHandle,
    Link LinkHandle,
    UserObject UserObjectHandle,
    Condition ConditionHandle,
}

/// A handle to an object of kind `K`; a number, valid or not.
pub(crate) struct Handle<K> {
    bits: u64,
    kind: PhantomData<fn() -> K>,
}

impl<K> Clone for Handle<K> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<K> Copy for Handle<K> {}
impl<K> PartialEq for Handle<K> {
    fn eq(&self, other: &Self) -> bool {
        self.bits == other.bits
    }
}
impl<K> Eq for Handle<K> {}
impl<K> PartialOrd for Handle<K> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<K> Ord for Handle<K> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.bits.cmp(&other.bits)
    }
}
impl<K> std::hash::Hash for Handle<K> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.bits.hash(state);
    }
}
impl<K> std::fmt::Debug for Handle<K> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{:#x}", self.bits)
    }
}

const INDEX_BITS: u32 = 24;
const GENERATION_BITS: u32 = 22;
const MACHINE_BITS: u32 = 12;
const MACHINE_SHIFT: u32 = INDEX_BITS + GENERATION_BITS;
pub(crate) const KIND_SHIFT: u32 = MACHINE_SHIFT + MACHINE_BITS;

/// The last generation of an index; the first is 1.
pub(crate) const LAST_GENERATION: u32 = (1 << GENERATION_BITS) - 1;
/// The number of indices, and so of objects of a kind that may live at once.
pub(crate) const INDICES: usize = 1 << INDEX_BITS;

/// The bits of a machine's number that go into its handles.
pub(crate) const fn machine_bits(machine: u64) -> u64 {
    machine & ((1 << MACHINE_BITS) - 1)
}

impl<K> Handle<K> {
    /// The handle a C caller passed, unchecked.
    pub(crate) const fn from_bits(bits: u64) -> Self {
        Self { bits, kind: PhantomData }
    }

    pub(crate) const fn bits(self) -> u64 {
        self.bits
    }

    /// The handle as the C type: a pointer that is never dereferenced.
    pub(crate) fn as_raw<C>(self) -> *mut C {
        std::ptr::without_provenance_mut(self.bits as usize)
    }

    /// The kind in the bits; none for null and most garbage. It may differ from `K`: C callers mix handles
    /// up.
    pub(crate) fn kind(self) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| self.is_of(*kind))
    }

    /// `true` if the bits say that it is of this kind.
    pub(crate) fn is_of(self, kind: Kind) -> bool {
        self.bits >> KIND_SHIFT == u64::from(kind as u8)
    }

    /// `true` if the bits say that it is or was an object of some kind, as opposed to null or garbage.
    pub(crate) fn names_some(self, kind: Kind) -> bool {
        self.is_of(kind) && self.generation() > 0
    }

    pub(crate) fn index(self) -> usize {
        (self.bits & ((1 << INDEX_BITS) - 1)) as usize
    }

    pub(crate) fn generation(self) -> u32 {
        (self.bits >> INDEX_BITS) as u32 & LAST_GENERATION
    }

    /// The machine's number, as [`machine_bits`] has it.
    pub(crate) fn machine(self) -> u64 {
        machine_bits(self.bits >> MACHINE_SHIFT)
    }
}

impl<K: Marker> Handle<K> {
    /// Packs the parts of a handle; `machine` as [`machine_bits`] has it.
    pub(crate) fn new(machine: u64, generation: u32, index: u32) -> Self {
        let bits = u64::from(K::KIND as u8) << KIND_SHIFT
            | machine << MACHINE_SHIFT
            | u64::from(generation) << INDEX_BITS
            | u64::from(index);
        Self::from_bits(bits)
    }
}
