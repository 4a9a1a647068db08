//! Copy options: the source's access order, and location hints.

use warploom_driver::sys::types::{
    CUmemLocation, CUmemLocationType, CUmemcpyAttributes, CUmemcpyFlags, CUmemcpySrcAccessOrder,
};

use crate::memory::allocation::Allocation;
use crate::{CaptureStatus, CopyError, Host, Location, Result, Stream};

/// The time at which a copy may read its source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SourceOrder {
    /// In the order of the stream, as copies without options do.
    #[default]
    Stream,
    /// Before the call returns, so that the source may be changed right after it. Earlier work of the stream
    /// must not write the source.
    DuringCall,
    /// At any time from the call on until the copy is done. Earlier work of the stream must not write the
    /// source.
    Any,
}

/// Options of a copy: the order of its source, location hints for its ends, and overlap with kernels. Hints
/// change the speed of a copy, not its result.
///
/// ```
/// use warploom::{CopyOptions, DeviceMemory, Driver, SourceOrder};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
/// let context = driver.device(0)?.context()?;
/// let (stream, memory) = (context.stream()?, DeviceMemory::new(&context));
/// let from = memory.upload(&[1_u32, 2, 3], &stream)?;
/// let mut to = memory.allocate::<u32>(3)?;
/// let options = CopyOptions::new().source_order(SourceOrder::Any).overlap();
/// from.as_slice().copy_to_with(&mut to, options, &stream)?;
/// assert_eq!(to.download(&stream)?, [1, 2, 3]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[must_use]
pub struct CopyOptions {
    source_order: SourceOrder,
    source: Option<Hint>,
    destination: Option<Hint>,
    overlap: bool,
}

/// A location that does not hold the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Hint {
    Device(i32),
    Host(Host),
}

impl Hint {
    fn of(location: &Location) -> Hint {
        match location {
            Location::Device(device) => Hint::Device(device.as_raw()),
            Location::Host(host) => Hint::Host(*host),
        }
    }

    fn to_raw(place: Option<Hint>) -> CUmemLocation {
        match place {
            None => CUmemLocation::new(CUmemLocationType::CU_MEM_LOCATION_TYPE_INVALID, 0),
            Some(Hint::Device(device)) => CUmemLocation::new(CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, device),
            Some(Hint::Host(host)) => Location::Host(host).to_raw(),
        }
    }
}

impl CopyOptions {
    /// A copy like any other.
    pub fn new() -> CopyOptions {
        CopyOptions::default()
    }

    /// The time at which the source may be read.
    pub fn source_order(mut self, order: SourceOrder) -> CopyOptions {
        self.source_order = order;
        self
    }

    /// A hint for the location of the source, for managed memory.
    pub fn source_hint(mut self, location: impl Into<Location>) -> CopyOptions {
        self.source = Some(Hint::of(&location.into()));
        self
    }

    /// A hint for the location of the destination, for managed memory.
    pub fn destination_hint(mut self, location: impl Into<Location>) -> CopyOptions {
        self.destination = Some(Hint::of(&location.into()));
        self
    }

    /// Prefers a way of copying that runs beside kernels.
    pub fn overlap(mut self) -> CopyOptions {
        self.overlap = true;
        self
    }

    pub(super) fn is_during_call(self) -> bool {
        self.source_order == SourceOrder::DuringCall
    }

    /// Refuses to read a source out of order that is only there in order.
    pub(super) fn check_source(self, source: &Allocation) -> Result<()> {
        match self.source_order {
            SourceOrder::Stream => Ok(()),
            SourceOrder::DuringCall | SourceOrder::Any if source.home().is_none() => Ok(()),
            SourceOrder::DuringCall | SourceOrder::Any => Err(CopyError::SourceOrder.into()),
        }
    }

    pub(super) fn to_raw(self) -> CUmemcpyAttributes {
        let order = match self.source_order {
            SourceOrder::Stream => CUmemcpySrcAccessOrder::CU_MEMCPY_SRC_ACCESS_ORDER_STREAM,
            SourceOrder::DuringCall => CUmemcpySrcAccessOrder::CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL,
            SourceOrder::Any => CUmemcpySrcAccessOrder::CU_MEMCPY_SRC_ACCESS_ORDER_ANY,
        };
        CUmemcpyAttributes {
            srcAccessOrder: order,
            srcLocHint: Hint::to_raw(self.source),
            dstLocHint: Hint::to_raw(self.destination),
            flags: if self.overlap { CUmemcpyFlags::CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE.0 } else { 0 },
        }
    }
}

/// Refuses streams that take no copies with options.
pub(super) fn check_stream(stream: &Stream) -> Result<()> {
    if stream.is_legacy() {
        return Err(CopyError::LegacyStream.into());
    }
    match stream.capture_status()? {
        CaptureStatus::None => Ok(()),
        _ => Err(CopyError::Capturing.into()),
    }
}

/// The options of a batch in the driver's form, once for each run of neighbours with the same, and where each
/// run starts.
pub(super) fn runs(all: impl Iterator<Item = CopyOptions>) -> (Vec<CUmemcpyAttributes>, Vec<usize>) {
    let (mut attributes, mut starts, mut last) = (Vec::new(), Vec::new(), None);
    for (index, options) in all.enumerate() {
        if last.replace(options) != Some(options) {
            attributes.push(options.to_raw());
            starts.push(index);
        }
    }
    (attributes, starts)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CPY-4: attributes that are equal for all copies are given to the driver once.
    #[test]
    fn neighbours_with_the_same_options_share_them() {
        let (plain, any) = (CopyOptions::new(), CopyOptions::new().source_order(SourceOrder::Any));
        let starts = |all: &[CopyOptions]| runs(all.iter().copied()).1;
        assert_eq!(starts(&[any; 5]), [0]);
        assert_eq!(starts(&[plain, any, any, any.overlap(), plain]), [0, 1, 3, 4]);
        assert_eq!(starts(&[]), [0; 0]);
        let (attributes, _) = runs([plain, any.overlap()].into_iter());
        assert_eq!(
            attributes.iter().map(|given| (given.srcAccessOrder.0, given.flags)).collect::<Vec<_>>(),
            [(1, 0), (3, 1)]
        );
    }

    #[test]
    fn hints_name_the_places_that_they_were_given() {
        let options = CopyOptions::new().destination_hint(Host::NumaCurrent);
        let CUmemcpyAttributes { srcLocHint, dstLocHint, .. } = options.to_raw();
        assert_eq!(srcLocHint.type_, CUmemLocationType::CU_MEM_LOCATION_TYPE_INVALID);
        assert_eq!(dstLocHint.type_, CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT);
    }
}
