//! One kind of access to a page of memory: a record for each row, word or byte.

use crate::race::access_record::{AccessRecord, Shares};

/// Bytes of a page, and of a row of it.
pub(crate) const PAGE: u64 = 1024;
pub(crate) const ROW: u32 = 32;
const ROWS: usize = (PAGE / ROW as u64) as usize;

/// Number of bytes one stamp is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Grain {
    #[default]
    Word,
    Byte,
}

impl Grain {
    #[inline(always)]
    pub(crate) fn bytes(self) -> u32 {
        match self {
            Grain::Word => 4,
            Grain::Byte => 1,
        }
    }
}

/// Takes up no room until the page is accessed in its way.
#[derive(Debug, Default)]
pub(crate) struct Layer {
    rows: Vec<AccessRecord>,
    /// Of all rows, if any is [apart](AccessRecord::APART).
    cells: Vec<AccessRecord>,
}

impl Layer {
    /// Number of stamps.
    pub(crate) fn size(&self) -> usize {
        self.rows.len() + self.cells.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    #[inline(always)]
    pub(crate) fn grow(&mut self) {
        if self.rows.is_empty() {
            self.rows = vec![AccessRecord::NONE; ROWS];
        }
    }

    /// Makes every word four bytes.
    pub(crate) fn refine(&mut self) {
        self.cells = self.cells.iter().flat_map(|cell| [*cell; 4]).collect();
    }

    #[inline(always)]
    pub(crate) fn row(&self, row: usize) -> AccessRecord {
        self.rows.get(row).copied().unwrap_or(AccessRecord::NONE)
    }

    /// Of a layer that has grown.
    #[inline(always)]
    pub(crate) fn set_row(&mut self, row: usize, record: AccessRecord) {
        self.rows[row] = record;
    }

    #[inline(always)]
    pub(crate) fn clear_row(&mut self, row: usize) {
        if let Some(row) = self.rows.get_mut(row) {
            *row = AccessRecord::NONE;
        }
    }

    /// The last access to a cell, which starts `at` bytes into the page.
    #[inline(always)]
    pub(crate) fn at(&self, at: u32, grain: Grain) -> AccessRecord {
        let row = self.row((at / ROW) as usize);
        if row.is_apart() {
            return self.cells[(at / grain.bytes()) as usize];
        }
        if !row.is_some() {
            return row;
        }
        row.by(Shares::unpack(row.lanes).of(at % ROW, at % ROW + grain.bytes()))
    }

    /// `true` if parts of words in a row belong to different lanes.
    pub(crate) fn is_finer_than_words(&self, row: usize) -> bool {
        let row = self.row(row);
        row.is_some() && !row.is_apart() && Shares::unpack(row.lanes).shift < 2
    }

    /// The stamp of a cell, of a layer that has grown; its row falls apart.
    #[inline(always)]
    pub(crate) fn cell(&mut self, at: u32, grain: Grain) -> &mut AccessRecord {
        let row = (at / ROW) as usize;
        if !self.rows[row].is_apart() {
            self.part(row, grain);
        }
        &mut self.cells[(at / grain.bytes()) as usize]
    }

    fn part(&mut self, row: usize, grain: Grain) {
        if self.cells.is_empty() {
            self.cells = vec![AccessRecord::NONE; PAGE as usize / grain.bytes() as usize];
        }
        let start = row as u32 * ROW;
        for at in (start..start + ROW).step_by(grain.bytes() as usize) {
            self.cells[(at / grain.bytes()) as usize] = self.at(at, grain);
        }
        self.rows[row] = AccessRecord::APART;
    }

    /// Clears the history of a cell.
    #[inline(always)]
    pub(crate) fn clear(&mut self, at: u32, grain: Grain) {
        if self.row((at / ROW) as usize).is_some() {
            *self.cell(at, grain) = AccessRecord::NONE;
        }
    }
}
