//! Staged uploads and downloads.
#![expect(unsafe_code, reason = "copies between the caller's memory and chunks")]

use std::ops::Range;

use warploom_driver::sys::types::CUstream;

use super::copiers::{HostCopy, with_copiers};
use super::lease::Lease;
use super::{IN_TURNS, Pieces};
use crate::{Result, Stream};

/// The point at which an upload returns.
#[derive(Clone, Copy, PartialEq)]
pub(in crate::memory) enum End {
    /// The values are on the device.
    Arrived,
    /// The values have been read. The device may still copy them from staging memory.
    Read,
}

/// The most bytes of an upload that is copied through the caches, if the device is not waited for: both sides
/// fit into those of one processor.
const CACHED: usize = 1 << 20;

/// Copies pieces from the host. `enqueue` enqueues the copy of one piece, which lies at the given address.
///
/// # Safety
///
/// `from` has the bytes of all pieces. `enqueue` lets the stream read the bytes of its piece at the address,
/// and nothing else of the host.
pub(in crate::memory) unsafe fn upload(
    from: *const u8,
    pieces: Pieces,
    stream: &Stream,
    end: End,
    mut enqueue: impl FnMut(Range<usize>, *const u8, CUstream) -> warploom_driver::Result<()>,
) -> Result<()> {
    with_copiers(pieces.total(), |copiers| {
        let is_cached = end == End::Read && pieces.total() <= CACHED;
        let copy = if is_cached { HostCopy::Cached } else { HostCopy::Uncached };
        let pieces = pieces.shrinking();
        let (mut lease, count) = (Lease::new(stream)?, pieces.clone().count());
        for (index, piece) in pieces.enumerate() {
            lease.wait(index)?;
            let chunk = lease.chunk(index);
            // SAFETY: the caller's memory has the piece; the chunk has room for it, and no stream uses it.
            unsafe { copiers.copy(copy, from.add(piece.start), chunk, piece.len()) };
            lease.begin();
            stream.outside_captures(|raw| enqueue(piece, chunk, raw))??;
            if index + IN_TURNS < count {
                lease.mark(index)?;
            }
        }
        if end == End::Read { lease.leave() } else { lease.settle() }
    })
}

/// Copies pieces to the host. `enqueue` enqueues the copy of one piece, to the given address. Returns when
/// all of them are there; after an error, some may be.
///
/// # Safety
///
/// `to` has room for the bytes of all pieces, and nothing else uses them. `enqueue` lets the stream write the
/// bytes of its piece at the address, and nothing else of the host.
pub(in crate::memory) unsafe fn download(
    to: *mut u8,
    pieces: Pieces,
    stream: &Stream,
    mut enqueue: impl FnMut(Range<usize>, *mut u8, CUstream) -> warploom_driver::Result<()>,
) -> Result<()> {
    with_copiers(pieces.total(), |copiers| {
        let (mut lease, count) = (Lease::new(stream)?, pieces.clone().count());
        let mut begin = |lease: &mut Lease<'_>, (index, piece): (usize, Range<usize>)| {
            let chunk = lease.chunk(index);
            lease.begin();
            stream.outside_captures(|raw| enqueue(piece, chunk, raw))??;
            if index + 1 < count { lease.mark(index) } else { Ok(()) }
        };
        let mut ahead = pieces.clone().enumerate();
        for next in ahead.by_ref().take(IN_TURNS) {
            begin(&mut lease, next)?;
        }
        for (index, piece) in pieces.enumerate() {
            if index + 1 < count {
                lease.wait(index)?;
            } else {
                lease.settle()?;
            }
            // SAFETY: the chunk has the piece, which the stream has written; the caller's memory has room for
            // it.
            unsafe { copiers.copy(HostCopy::Uncached, lease.chunk(index), to.add(piece.start), piece.len()) };
            if let Some(next) = ahead.next() {
                begin(&mut lease, next)?;
            }
        }
        Ok(())
    })
}
