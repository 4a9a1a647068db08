//! Batches of managed ranges: their checks and their driver form.

use warploom_driver::sys::types::{CUdeviceptr, CUmemLocation};
use warploom_driver::{DriverVersion, Function};

use super::{Locations, ManagedRange};
use crate::{CopyError, Driver, Location, ManagedError, Result, Stream};

/// Ranges that are managed, and locations that the driver can be told.
pub(super) struct Checked<'r, 'a> {
    ranges: &'r [ManagedRange<'a>],
    to: Option<&'r Locations>,
    driver: &'a Driver,
}

/// Ranges as the driver takes them: those that are not empty, and a location for each run that has the same.
pub(super) struct Batch {
    pub(super) addresses: Vec<CUdeviceptr>,
    pub(super) sizes: Vec<usize>,
    pub(super) places: Vec<CUmemLocation>,
    /// The first range of each run.
    pub(super) starts: Vec<usize>,
}

impl<'r, 'a> Checked<'r, 'a> {
    /// All checks before the driver is called, in the order of their errors; with `numbered`, errors have the
    /// index of the range.
    pub(super) fn new(
        what: &'static str,
        ranges: &'r [ManagedRange<'a>],
        to: Option<&'r Locations>,
        numbered: bool,
    ) -> Result<Checked<'r, 'a>> {
        let [first, ..] = ranges else { return Err(ManagedError::EmptyBatch.into()) };
        to.map_or(Ok(()), |to| to.check_count(ranges.len()))?;
        for (index, range) in ranges.iter().enumerate() {
            range.check_managed(what, numbered.then_some(index))?;
        }
        for place in to.map_or(&[][..], Locations::named) {
            first.place_for_prefetch(place)?;
        }
        Ok(Checked { ranges, to, driver: first.driver() })
    }

    pub(super) fn driver(&self) -> &'a Driver {
        self.driver
    }

    /// Refuses drivers without the call, and the legacy stream, which takes no batches.
    pub(super) fn check_batches(&self, function: Function, stream: &Stream) -> Result<()> {
        if !self.driver.supports(function) {
            let (needs, have) = (DriverVersion::from_raw(function.version()), self.driver.version());
            return Err(warploom_driver::Error::Unsupported { function, needs, have }.into());
        }
        if stream.is_legacy() { Err(CopyError::LegacyStream.into()) } else { Ok(()) }
    }

    /// Refuses a stream of another driver than that of any range.
    pub(super) fn check_reached_by(&self, stream: &Stream) -> Result<()> {
        self.ranges.iter().try_for_each(|range| range.check_reached_by(stream))
    }

    /// Lets the stream use the ranges; `None` if all of them are empty.
    pub(super) fn meet(&self, stream: &Stream) -> Result<Option<Batch>> {
        let mut batch = Batch { addresses: Vec::new(), sizes: Vec::new(), places: Vec::new(), starts: Vec::new() };
        let mut before: Option<&Location> = None;
        for (index, range) in self.ranges.iter().enumerate().filter(|(_, range)| range.bytes > 0) {
            range.allocation.meet(stream)?;
            let place = self.to.and_then(|to| to.at(index));
            if let Some(new) = place.filter(|place| before != Some(place)) {
                batch.places.push(new.to_raw());
                batch.starts.push(batch.addresses.len());
                before = place;
            }
            batch.addresses.push(range.address);
            batch.sizes.push(range.bytes);
        }
        Ok(if batch.addresses.is_empty() { None } else { Some(batch) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Host, ManagedBuffer, ManagedMemory};

    /// The first range of each run, and the kind of its location, for that many buffers of 4096 bytes of
    /// which some are empty.
    fn runs(empty: &[usize], count: usize, to: Locations) -> Result<(Vec<usize>, Vec<u32>)> {
        let machine = warploom_sim::Machine::preset("h200").expect("it exists");
        let context = Driver::open(&machine)?.device(0)?.context()?;
        let (stream, memory) = (context.stream()?, ManagedMemory::new(&context)?);
        let buffers = (0..count).map(|_| memory.allocate(4096)).collect::<Result<Vec<ManagedBuffer>>>()?;
        let part = |(index, buffer)| {
            let buffer: &ManagedBuffer = buffer;
            let end = if empty.contains(&index) { 0 } else { buffer.len() };
            buffer.slice(..end).map(ManagedRange::from)
        };
        let ranges = buffers.iter().enumerate().map(part).collect::<Result<Vec<_>>>()?;
        let batch = Checked::new("test", &ranges, Some(&to), true)?.meet(&stream)?.expect("not all are empty");
        assert!(batch.sizes.iter().all(|size| *size == 4096));
        assert_eq!((batch.addresses.len(), batch.sizes.len()), (count - empty.len(), count - empty.len()));
        Ok((batch.starts, batch.places.iter().map(|place| place.type_.0).collect()))
    }

    const HOST: u32 = 2;
    const CALLER: u32 = 4;

    /// S1.30: one for all is one entry.
    #[test]
    fn one_place_for_all_is_one_run() {
        assert_eq!(runs(&[], 5, Host::Any.into()), Ok((vec![0], vec![HOST])));
        assert_eq!(runs(&[0], 2, Host::Any.into()), Ok((vec![0], vec![HOST])));
    }

    /// S1.30, S1.33: neighbours that go to the same location are one run, also across omitted ranges.
    #[test]
    fn equal_neighbours_are_one_run() {
        let (host, caller) = (Host::Any, Host::NumaCurrent);
        let each = || Locations::from([host, host, caller, host, caller, caller]);
        assert_eq!(runs(&[], 6, each()), Ok((vec![0, 2, 3, 4], vec![HOST, CALLER, HOST, CALLER])));
        assert_eq!(runs(&[0, 3], 6, each()), Ok((vec![0, 1], vec![HOST, CALLER])));
    }
}
