//! Linker inputs: PTX, and containers of PTX.

use warploom_ptx::link::Part;
use warploom_sys::types::{CUjitInputType, CUresult};

use crate::machine::code::image::{Image, Refusal, Target, archive, elf};
use crate::machine::code::runtime;

/// The lowest architecture that code is compiled for.
const OLDEST: u32 = 50;

/// The linkable parts of an input.
pub(super) fn pieces(kind: CUjitInputType, name: &str, bytes: &[u8], target: Target) -> Result<Vec<Part>, Refusal> {
    type K = CUjitInputType;
    if target.architecture < OLDEST {
        return Err(Refusal::image(format!("nothing is compiled for sm_{}", target.architecture)));
    }
    match kind {
        K::CU_JIT_INPUT_PTX => Ok(vec![part(&Image::of_text(bytes)?, name, target)?]),
        K::CU_JIT_INPUT_CUBIN => {
            if !elf::is_relocatable(bytes)? {
                let reason = format!("{name} is no code to be linked; compile it with -rdc=true, or to PTX");
                return Err(Refusal::new(CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU, reason));
            }
            Ok(vec![part(&Image::from_bytes(bytes)?, name, target)?])
        }
        K::CU_JIT_INPUT_FATBINARY => Ok(vec![part(&Image::of_fatbin(bytes)?, name, target)?]),
        K::CU_JIT_INPUT_OBJECT => object(name, bytes, target),
        K::CU_JIT_INPUT_LIBRARY => {
            let members = archive::members(bytes).into_iter().filter(|member| elf::is_elf(member.bytes));
            let parts = members.map(|member| match member.name {
                // Machine code, in whose place the simulator has PTX of its own.
                runtime::MEMBER => Ok(runtime::part().into_iter().collect()),
                _ => object(name, member.bytes, target),
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
fn object(name: &str, bytes: &[u8], target: Target) -> Result<Vec<Part>, Refusal> {
    if !elf::is_elf(bytes) {
        return Err(Refusal::new(CUresult::CUDA_ERROR_UNKNOWN, format!("{name} is no object of a host compiler")));
    }
    elf::fatbins(bytes).into_iter().map(|fatbin| part(&Image::of_fatbin(fatbin)?, name, target)).collect()
}

fn part(image: &Image, name: &str, target: Target) -> Result<Part, Refusal> {
    Part::new(name, &image.text_for(target)?.text).map_err(|error| Refusal::mistake(&error))
}
