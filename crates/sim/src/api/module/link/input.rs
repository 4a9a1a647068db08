//! Linker inputs: PTX, and containers of PTX.

use warploom_ptx::link::Part;
use warploom_sys::types::{CUjitInputType, CUresult};

use crate::machine::code::image::{Chosen, Image, Refusal, Target, archive, elf};
use crate::machine::code::runtime;

/// The lowest architecture that code is compiled for.
const OLDEST: u32 = 50;

/// A linker's input: its name, and the bound on the registers of its kernels.
#[derive(Clone, Copy)]
pub(super) struct Input<'a> {
    pub(super) name: &'a str,
    pub(super) target: Target,
    pub(super) max_registers: Option<u32>,
}

/// The linkable parts of an input.
pub(super) fn pieces(kind: CUjitInputType, input: Input<'_>, bytes: &[u8]) -> Result<Vec<Part>, Refusal> {
    type K = CUjitInputType;
    let Input { name, target, .. } = input;
    if target.architecture < OLDEST {
        return Err(Refusal::image(format!("nothing is compiled for sm_{}", target.architecture)));
    }
    match kind {
        K::CU_JIT_INPUT_PTX => Ok(vec![part(&Image::of_text(bytes)?, input)?]),
        K::CU_JIT_INPUT_CUBIN => {
            if !elf::is_relocatable(bytes)? {
                let reason = format!("{name} is no code to be linked; compile it with -rdc=true, or to PTX");
                return Err(Refusal::new(CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU, reason));
            }
            Ok(vec![part(&Image::from_bytes(bytes)?, input)?])
        }
        K::CU_JIT_INPUT_FATBINARY => Ok(vec![part(&Image::of_fatbin(bytes)?, input)?]),
        K::CU_JIT_INPUT_OBJECT => object(input, bytes),
        K::CU_JIT_INPUT_LIBRARY => {
            let members = archive::members(bytes).into_iter().filter(|member| elf::is_elf(member.bytes));
            let parts = members.map(|member| match member.name {
                // Machine code, in whose place the simulator has PTX of its own.
                runtime::MEMBER => Ok(runtime::part().into_iter().collect()),
                _ => object(input, member.bytes),
            });
            Ok(parts.collect::<Result<Vec<_>, _>>()?.concat())
        }
        other => {
            let reason = format!("the driver has no compiler for code of kind {}", other.0);
            Err(Refusal::new(CUresult::CUDA_ERROR_JIT_COMPILER_NOT_FOUND, reason))
        }
    }
}

/// The device code in a host object; an object without device code adds nothing.
fn object(input: Input<'_>, bytes: &[u8]) -> Result<Vec<Part>, Refusal> {
    if !elf::is_elf(bytes) {
        let reason = format!("{} is no object of a host compiler", input.name);
        return Err(Refusal::new(CUresult::CUDA_ERROR_UNKNOWN, reason));
    }
    elf::fatbins(bytes).into_iter().map(|fatbin| part(&Image::of_fatbin(fatbin)?, input)).collect()
}

fn part(image: &Image, input: Input<'_>) -> Result<Part, Refusal> {
    let Chosen { text, is_cubin, .. } = image.text_for(input.target)?;
    let part = Part::new(input.name, &text).map_err(|error| Refusal::mistake(&error))?;
    // Machine code keeps the registers that it was compiled with.
    Ok(match input.max_registers {
        Some(registers) if !is_cubin => part.with_max_registers(registers),
        _ => part,
    })
}
