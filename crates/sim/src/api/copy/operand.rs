//! Operands of batched 3D copies: pointers and arrays.
#![expect(unsafe_code, reason = "an operand is a C union that its type tells apart")]

use warploom_sys::types::{CUmemLocation, CUmemcpy3DOperand, CUmemcpy3DOperandType};

/// An operand by its type.
#[derive(Clone, Copy)]
pub(super) enum Operand {
    Pointer { address: u64, row_length: u64, layer_height: u64, location: CUmemLocation },
    Array,
    Unknown(u32),
}

impl From<CUmemcpy3DOperand> for Operand {
    fn from(given: CUmemcpy3DOperand) -> Self {
        match given.type_ {
            CUmemcpy3DOperandType::CU_MEMCPY_OPERAND_TYPE_POINTER => {
                // SAFETY: both members of the union are integers of one size, so every bit pattern is valid
                // for either.
                let pointer = unsafe { given.op.ptr };
                Operand::Pointer {
                    address: pointer.ptr,
                    row_length: pointer.rowLength as u64,
                    layer_height: pointer.layerHeight as u64,
                    location: pointer.locHint,
                }
            }
            CUmemcpy3DOperandType::CU_MEMCPY_OPERAND_TYPE_ARRAY => Operand::Array,
            CUmemcpy3DOperandType(other) => Operand::Unknown(other),
        }
    }
}
