//! Operations on simulated memory: copies, fills, and words that streams write and wait for.

use super::sim_address::{Side, SimAddress};

/// An operation on memory that can be repeated: an op of a stream, or a node of a graph.
#[derive(Clone, Debug)]
pub(crate) enum MemoryOp {
    Copy {
        to: SimAddress,
        from: SimAddress,
        bytes: u64,
    },
    CopyBlock(Box<BlockCopy>),
    Fill {
        to: SimAddress,
        pattern: u32,
        element: u8,
        count: u64,
    },
    FillRows(Box<RowFill>),
    /// Writes one aligned word, which waits for values see at once.
    WriteValue {
        to: SimAddress,
        value: u64,
        wide: bool,
    },
    WaitValue {
        at: SimAddress,
        value: u64,
        wide: bool,
        compare: Compare,
    },
}

/// A box of rows and slices, copied between two pitched layouts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockCopy {
    pub(crate) to: SimAddress,
    pub(crate) to_pitch: u64,
    pub(crate) to_slice: u64,
    pub(crate) from: SimAddress,
    pub(crate) from_pitch: u64,
    pub(crate) from_slice: u64,
    pub(crate) width: u64,
    pub(crate) height: u64,
    pub(crate) depth: u64,
}

/// Rows of a repeated element.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowFill {
    pub(crate) to: SimAddress,
    pub(crate) pitch: u64,
    pub(crate) pattern: u32,
    pub(crate) element: u8,
    pub(crate) columns: u64,
    pub(crate) rows: u64,
}

/// A block copy whose source bytes were taken, row after row, when the call was made.
#[derive(Debug)]
pub(crate) struct StagedBlock {
    pub(crate) block: BlockCopy,
    pub(crate) bytes: Box<[u8]>,
}

/// The comparison of a wait for a value in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compare {
    /// The difference, taken as signed, is not negative.
    AtLeast,
    Equal,
    /// They share a bit.
    And,
    /// The complement of their "or" is not zero.
    Nor,
}

/// Bytes that an operation moves or sets, and the memories between which it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transfer {
    /// The memory that is read; none is by a fill.
    pub(crate) from: Option<Side>,
    pub(crate) to: Side,
    pub(crate) bytes: u64,
}

/// A range of bytes that an op touches.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Touch {
    /// Bytes that are read, and written elsewhere.
    Copy { to: SimAddress, from: SimAddress, bytes: u64 },
    /// Bytes that are overwritten with known values.
    Write { to: SimAddress, bytes: u64 },
    /// Managed pages that are prefetched.
    Prefetch { at: SimAddress, bytes: u64 },
    /// Managed pages whose contents are discarded.
    Discard { at: SimAddress, bytes: u64 },
    /// A word that a stream writes for others to wait for.
    WriteValue { at: SimAddress, bytes: u64 },
    /// A word that a stream waits for.
    WaitValue { at: SimAddress, bytes: u64 },
}

impl MemoryOp {
    /// Does the operation. `false` for a wait whose value is not there yet.
    pub(crate) fn run(&self) -> bool {
        match self {
            MemoryOp::Copy { to, from, bytes } => to.copy_from(*from, *bytes),
            MemoryOp::CopyBlock(block) => {
                for (to, from) in block.rows() {
                    block.to.offset(to).copy_from(block.from.offset(from), block.width);
                }
            }
            MemoryOp::Fill { to, pattern, element, count } => to.fill(*pattern, *element, *count),
            MemoryOp::FillRows(fill) => {
                for row in 0..fill.rows {
                    fill.to.offset(row * fill.pitch).fill(fill.pattern, fill.element, fill.columns);
                }
            }
            MemoryOp::WriteValue { to, value, wide } => to.write_value(*value, *wide),
            MemoryOp::WaitValue { at, value, wide, compare } => {
                return compare.holds(at.read_value(*wide), *value, *wide);
            }
        }
        true
    }

    /// Calls `touch` with every range of bytes that it touches, row by row.
    pub(crate) fn touches(&self, mut touch: impl FnMut(Touch)) {
        let word = |wide: bool| if wide { 8 } else { 4 };
        match self {
            MemoryOp::Copy { to, from, bytes } => touch(Touch::Copy { to: *to, from: *from, bytes: *bytes }),
            MemoryOp::CopyBlock(block) => {
                for (to, from) in block.rows() {
                    touch(Touch::Copy { to: block.to.offset(to), from: block.from.offset(from), bytes: block.width });
                }
            }
            MemoryOp::Fill { to, element, count, .. } => {
                touch(Touch::Write { to: *to, bytes: count * u64::from(*element) });
            }
            MemoryOp::FillRows(fill) => {
                let RowFill { to, pitch, element, columns, rows, .. } = **fill;
                for row in 0..rows {
                    touch(Touch::Write { to: to.offset(row * pitch), bytes: columns * u64::from(element) });
                }
            }
            MemoryOp::WriteValue { to, wide, .. } => touch(Touch::WriteValue { at: *to, bytes: word(*wide) }),
            MemoryOp::WaitValue { at, wide, .. } => touch(Touch::WaitValue { at: *at, bytes: word(*wide) }),
        }
    }

