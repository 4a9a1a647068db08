//! Local memory of a warp: a row of words for each address, so that lanes at the same address access one row.

use crate::lanes::{LANES, Words};

/// Local memory of all lanes of a warp.
#[derive(Debug, Default)]
pub(crate) struct Local {
    rows: Vec<Words>,
}

impl Local {
    pub(crate) fn clear(&mut self) {
        self.rows.clear();
    }

    /// Makes room for addresses below `end`, which is at most
    /// [`MAX_LOCAL`](crate::device::launch::MAX_LOCAL).
    pub(crate) fn reserve(&mut self, end: u32) {
        let rows = end.div_ceil(4) as usize;
        if rows > self.rows.len() {
            self.rows.resize(rows, [0; LANES]);
        }
    }

    /// The end of the memory that can be accessed.
    pub(crate) fn end(&self) -> u64 {
        self.rows.len() as u64 * 4
    }

    /// The row at a multiple of four.
    pub(crate) fn row(&mut self, address: u32) -> &mut Words {
        &mut self.rows[(address / 4) as usize]
    }

    /// Bytes of one lane.
    pub(crate) fn read(&self, lane: usize, address: u64, into: &mut [u8]) {
        for (byte, address) in into.iter_mut().zip(address..) {
            *byte = (self.rows[(address / 4) as usize][lane] >> (address % 4 * 8)) as u8;
        }
    }

    /// Bytes of one lane.
    pub(crate) fn write(&mut self, lane: usize, address: u64, from: &[u8]) {
        for (byte, address) in from.iter().zip(address..) {
            let (word, shift) = (&mut self.rows[(address / 4) as usize][lane], address % 4 * 8);
            *word = (*word & !(0xff << shift)) | u32::from(*byte) << shift;
        }
    }
}
