//! One sort of access to a page of memory: row by row where a warp has touched a row as a whole, else word by word or byte by
//! byte.

use super::stamp::{Shares, Stamp};

/// Bytes of a page, and of a row of it.
pub(super) const PAGE: u64 = 1024;
pub(super) const ROW: u32 = 32;
const ROWS: usize = (PAGE / ROW as u64) as usize;

/// How many bytes one stamp is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Grain {
    #[default]
    Word,
    Byte,
}

impl Grain {
    #[inline(always)]
    pub(super) fn bytes(self) -> u32 {
        match self {
            Grain::Word => 4,
            Grain::Byte => 1,
        }
    }
}

/// Takes up no room until somebody accesses the page in its way.
#[derive(Debug, Default)]
pub(super) struct Layer {
    rows: Vec<Stamp>,
    /// Of all rows, if any is [apart](Stamp::APART).
    cells: Vec<Stamp>,
}

impl Layer {
    /// How many stamps there are.
    pub(super) fn size(&self) -> usize {
        self.rows.len() + self.cells.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    #[inline(always)]
    pub(super) fn grow(&mut self) {
        if self.rows.is_empty() {
            self.rows = vec![Stamp::NONE; ROWS];
        }
    }

    /// Makes every word four bytes.
    pub(super) fn refine(&mut self) {
        self.cells = self.cells.iter().flat_map(|cell| [*cell; 4]).collect();
    }

    #[inline(always)]
    pub(super) fn row(&self, row: usize) -> Stamp {
        self.rows.get(row).copied().unwrap_or(Stamp::NONE)
    }

    /// Of a layer that has grown.
    #[inline(always)]
    pub(super) fn set_row(&mut self, row: usize, stamp: Stamp) {
        self.rows[row] = stamp;
    }

    #[inline(always)]
    pub(super) fn clear_row(&mut self, row: usize) {
        if let Some(row) = self.rows.get_mut(row) {
            *row = Stamp::NONE;
        }
    }

    /// Who touched the bytes of a cell, which starts `at` bytes into the page.
    #[inline(always)]
    pub(super) fn at(&self, at: u32, grain: Grain) -> Stamp {
        let row = self.row((at / ROW) as usize);
        if row.is_apart() {
            return self.cells[(at / grain.bytes()) as usize];
        }
        if !row.is_some() {
            return row;
        }
        row.by(Shares::unpack(row.lanes).of(at % ROW, at % ROW + grain.bytes()))
    }

    /// Whether parts of words in a row belong to different lanes.
    pub(super) fn is_finer_than_words(&self, row: usize) -> bool {
        let row = self.row(row);
        row.is_some() && !row.is_apart() && Shares::unpack(row.lanes).shift < 2
    }

    /// The stamp of a cell, of a layer that has grown; its row falls apart.
    #[inline(always)]
    pub(super) fn cell(&mut self, at: u32, grain: Grain) -> &mut Stamp {
        let row = (at / ROW) as usize;
        if !self.rows[row].is_apart() {
            self.part(row, grain);
        }
        &mut self.cells[(at / grain.bytes()) as usize]
    }

    fn part(&mut self, row: usize, grain: Grain) {
        if self.cells.is_empty() {
            self.cells = vec![Stamp::NONE; PAGE as usize / grain.bytes() as usize];
        }
        let start = row as u32 * ROW;
        for at in (start..start + ROW).step_by(grain.bytes() as usize) {
            self.cells[(at / grain.bytes()) as usize] = self.at(at, grain);
        }
        self.rows[row] = Stamp::APART;
    }

    /// Makes a cell nobody's.
    #[inline(always)]
    pub(super) fn clear(&mut self, at: u32, grain: Grain) {
        if self.row((at / ROW) as usize).is_some() {
            *self.cell(at, grain) = Stamp::NONE;
        }
    }
}
