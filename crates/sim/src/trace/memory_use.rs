//! Memory in use over time, in a bounded number of samples.

use litemap::LiteMap;
use warploom_record::{MemoryKind, MemorySeries};

/// Samples that a series keeps; neighbours are merged when there are more.
const SAMPLES: usize = 4096;

/// Series that are kept; pools beyond them are not recorded.
const SERIES: usize = 256;

/// The memory that a series is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MemorySubject {
    /// All memory of a device that is not free.
    Device(u16),
    /// Allocated bytes of a pool, by its handle.
    PoolUsed(u64),
    /// Bytes that a pool holds.
    PoolReserved(u64),
}

/// The memory in use of a device or a pool.
struct MemoryUse {
    /// The device; none for pools of the host.
    device: Option<u16>,
    /// `true` for the default pool of its device.
    is_default: bool,
    /// The most bytes it can have; 0 if there is no such limit.
    capacity: u64,
    samples: Vec<Sample>,
    /// The time between two samples, at least.
    step: u64,
    /// `true` if the newest look found it.
    is_there: bool,
}

/// Memory in use around a moment of virtual time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sample {
    time: u64,
    /// The most bytes until the next sample's time.
    peak: u64,
    /// The bytes in use after the last change.
    last: u64,
}

/// Bytes in use at one look.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InUse {
    pub(crate) subject: MemorySubject,
    pub(crate) device: Option<u16>,
    pub(crate) is_default: bool,
    pub(crate) capacity: u64,
    pub(crate) bytes: u64,
}

/// The series of a machine.
#[derive(Default)]
pub(super) struct MemoryUses {
    series: LiteMap<MemorySubject, MemoryUse>,
}

impl MemoryUses {
    /// Adds a look at all memory of the machine. Memory that is not among it is no longer there.
    pub(super) fn add(&mut self, time: u64, all: impl Iterator<Item = InUse>) {
        self.series.iter_mut().for_each(|(_, series)| series.is_there = false);
        for InUse { subject, device, is_default, capacity, bytes } in all {
            if self.series.len() >= SERIES && !self.series.contains_key(&subject) {
                continue;
            }
            let series = self.series.entry(subject).or_insert_with(|| MemoryUse {
                device,
                is_default,
                capacity,
                samples: Vec::new(),
                step: 1,
                is_there: true,
            });
            series.is_there = true;
            series.add(time, bytes);
        }
        self.series.iter_mut().filter(|(_, series)| !series.is_there).for_each(|(_, series)| series.add(time, 0));
    }

    /// The series that were ever above zero. Pools of a device are numbered in the order of their handles.
    pub(super) fn series(&self) -> Vec<MemorySeries> {
        let used = self.series.iter().filter(|(_, series)| series.samples.iter().any(|sample| sample.peak > 0));
        let mut numbers = LiteMap::new_vec();
        let mut pool_name = |pool: u64, series: &MemoryUse, home: &str| {
            if series.is_default {
                return format!("default pool of {home}");
            }
            let next = numbers.len() + 1;
            format!("pool {} of {home}", *numbers.entry(pool).or_insert(next))
        };
        used.map(|(subject, series)| {
            let home = series.device.map_or_else(|| "the host".to_owned(), |device| format!("device {device}"));
            let (kind, name) = match subject {
                MemorySubject::Device(_) => (MemoryKind::Device, home),
                MemorySubject::PoolUsed(pool) => (MemoryKind::PoolUsed, pool_name(*pool, series, &home)),
                MemorySubject::PoolReserved(pool) => (MemoryKind::PoolReserved, pool_name(*pool, series, &home)),
            };
            series.shown(name, kind)
        })
        .collect()
    }
}

impl MemoryUse {
    fn shown(&self, name: String, kind: MemoryKind) -> MemorySeries {
        let column = |of: fn(&Sample) -> u64| self.samples.iter().map(of).collect();
        MemorySeries {
            name,
            kind,
            device: self.device,
            capacity: self.capacity,
            time_ns: column(|sample| sample.time),
            peak: column(|sample| sample.peak),
            last: column(|sample| sample.last),
        }
    }

    fn add(&mut self, time: u64, bytes: u64) {
        if let Some(newest) = self.samples.last_mut() {
            if newest.last == bytes {
                return;
            }
            if time < newest.time.saturating_add(self.step) {
                (newest.peak, newest.last) = (newest.peak.max(bytes), bytes);
                return;
            }
        }
        self.samples.push(Sample { time, peak: bytes, last: bytes });
        if self.samples.len() > SAMPLES {
            self.thin();
        }
    }

    /// Merges neighbours until half of the samples are left at most.
    fn thin(&mut self) {
        while self.samples.len() > SAMPLES / 2 {
            let step = self.step.saturating_mul(2);
            self.step = step;
            let mut merged: Vec<Sample> = Vec::with_capacity(SAMPLES);
            for sample in self.samples.drain(..) {
                match merged.last_mut() {
                    Some(newest) if sample.time < newest.time.saturating_add(step) => {
                        (newest.peak, newest.last) = (newest.peak.max(sample.peak), sample.last);
                    }
                    _ => merged.push(sample),
                }
            }
            self.samples = merged;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(bytes: u64) -> impl Iterator<Item = InUse> {
        let subject = MemorySubject::PoolUsed(7);
        std::iter::once(InUse { subject, device: Some(0), is_default: false, capacity: 0, bytes })
    }

    fn samples(uses: &MemoryUses) -> Vec<Sample> {
        uses.series.values().flat_map(|series| series.samples.clone()).collect()
    }

    #[test]
    fn only_changes_are_kept_and_memory_that_is_gone_is_empty() {
        let mut uses = MemoryUses::default();
        uses.add(10, used(64));
        uses.add(20, used(64));
        uses.add(30, used(96));
        uses.add(40, std::iter::empty());
        let expected = [(10, 64), (30, 96), (40, 0)].map(|(time, bytes)| Sample { time, peak: bytes, last: bytes });
        assert_eq!(samples(&uses), expected);
    }

    #[test]
    fn changes_at_one_time_are_one_sample_with_the_peak_and_the_last() {
        let mut uses = MemoryUses::default();
        for bytes in [64, 128, 32] {
            uses.add(10, used(bytes));
        }
        assert_eq!(samples(&uses), [Sample { time: 10, peak: 128, last: 32 }]);
    }

    #[test]
    fn samples_are_bounded_and_peaks_survive() {
        let mut uses = MemoryUses::default();
        let highest = 1_000_000;
        for time in 0..100_000_u64 {
            uses.add(time, used(if time == 54_321 { highest } else { time % 2 + 1 }));
        }
        uses.add(100_000, used(0));
        let samples = samples(&uses);
        assert!(samples.len() <= SAMPLES, "{}", samples.len());
        assert!(samples.len() > SAMPLES / 8, "{}", samples.len());
        assert_eq!(samples.iter().map(|sample| sample.peak).max(), Some(highest));
        assert_eq!(samples.last().map(|sample| sample.last), Some(0));
        assert!(samples.is_sorted_by_key(|sample| sample.time));
    }

    #[test]
    fn the_number_of_series_is_bounded() {
        let mut uses = MemoryUses::default();
        let pool = |subject| InUse { subject, device: None, is_default: false, capacity: 0, bytes: 1 };
        uses.add(1, (0..1000).map(|handle| pool(MemorySubject::PoolUsed(handle))));
        assert_eq!(uses.series().len(), SERIES);
    }
}
