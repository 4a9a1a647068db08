//! Attributes of managed ranges: cuMemRangeGetAttribute and cuMemRangeGetAttributes.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::collections::BTreeSet;
use std::ffi::c_void;
use std::ops::Range;

use warploom_sys::types::{CUdeviceptr, CUmem_range_attribute, CUmem_range_attribute as A};

use super::range;
use crate::ffi::Ptr;
use crate::ffi::status::{INVALID_VALUE, Status};
use crate::machine::call::Call;
use crate::memory::{NOWHERE, Pages, RequestedLocation, Residence};

/// The first driver version with types and ids of locations.
const LOCATIONS: i32 = 12020;

/// A valid query of one attribute.
struct Question {
    attribute: CUmem_range_attribute,
    out: Ptr<c_void>,
    /// Capacity of the output, in integers.
    room: usize,
}

impl Question {
    fn new(call: &Call<'_>, attribute: CUmem_range_attribute, out: Ptr<c_void>, bytes: usize) -> Status<Self> {
        let refuse = |reason: String| Err(call.refuse(INVALID_VALUE, reason));
        let driver = call.core().topology.driver_version;
        let is_known = match attribute.0 {
            1..=4 => true,
            5..=8 => driver >= LOCATIONS,
            _ => false,
        };
        if !is_known {
            return refuse(format!("{} is no attribute of a range for a {driver} driver", attribute.0));
        }
        out.typed::<i32>().required()?;
        let fits = match attribute {
            A::CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY => bytes != 0 && bytes.is_multiple_of(size_of::<i32>()),
            _ => bytes == size_of::<i32>(),
        };
        if !fits {
            return refuse(format!("attribute {} does not come in {bytes} bytes", attribute.0));
        }
        Ok(Self { attribute, out, room: bytes / size_of::<i32>() })
    }

    /// Writes the attribute's value for a range.
    fn answer(&self, pages: &Pages, range: &Range<u64>) -> Status {
        let preferred = || pages.common(range, |page| page.preferred).flatten();
        let prefetched = || pages.common(range, |page| page.prefetched).flatten();
        let value = match self.attribute {
            A::CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY => i32::from(pages.over(range).all(|page| page.read_mostly)),
            A::CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY => return self.list(&accessed_by(pages, range)),
            A::CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION => RequestedLocation::ordinal(preferred()),
            A::CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE => RequestedLocation::location(preferred()).0.0 as i32,
            A::CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID => RequestedLocation::location(preferred()).1,
            A::CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION => RequestedLocation::ordinal(prefetched()),
            A::CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE => {
                RequestedLocation::location(prefetched()).0.0 as i32
            }
            _ => RequestedLocation::location(prefetched()).1,
        };
        self.out.typed::<i32>().write(value)
    }

    /// Writes as many members as fit, and an invalid device in the remaining places.
    fn list(&self, members: &BTreeSet<Residence>) -> Status {
        let members = members.iter().map(|member| RequestedLocation::ordinal(Some(RequestedLocation::from(*member))));
        for (index, value) in members.chain(std::iter::repeat(NOWHERE)).take(self.room).enumerate() {
            self.out.typed::<i32>().write_at(index, value)?;
        }
        Ok(())
    }
}

/// The devices that have `ACCESSED_BY` set for all of a range.
fn accessed_by(pages: &Pages, range: &Range<u64>) -> BTreeSet<Residence> {
    let mut every = pages.over(range).map(|page| &page.accessed_by);
    let first = every.next().cloned().unwrap_or_default();
    every.fold(first, |all, members| &all & members)
}

pub(crate) fn cuMemRangeGetAttribute(
    call: &Call<'_>,
    data: Ptr<c_void>,
    size: usize,
    attribute: CUmem_range_attribute,
    address: CUdeviceptr,
    bytes: usize,
) -> Status {
    let world = call.world();
    call.context(&world)?;
    let question = Question::new(call, attribute, data, size)?;
    let range = range::managed(call, world.memory(), address, bytes)?;
    question.answer(world.managed_memory().pages(), &range)
}

pub(crate) fn cuMemRangeGetAttributes(
    call: &Call<'_>,
    data: Ptr<*mut c_void>,
    sizes: Ptr<usize>,
    attributes: Ptr<CUmem_range_attribute>,
    count: usize,
    address: CUdeviceptr,
    bytes: usize,
) -> Status {
    let world = call.world();
    call.context(&world)?;
    if count == 0 {
        return Err(call.refuse(INVALID_VALUE, "a list of attributes has at least one"));
    }
    let mut questions = Vec::new();
    for index in 0..count {
        let (attribute, size) = (attributes.read_at(index)?, sizes.read_at(index)?);
        questions.push(Question::new(call, attribute, data.pointer_at(index)?, size)?);
    }
    let range = range::managed(call, world.memory(), address, bytes)?;
    questions.iter().try_for_each(|question| question.answer(world.managed_memory().pages(), &range))
}
