//! Bounds of the memory that a block has to itself: declared sizes, and the larger ones of hardware.

/// The bounds that accesses to shared, local and parameter memory are held to.
///
/// Hardware hands shared memory out in granules of 128 bytes, so that bytes between the declared size and the
/// next multiple can be read and written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bounds {
    /// The declared sizes: an access beyond them is a trap.
    #[default]
    Declared,
    /// Those of hardware.
    Hardware,
    /// Those of hardware; an access beyond the declared sizes is reported by
    /// [`Host::overrun`](crate::Host::overrun), and goes on.
    Reported,
}

/// The granule of shared memory.
const SHARED_GRANULE: u32 = 128;

impl Bounds {
    /// The bytes of shared memory that a block can access, where it declares `bytes`.
    pub(crate) fn shared(self, bytes: u32) -> u32 {
        match self {
            Bounds::Declared => bytes,
            Bounds::Hardware | Bounds::Reported => bytes.next_multiple_of(SHARED_GRANULE),
        }
    }
}
