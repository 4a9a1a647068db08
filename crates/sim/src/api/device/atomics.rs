//! Atomic capabilities of links: cuDeviceGetHostAtomicCapabilities.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::ffi::c_uint;

use warploom_sys::types::{CUatomicOperation, CUatomicOperationCapability, CUdevice};

use super::ordinal;
use crate::ffi::status::{INVALID_VALUE, Status};
use crate::ffi::{ConstPtr, Ptr};
use crate::machine::call::Call;
use crate::topology::{Atomics, number};

const SIGNED: u32 = CUatomicOperationCapability::CU_ATOMIC_CAPABILITY_SIGNED.0;
const UNSIGNED: u32 = CUatomicOperationCapability::CU_ATOMIC_CAPABILITY_UNSIGNED.0;
const REDUCTION: u32 = CUatomicOperationCapability::CU_ATOMIC_CAPABILITY_REDUCTION.0;
const SCALAR_32: u32 = CUatomicOperationCapability::CU_ATOMIC_CAPABILITY_SCALAR_32.0;
const SCALAR_64: u32 = CUatomicOperationCapability::CU_ATOMIC_CAPABILITY_SCALAR_64.0;
const SCALAR_128: u32 = CUatomicOperationCapability::CU_ATOMIC_CAPABILITY_SCALAR_128.0;
const VECTOR_32X4: u32 = CUatomicOperationCapability::CU_ATOMIC_CAPABILITY_VECTOR_32x4.0;
const BOTH_SIZES: u32 = SCALAR_32 | SCALAR_64;

/// The forms in which an operation works; `None` if the operation is unknown.
fn forms(operation: CUatomicOperation, atomics: Atomics) -> Option<u32> {
    let (everywhere, over_a_bus) = match operation {
        CUatomicOperation::CU_ATOMIC_OPERATION_INTEGER_ADD => {
            (SIGNED | UNSIGNED | REDUCTION | BOTH_SIZES, SIGNED | UNSIGNED | BOTH_SIZES)
        }
        CUatomicOperation::CU_ATOMIC_OPERATION_INTEGER_MIN | CUatomicOperation::CU_ATOMIC_OPERATION_INTEGER_MAX => {
            (SIGNED | UNSIGNED | REDUCTION | BOTH_SIZES, 0)
        }
        CUatomicOperation::CU_ATOMIC_OPERATION_INTEGER_INCREMENT
        | CUatomicOperation::CU_ATOMIC_OPERATION_INTEGER_DECREMENT => (UNSIGNED | REDUCTION | SCALAR_32, 0),
        CUatomicOperation::CU_ATOMIC_OPERATION_AND
        | CUatomicOperation::CU_ATOMIC_OPERATION_OR
        | CUatomicOperation::CU_ATOMIC_OPERATION_XOR => (UNSIGNED | REDUCTION | BOTH_SIZES, 0),
        CUatomicOperation::CU_ATOMIC_OPERATION_EXCHANGE | CUatomicOperation::CU_ATOMIC_OPERATION_CAS => {
            (UNSIGNED | BOTH_SIZES | SCALAR_128, UNSIGNED | BOTH_SIZES)
        }
        CUatomicOperation::CU_ATOMIC_OPERATION_FLOAT_ADD => (SIGNED | REDUCTION | BOTH_SIZES | VECTOR_32X4, 0),
        CUatomicOperation::CU_ATOMIC_OPERATION_FLOAT_MIN | CUatomicOperation::CU_ATOMIC_OPERATION_FLOAT_MAX => {
            (SIGNED | REDUCTION, 0)
        }
        _ => return None,
    };
    Some(match atomics {
        Atomics::Native => everywhere,
        // The atomics that PCIe defines: fetch and add, swap, compare and swap.
        Atomics::Partial => over_a_bus,
        Atomics::None => 0,
    })
}

/// Writes the capabilities of each operation; none of them if one is unknown.
pub(crate) fn capabilities(
    call: &Call<'_>,
    out: Ptr<c_uint>,
    operations: ConstPtr<CUatomicOperation>,
    count: c_uint,
    atomics: Atomics,
) -> Status {
    let of = |position: c_uint| {
        let operation = operations.read_at(position as usize)?;
        forms(operation, atomics)
            .ok_or_else(|| call.refuse(INVALID_VALUE, format!("{} is no atomic operation", operation.0)))
    };
    for position in 0..count {
        of(position)?;
    }
    for position in 0..count {
        out.write_at(position as usize, of(position)?)?;
    }
    Ok(())
}

/// Refuses an empty list of operations, and a missing output.
pub(crate) fn check(
    call: &Call<'_>,
    out: Ptr<c_uint>,
    operations: ConstPtr<CUatomicOperation>,
    count: c_uint,
) -> Status {
    if out.is_null() || operations.is_null() || count == 0 {
        return Err(call.refuse(INVALID_VALUE, "no operations, or no room for the answers"));
    }
    Ok(())
}

pub(crate) fn cuDeviceGetHostAtomicCapabilities(
    call: &Call<'_>,
    out: Ptr<c_uint>,
    operations: ConstPtr<CUatomicOperation>,
    count: c_uint,
    device: CUdevice,
) -> Status {
    check(call, out, operations, count)?;
    let device = ordinal(call, device)?;
    let has = |number| call.core().topology.attribute(device, number) == Some(1);
    let atomics = if has(number::HOST_NATIVE_ATOMIC_SUPPORTED) {
        Atomics::Native
    } else if has(number::ONLY_PARTIAL_HOST_NATIVE_ATOMIC_SUPPORTED) {
        Atomics::Partial
    } else {
        Atomics::None
    };
    capabilities(call, out, operations, count, atomics)
}
