//! Shared objects in the form that C callers pass them: file descriptors.

use std::ffi::c_void;
use std::os::fd::AsRawFd;

use warploom_sys::types::{CUmemAllocationHandleType, CUresult};

use crate::ffi::Ptr;
use crate::ffi::status::{INVALID_DEVICE, INVALID_VALUE, NOT_SUPPORTED, Status};
use crate::machine::call::Call;
use crate::memory::{OpenError, SharedDevice, SharedKind, SharedObject, Side};

const DESCRIPTOR: CUmemAllocationHandleType = CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

impl Call<'_> {
    /// The device of a shared object on a side; none for the host.
    pub(crate) fn shared_device(&self, side: Side) -> Option<SharedDevice> {
        let Side::Device(ordinal) = side else { return None };
        let device = self.core().topology.devices.get(usize::from(ordinal))?;
        Some(SharedDevice { ordinal, uuid: device.uuid })
    }

    /// Writes a new file descriptor of an object, which is the program's to close.
    pub(super) fn give_descriptor(&self, object: &SharedObject, out: Ptr<i32>) -> Status {
        let file = object.export().map_err(|error| {
            self.refuse(CUresult::CUDA_ERROR_OPERATING_SYSTEM, format!("no file descriptor for the export: {error}"))
        })?;
        out.write(file.as_raw_fd())?;
        // The program owns it now.
        std::mem::forget(file);
        Ok(())
    }

    /// Opens the object behind a handle that a program passed. A handle of the type for file descriptors is
    /// the descriptor itself, in the place of a pointer.
    pub(super) fn open_shared(
        &self,
        handle: Ptr<c_void>,
        handle_type: CUmemAllocationHandleType,
        kind: SharedKind,
    ) -> Status<SharedObject> {
        if handle.is_null() {
            return Err(self.refuse(INVALID_VALUE, "the handle is null, which stands for no file descriptor"));
        }
        if handle_type != DESCRIPTOR {
            let code = if handle_type.0.is_power_of_two() { NOT_SUPPORTED } else { INVALID_VALUE };
            let reason = format!("handle type is {:#x}; this machine imports file descriptors, 0x1", handle_type.0);
            return Err(self.refuse(code, reason));
        }
        let descriptor = u32::try_from(handle.address()).ok().filter(|number| i32::try_from(*number).is_ok());
        let Some(descriptor) = descriptor else {
            let reason = format!("{} is no file descriptor", handle.address().cast_signed());
            return Err(self.refuse(CUresult::CUDA_ERROR_UNKNOWN, reason));
        };
        SharedObject::open(descriptor, kind, self.core().digest())
            .map_err(|error| self.refuse(code_of(&error), error.to_string()))
    }
}

/// The code for a file that cannot be imported.
fn code_of(error: &OpenError) -> CUresult {
    match error {
        OpenError::Kind { .. } => NOT_SUPPORTED,
        OpenError::OtherMachine => INVALID_DEVICE,
        OpenError::System(_) => CUresult::CUDA_ERROR_OPERATING_SYSTEM,
        OpenError::NotOpen(_)
        | OpenError::Foreign
        | OpenError::Version(_)
        | OpenError::Damaged
        | OpenError::Length { .. }
        | OpenError::Gone(_) => CUresult::CUDA_ERROR_UNKNOWN,
    }
}
