//! A page of shadow memory: its last writes, reads and strong accesses.

use super::layer::{Grain, Layer, ROW};
use super::run::{Conflict, Run};
use crate::race::access_record::{AccessRecord, Shares};
use crate::race::accessor::Accessor;
use crate::race::hazard::Deed;

#[derive(Debug, Default)]
pub(crate) struct Page {
    grain: Grain,
    /// `true` if there are rows in which lanes share words.
    has_parts: bool,
    writes: Layer,
    /// Two, by different threads, where nothing orders them.
    reads: [Layer; 2],
    strong: Layer,
}

impl Page {
    pub(crate) fn size(&self) -> usize {
        self.layers().map(Layer::size).sum()
    }

    fn layers(&self) -> impl Iterator<Item = &Layer> {
        self.reads.iter().chain([&self.writes, &self.strong])
    }

    fn layers_mut(&mut self) -> impl Iterator<Item = &mut Layer> {
        self.reads.iter_mut().chain([&mut self.writes, &mut self.strong])
    }

    fn refine(&mut self) {
        if self.grain == Grain::Word {
            self.layers_mut().for_each(Layer::refine);
            self.grain = Grain::Byte;
        }
    }

    /// Clears the history of the bytes from `from` to `to` of the page.
    pub(crate) fn renew(&mut self, from: u32, to: u32) {
        let mut at = from;
        while at < to {
            let (row, end) = ((at / ROW) as usize, to.min((at / ROW + 1) * ROW));
            if end - at == ROW {
                self.layers_mut().for_each(|layer| layer.clear_row(row));
            } else {
                self.look_closely(row, at | end);
                let grain = self.grain;
                for at in (at..end).step_by(grain.bytes() as usize) {
                    self.layers_mut().for_each(|layer| layer.clear(at, grain));
                }
            }
            at = end;
        }
    }

    /// Splits the words of the page if an access begins or ends inside of one.
    fn look_closely(&mut self, row: usize, bounds: u32) {
        if self.grain == Grain::Byte || bounds.is_multiple_of(4) && !self.has_parts {
            return;
        }
        let is_finer = |layer: &Layer| layer.is_finer_than_words(row);
        if !bounds.is_multiple_of(4) || self.layers().any(is_finer) {
            self.refine();
        }
    }

    /// Records an access to the bytes from `from` to `to` of a page that starts at `start`; conflicts go to
    /// `found`.
    pub(crate) fn touch(
        &mut self,
        start: u64,
        [from, to]: [u32; 2],
        run: &Run,
        accessor: &Accessor<'_>,
        found: &mut Vec<Conflict>,
    ) {
        match accessor.deed {
            Deed::Write => self.writes.grow(),
            Deed::Read => self.reads[0].grow(),
            Deed::StrongRead | Deed::StrongWrite | Deed::Update => self.strong.grow(),
        }
        let mut at = from;
        while at < to {
            let (row, end) = ((at / ROW) as usize, to.min((at / ROW + 1) * ROW));
            let whole = if end - at == ROW { run.shares(start + u64::from(at)) } else { None };
            self.has_parts |= whole.is_some_and(|shares| shares.shift < 2);
            let is_done = whole.is_some_and(|shares| match accessor.deed {
                Deed::Read => self.read_row(row, shares, accessor),
                Deed::Write => self.write_row(row, shares, accessor),
                _ => false,
            });
            if !is_done {
                self.look_closely(row, at | end);
                let width = self.grain.bytes();
                for cell in (at..end).step_by(width as usize) {
                    let place = start + u64::from(cell);
                    let lanes = run.lanes_at(place, u64::from(width));
                    let conflicts = |first: AccessRecord, deed| {
                        accessor.unknown(&first, lanes, |lane, first| {
                            found.push(Conflict { lane, first, deed, start: place, end: place + u64::from(width) });
                        });
                    };
                    self.touch_cell(cell, lanes, accessor, conflicts);
                }
                if let Some(shares) = whole {
                    self.melt(row, shares, accessor);
                }
            }
            at = end;
        }
    }