    /// The first addresses that it writes and reads.
    pub(crate) fn addresses(&self) -> [Option<u64>; 2] {
        let (to, from) = match self {
            MemoryOp::Copy { to, from, .. } => (to, Some(from)),
            MemoryOp::CopyBlock(block) => (&block.to, Some(&block.from)),
            MemoryOp::Fill { to, .. } => (to, None),
            MemoryOp::FillRows(fill) => (&fill.to, None),
            MemoryOp::WriteValue { to, .. } => (to, None),
            MemoryOp::WaitValue { at, .. } => (at, None),
        };
        [Some(to.address()), from.map(|from| from.address())]
    }

    /// The bytes that it copies or fills; words that streams write and wait for are none.
    pub(crate) fn transfer(&self) -> Option<Transfer> {
        let transfer = |from: Option<SimAddress>, to: SimAddress, bytes| {
            Some(Transfer { from: from.map(SimAddress::side), to: to.side(), bytes })
        };
        match self {
            MemoryOp::Copy { to, from, bytes } => transfer(Some(*from), *to, *bytes),
            MemoryOp::CopyBlock(block) => transfer(Some(block.from), block.to, block.bytes()),
            MemoryOp::Fill { to, element, count, .. } => transfer(None, *to, count * u64::from(*element)),
            MemoryOp::FillRows(rows) => transfer(None, rows.to, rows.bytes()),
            MemoryOp::WriteValue { .. } | MemoryOp::WaitValue { .. } => None,
        }
    }

    /// `true` if it moves or sets bytes, and waits for nothing.
    pub(crate) fn moves_bytes(&self) -> bool {
        !matches!(self, MemoryOp::WaitValue { .. })
    }

    /// The operation in words, for reports.
    pub(crate) fn describe(&self) -> String {
        match self {
            MemoryOp::Copy { to, from, bytes } => {
                format!("a copy of {bytes} bytes from {:#x} to {:#x}", from.address(), to.address())
            }
            MemoryOp::CopyBlock(block) => format!(
                "a copy of {}×{}×{} bytes from {:#x} to {:#x}",
                block.width,
                block.height,
                block.depth,
                block.from.address(),
                block.to.address()
            ),
            MemoryOp::Fill { to, element, count, .. } => {
                format!("a fill of {} bytes at {:#x}", count * u64::from(*element), to.address())
            }
            MemoryOp::FillRows(rows) => format!("a fill of {} rows at {:#x}", rows.rows, rows.to.address()),
            MemoryOp::WriteValue { to, value, .. } => format!("a write of {value} to {:#x}", to.address()),
            MemoryOp::WaitValue { at, value, compare, .. } => {
                format!("a wait until the value at {:#x} is {compare:?} {value}", at.address())
            }
        }
    }
}

impl BlockCopy {
    /// Number of bytes it moves.
    pub(crate) fn bytes(&self) -> u64 {
        self.width.saturating_mul(self.height).saturating_mul(self.depth)
    }

    /// The start of each row, behind the start of the destination and of the source.
    fn rows(&self) -> impl Iterator<Item = (u64, u64)> + use<> {
        let BlockCopy { to_pitch, to_slice, from_pitch, from_slice, height, depth, .. } = *self;
        (0..depth).flat_map(move |slice| {
            (0..height).map(move |row| (slice * to_slice + row * to_pitch, slice * from_slice + row * from_pitch))
        })
    }

    /// Takes the source bytes as they are now, so that the source may change before the op runs.
    pub(crate) fn staged(self) -> StagedBlock {
        let mut bytes = Vec::with_capacity(self.bytes() as usize);
        for (_, from) in self.rows() {
            bytes.extend_from_slice(&self.from.offset(from).take(self.width));
        }
        StagedBlock { block: self, bytes: bytes.into_boxed_slice() }
    }
}

impl StagedBlock {
    /// Writes the bytes to the destination.
    pub(crate) fn put(&self) {
        for ((to, _), row) in self.block.rows().zip(self.bytes.chunks_exact(self.block.width as usize)) {
            self.block.to.offset(to).put(row);
        }
    }

    /// Calls `touch` with every row of the destination.
    pub(crate) fn touches(&self, mut touch: impl FnMut(Touch)) {
        for (to, _) in self.block.rows() {
            touch(Touch::Write { to: self.block.to.offset(to), bytes: self.block.width });
        }
    }
}

impl RowFill {
    /// Number of bytes it sets.
    fn bytes(&self) -> u64 {
        self.columns * self.rows * u64::from(self.element)
    }
}

impl Compare {
    /// `true` if a word of memory satisfies a wait for `value`.
    fn holds(self, found: u64, value: u64, wide: bool) -> bool {
        match (self, wide) {
            (Compare::AtLeast, true) => found.wrapping_sub(value).cast_signed() >= 0,
            (Compare::AtLeast, false) => (found as u32).wrapping_sub(value as u32).cast_signed() >= 0,
            (Compare::Equal, true) => found == value,
            (Compare::Equal, false) => found as u32 == value as u32,
            (Compare::And, true) => found & value != 0,
            (Compare::And, false) => found as u32 & value as u32 != 0,
            (Compare::Nor, true) => !(found | value) != 0,
            (Compare::Nor, false) => !(found as u32 | value as u32) != 0,
        }
    }
}
