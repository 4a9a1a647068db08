//! Kernel arguments of a launch, passed as `kernelParams` or as `extra`.
//!
//! ```text
//!   kernelParams: a pointer to each argument
//!   extra:        BUFFER_POINTER, arguments in the kernel's layout, BUFFER_SIZE, pointer to their size, END
//! ```

use std::ffi::c_void;
use std::sync::Arc;

use crate::ffi::Ptr;
use crate::ffi::status::{INVALID_VALUE, Status};
use crate::machine::call::Call;
use crate::machine::code::Facts;

#[derive(Clone, Copy)]
pub(super) struct Arguments {
    each: Ptr<*mut c_void>,
    extra: Ptr<*mut c_void>,
}

const END: u64 = 0;
const BUFFER: u64 = 1;
const SIZE: u64 = 2;
/// Maximum length of the `extra` list, in words.
const LONGEST: usize = 16;

impl Arguments {
    pub(super) fn new(each: Ptr<*mut c_void>, extra: Ptr<*mut c_void>) -> Self {
        Self { each, extra }
    }

    /// `true` if they are passed as `extra`.
    pub(super) fn are_extra(&self) -> Status<bool> {
        Ok(!self.extra.is_null() && !self.extra.pointer_at(0)?.is_null())
    }

    /// All arguments, at the offsets of the kernel's parameters.
    pub(super) fn pack(&self, call: &Call<'_>, facts: &Facts<'_>) -> Status<Arc<[u8]>> {
        self.pack_from(call, facts, false)
    }

    /// The arguments of a node: unlike a launch, it takes a buffer that is too short. The missing bytes are
    /// 0.
    pub(super) fn pack_for_node(&self, call: &Call<'_>, facts: &Facts<'_>) -> Status<Arc<[u8]>> {
        self.pack_from(call, facts, true)
    }

    fn pack_from(&self, call: &Call<'_>, facts: &Facts<'_>, may_be_short: bool) -> Status<Arc<[u8]>> {
        let refuse = |reason: String| call.refuse(INVALID_VALUE, reason);
        let expected = facts.kernel.parameter_bytes();
        match (self.each.is_null(), !self.are_extra()?) {
            (false, false) => Err(refuse("arguments are passed in both ways at once".to_owned())),
            (true, true) if expected > 0 => {
                Err(refuse(format!("no arguments; the kernel takes {}", facts.parameters().len())))
            }
            (true, true) => Ok(Arc::default()),
            (false, true) => self.collect(call, facts).map(Into::into),
            (true, false) => {
                let (buffer, size) = self.list(call)?;
                if size < expected && !may_be_short {
                    return Err(refuse(format!("{size} bytes of arguments; the kernel takes {expected}")));
                }
                let mut packed = copy(buffer, size.min(expected))?;
                packed.resize(expected, 0);
                Ok(packed.into())
            }
        }
    }

    fn collect(&self, call: &Call<'_>, facts: &Facts<'_>) -> Status<Vec<u8>> {
        let mut packed = vec![0; facts.kernel.parameter_bytes()];
        for (index, parameter) in facts.parameters().into_iter().enumerate() {
            let argument = self.each.pointer_at(index)?;
            if argument.is_null() {
                return Err(call.refuse(INVALID_VALUE, format!("argument {index} is at null")));
            }
            let (start, size) = (parameter.offset as usize, parameter.size as usize);
            if let Some(place) = packed.get_mut(start..start + size) {
                place.copy_from_slice(&copy(argument, size)?);
            }
        }
        Ok(packed)
    }

    /// The buffer and its size in the `extra` list.
    fn list(&self, call: &Call<'_>) -> Status<(Ptr<c_void>, usize)> {
        let (mut buffer, mut size) = (Ptr::null(), None);
        for index in (0..LONGEST).step_by(2) {
            let value = || match self.extra.pointer_at(index + 1)? {
                value if value.is_null() => Err(call.refuse(INVALID_VALUE, "an extra at null")),
                value => Ok(value),
            };
            match self.extra.pointer_at(index)?.address() {
                END => break,
                BUFFER => buffer = value()?,
                SIZE => size = Some(value()?.typed::<usize>().read_at(0)?),
                other => return Err(call.refuse(INVALID_VALUE, format!("there is no extra {other:#x}"))),
            }
        }
        let size = size.filter(|_| !buffer.is_null());
        let size = size.ok_or_else(|| call.refuse(INVALID_VALUE, "the extras name no buffer, or not its size"))?;
        Ok((buffer, size))
    }
}

fn copy(from: Ptr<c_void>, size: usize) -> Status<Vec<u8>> {
    let bytes: Ptr<u8> = from.typed();
    (0..size).map(|index| bytes.read_at(index)).collect()
}