    /// Reads a row as a whole, if nothing about it needs a closer look.
    #[inline(always)]
    fn read_row(&mut self, row: usize, shares: Shares, accessor: &Accessor<'_>) -> bool {
        let (write, strong) = (self.writes.row(row), self.strong.row(row));
        if write.is_some() && (write.is_apart() || !accessor.knows_row(&write, shares)) || strong.is_some() {
            return false;
        }
        let [first, second] = [self.reads[0].row(row), self.reads[1].row(row)];
        if first.is_apart() || second.is_apart() {
            return false;
        }
        let record = accessor.record.by(shares.pack());
        if !first.is_some() || accessor.knows_row(&first, shares) {
            self.reads[0].set_row(row, record);
            if second.is_some() && accessor.knows_row(&second, shares) {
                self.reads[1].clear_row(row);
            }
        } else if accessor.is_all {
            self.reads[1].grow();
            self.reads[1].set_row(row, record);
        } else {
            return false;
        }
        true
    }

    /// Writes a row as a whole, if nothing about it needs a closer look.
    #[inline(always)]
    fn write_row(&mut self, row: usize, shares: Shares, accessor: &Accessor<'_>) -> bool {
        let is_over = |layer: &Layer| {
            let earlier = layer.row(row);
            !earlier.is_some() || !earlier.is_apart() && accessor.knows_row(&earlier, shares)
        };
        if !self.layers().all(is_over) {
            return false;
        }
        self.set_written(row, shares, accessor);
        true
    }

    fn set_written(&mut self, row: usize, shares: Shares, accessor: &Accessor<'_>) {
        self.reads.iter_mut().for_each(|layer| layer.clear_row(row));
        self.strong.clear_row(row);
        self.writes.set_row(row, accessor.record.by(shares.pack()));
    }

    /// Makes one of a row whose words were all touched alike.
    fn melt(&mut self, row: usize, shares: Shares, accessor: &Accessor<'_>) {
        match accessor.deed {
            Deed::Write => self.set_written(row, shares, accessor),
            Deed::Read => {
                let (start, width) = (row as u32 * ROW, self.grain.bytes());
                let is_alone = |at: u32| {
                    let inside = at - start;
                    let record = accessor.record.by(shares.of(inside, inside + width));
                    self.reads[0].at(at, self.grain) == record && !self.reads[1].at(at, self.grain).is_some()
                };
                if (start..start + ROW).step_by(width as usize).all(is_alone) {
                    self.reads[0].set_row(row, accessor.record.by(shares.pack()));
                    self.reads[1].clear_row(row);
                }
            }
            Deed::StrongRead | Deed::StrongWrite | Deed::Update => {}
        }
    }

    /// Records an access to one cell; conflicts go to `found`.
    #[inline(always)]
    fn touch_cell(&mut self, at: u32, lanes: u32, accessor: &Accessor<'_>, mut found: impl FnMut(AccessRecord, Deed)) {
        let (deed, grain) = (accessor.deed, self.grain);
        let record = accessor.record.by(lanes);
        let is_unknown = |earlier: &AccessRecord| earlier.is_some() && !accessor.knows(earlier, lanes);
        let write = self.writes.at(at, grain);
        if is_unknown(&write) {
            found(write, Deed::Write);
        }
        if deed.writes() && !self.reads[0].is_empty() {
            let reads = [self.reads[0].at(at, grain), self.reads[1].at(at, grain)];
            reads.iter().filter(|read| is_unknown(read)).for_each(|read| found(*read, Deed::Read));
        }
        if !deed.is_strong() && !self.strong.is_empty() {
            let strong = self.strong.at(at, grain);
            if (deed.writes() || strong.writes()) && is_unknown(&strong) {
                found(strong, if strong.writes() { Deed::StrongWrite } else { Deed::StrongRead });
            }
        }
        match deed {
            Deed::Read => {
                let [first, second] = &mut self.reads;
                let (first, also) = (first.cell(at, grain), second.at(at, grain));
                if !first.is_some()
                    || accessor.knows(first, lanes)
                    || first.is_by_warp_of(&record) && first.since == record.since && first.lanes & !lanes == 0
                {
                    *first = record;
                    if also.is_some() && accessor.knows(&also, lanes) {
                        second.clear(at, grain);
                    }
                } else if first.is_like(&record) {
                    first.lanes |= lanes;
                } else {
                    let mates = if also.is_some() && also.is_like(&record) { also.lanes } else { 0 };
                    second.grow();
                    *second.cell(at, grain) = record.by(lanes | mates);
                }
            }
            Deed::Write => {
                *self.writes.cell(at, grain) = record;
                self.reads.iter_mut().for_each(|layer| layer.clear(at, grain));
                self.strong.clear(at, grain);
            }
            Deed::StrongRead | Deed::StrongWrite | Deed::Update => {
                let strong = self.strong.cell(at, grain);
                if record.writes() || !strong.is_some() || !strong.writes() {
                    *strong = record;
                }
            }
        }
    }
}
