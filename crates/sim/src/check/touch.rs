//! Which bytes an op touches.

use crate::engine::{BlockCopy, RowFill, Work};
use crate::memory::Migration;
use crate::memory::SimAddress;
use crate::memory::shadow::AccessKind;

/// Bytes that an op touches in one go.
#[derive(Clone, Copy, Debug)]
pub(super) enum Touch {
    /// They are read, and written elsewhere.
    Copy { to: SimAddress, from: SimAddress, bytes: u64 },
    /// They are written with something that is known.
    Write { to: SimAddress, bytes: u64 },
    /// Their pages are moved.
    Move { at: SimAddress, bytes: u64, kind: AccessKind },
    /// A word of them takes part in a meeting of streams.
    Word { at: SimAddress, bytes: u64, kind: AccessKind },
}

/// Calls `touch` with everything an op touches, row by row.
pub(super) fn touches(work: &Work, mut touch: impl FnMut(Touch)) {
    let word = |wide: bool| if wide { 8 } else { 4 };
    match work {
        Work::Join
        | Work::Record { .. }
        | Work::Release(_)
        | Work::HostFunction { .. }
        | Work::Callback { .. }
        | Work::Task(_) => {}
        Work::Copy { to, from, bytes } => touch(Touch::Copy { to: *to, from: *from, bytes: *bytes }),
        Work::CopyBlock(block) => {
            for (to, from) in rows(block) {
                touch(Touch::Copy { to: block.to.offset(to), from: block.from.offset(from), bytes: block.width });
            }
        }
        Work::Staged { to, bytes } => touch(Touch::Write { to: *to, bytes: bytes.len() as u64 }),
        Work::StagedBlock(staged) => {
            for (to, _) in rows(&staged.block) {
                touch(Touch::Write { to: staged.block.to.offset(to), bytes: staged.block.width });
            }
        }
        Work::Fill { to, element, count, .. } => touch(Touch::Write { to: *to, bytes: count * u64::from(*element) }),
        Work::FillRows(fill) => {
            let RowFill { to, pitch, element, columns, rows, .. } = **fill;
            for row in 0..rows {
                touch(Touch::Write { to: to.offset(row * pitch), bytes: columns * u64::from(element) });
            }
        }
        Work::Migrate(migration) => {
            let Migration { at, bytes, to, discards, .. } = **migration;
            if discards {
                touch(Touch::Move { at, bytes, kind: AccessKind::Discard });
            }
            if to.is_some() {
                touch(Touch::Move { at, bytes, kind: AccessKind::Prefetch });
            }
        }
        Work::WriteValue { to, wide, .. } => {
            touch(Touch::Word { at: *to, bytes: word(*wide), kind: AccessKind::WriteValue });
        }
        Work::WaitValue { at, wide, .. } => {
            touch(Touch::Word { at: *at, bytes: word(*wide), kind: AccessKind::WaitValue });
        }
    }
}

/// Where each row of a block starts, behind the start of the destination and of the source.
fn rows(block: &BlockCopy) -> impl Iterator<Item = (u64, u64)> {
    let BlockCopy { to_pitch, to_slice, from_pitch, from_slice, height, depth, .. } = *block;
    (0..depth).flat_map(move |slice| {
        (0..height).map(move |row| (slice * to_slice + row * to_pitch, slice * from_slice + row * from_pitch))
    })
}
