//! Streams as a program sees them: identity, flags and attributes, of default streams, too.

use warploom_engine::QueueId;
use warploom_sys::types::CUresult;

use crate::ffi::handle::{ContextHandle, kind};
use crate::ffi::status::INVALID_CONTEXT;
use crate::machine::objects::Object;
use crate::memory::shadow::StreamKind;

/// A created stream.
pub(crate) struct Stream {
    pub(crate) queue: QueueId,
    pub(crate) context: ContextHandle,
}

impl Object for Stream {
    type Kind = kind::Stream;
    const ORPHANED: CUresult = INVALID_CONTEXT;
}

/// The lowest stream priority, and the default.
pub(crate) const LOWEST_PRIORITY: i32 = 0;
/// The highest stream priority; smaller is higher.
pub(crate) const HIGHEST_PRIORITY: i32 = -5;

/// `CU_STREAM_NON_BLOCKING`.
pub(crate) const NON_BLOCKING: u32 = 1;

/// A stream as a program sees it.
#[derive(Clone, Debug)]
pub(crate) struct Traits {
    /// The value of `cuStreamGetId`, unique on the machine.
    pub(crate) id: u64,
    pub(crate) flags: u32,
    pub(crate) kind: StreamKind,
    pub(crate) attributes: Attributes,
}

impl Traits {
    pub(crate) fn new(id: u64, flags: u32, priority: i32) -> Self {
        let attributes = Attributes { priority: clamp(priority), ..Attributes::default() };
        let kind = if flags & NON_BLOCKING != 0 { StreamKind::NonBlocking } else { StreamKind::Created };
        Self { id, flags, kind, attributes }
    }

    /// The traits of a default stream.
    pub(crate) fn of_default(id: u64, kind: StreamKind) -> Self {
        Self { kind, ..Self::new(id, 0, LOWEST_PRIORITY) }
    }

    /// `true` if it does not synchronise with the legacy default stream.
    pub(crate) fn is_non_blocking(&self) -> bool {
        self.flags & NON_BLOCKING != 0
    }
}

/// The priority, clamped to the supported range.
pub(crate) fn clamp(priority: i32) -> i32 {
    priority.clamp(HIGHEST_PRIORITY, LOWEST_PRIORITY)
}

/// Attributes set by `cuStreamSetAttribute`. Launches inherit them; they do not change results.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Attributes {
    pub(crate) window: AccessWindow,
    /// The synchronisation policy of host threads; `u32::MAX` if unset.
    pub(crate) synchronization: u32,
    pub(crate) priority: i32,
    /// The domains that the default and the remote domain map to.
    pub(crate) domains: [u8; 2],
    pub(crate) domain: u32,
}

impl Default for Attributes {
    fn default() -> Self {
        Self {
            window: AccessWindow::default(),
            synchronization: u32::MAX,
            priority: LOWEST_PRIORITY,
            domains: [0, 1],
            domain: 0,
        }
    }
}

/// Memory that the L2 cache should treat in a certain way: `CUaccessPolicyWindow`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct AccessWindow {
    pub(crate) base: u64,
    pub(crate) bytes: u64,
    pub(crate) hit_ratio: f32,
    pub(crate) hit: u32,
    pub(crate) miss: u32,
}

impl AccessWindow {
    /// From the words of the C struct.
    pub(crate) fn from_words([base, bytes, ratio_and_hit, miss]: [u64; 4]) -> Self {
        let hit_ratio = f32::from_bits(ratio_and_hit as u32);
        Self { base, bytes, hit_ratio, hit: (ratio_and_hit >> 32) as u32, miss: miss as u32 }
    }

    /// The words of the C struct, its padding zero.
    pub(crate) fn words(self) -> [u64; 4] {
        let ratio_and_hit = u64::from(self.hit_ratio.to_bits()) | u64::from(self.hit) << 32;
        [self.base, self.bytes, ratio_and_hit, u64::from(self.miss)]
    }
}
