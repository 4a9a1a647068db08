//! Linker: cuLinkCreate, cuLinkAddData, cuLinkAddFile, cuLinkComplete and cuLinkDestroy.
//!
//! ```text
//!   cuLinkCreate ─▶ Open ──add: PTX, or a container with PTX in it──┐
//!                   │ ▲─────────────────────────────────────────────┘
//!                   ├─ pieces that do not fit, machine code alone ─▶ Broken: every call answers the same
//!                   ├─ cuLinkComplete, unresolved symbols ─────────▶ Incomplete
//!                   └─ cuLinkComplete ─▶ Done: a cubin with the PTX in it, until cuLinkDestroy
//! ```
//!
//! An input that is invalid by itself is left out, and the link continues without it, as with the real
//! driver.
#![expect(non_snake_case, reason = "the functions have C's names")]
#![expect(clippy::too_many_arguments, reason = "as many as the C functions have")]

mod input;
mod log;

use std::ffi::{c_char, c_uint, c_void};

use warploom_ptx::Program;
use warploom_ptx::link::{Conflict, ConflictKind, Part, link};
use warploom_sys::types::{CUjit_option, CUjitInputType, CUlinkState, CUlinkState_st, CUresult};

use self::input::Input;
use super::load::target;
use super::options::Options;
use crate::ffi::handle::{Handle, LinkHandle};
use crate::ffi::status::{INVALID_HANDLE, INVALID_VALUE, OUT_OF_MEMORY, Status};
use crate::ffi::{ConstPtr, Ptr};
use crate::machine::call::Call;
use crate::machine::code::image::{Refusal, cubin};
use crate::machine::code::{Link, LinkState, Logs};

const INVALID_SOURCE: CUresult = CUresult::CUDA_ERROR_INVALID_SOURCE;

fn named(state: Ptr<CUlinkState_st>) -> LinkHandle {
    Handle::from_bits(state.address())
}

pub(crate) fn cuLinkCreate_v2(
    call: &Call<'_>,
    count: c_uint,
    options: Ptr<CUjit_option>,
    values: Ptr<*mut c_void>,
    out: Ptr<CUlinkState>,
) -> Status {
    out.required()?;
    let options = Options::new(call, options, values, count)?;
    let max_registers = options.max_registers(call)?;
    let logs = Logs::new(call, &options)?;
    let mut world = call.world();
    let context = call.context(&world)?;
    let device = world.device_of(context)?;
    let mut target = target(call, device.into());
    if let Some(wanted) = options.value(CUjit_option::CU_JIT_TARGET)? {
        // The number is followed by a bit for each kind of architecture-specific features.
        target.architecture = wanted as u32 & 0xffff;
    }
    let made = Link { target, max_registers, parts: Vec::new(), state: LinkState::Open, logs };
    out.write(world.code_mut().links_mut().insert(made).ok_or(OUT_OF_MEMORY)?.as_raw())
}

/// The options of a single input: those of the compiler, not of logs. Returns the bound on registers.
fn check_piece(call: &Call<'_>, kind: CUjitInputType, options: &Options) -> Status<Option<u32>> {
    if kind.0 >= CUjitInputType::CU_JIT_NUM_INPUT_TYPES.0 {
        return Err(call.refuse(INVALID_VALUE, format!("there is no kind {} of code to link", kind.0)));
    }
    if options.has_log() {
        return Err(call.refuse(INVALID_VALUE, "a piece has no log of its own; logs are the linker's"));
    }
    options.max_registers(call)
}

pub(crate) fn cuLinkAddData_v2(
    call: &Call<'_>,
    state: Ptr<CUlinkState_st>,
    kind: CUjitInputType,
    data: Ptr<c_void>,
    size: usize,
    name: ConstPtr<c_char>,
    count: c_uint,
    options: Ptr<CUjit_option>,
    values: Ptr<*mut c_void>,
) -> Status {
    let max_registers = check_piece(call, kind, &Options::new(call, options, values, count)?)?;
    let data = data.reading();
    let bytes = data.bytes(size).map_err(|code| call.refuse(code, "there are no bytes to add"))?;
    let name = if name.is_null() { None } else { Some(name.text()?) };
    add(call, state, (kind, max_registers), name, bytes)
}

pub(crate) fn cuLinkAddFile_v2(
    call: &Call<'_>,
    state: Ptr<CUlinkState_st>,
    kind: CUjitInputType,
    path: ConstPtr<c_char>,
    count: c_uint,
    options: Ptr<CUjit_option>,
    values: Ptr<*mut c_void>,
) -> Status {
    let max_registers = check_piece(call, kind, &Options::new(call, options, values, count)?)?;
    let path = path.text()?;
    let bytes = std::fs::read(path)
        .map_err(|error| call.refuse(CUresult::CUDA_ERROR_FILE_NOT_FOUND, format!("{path} cannot be read: {error}")))?;
    add(call, state, (kind, max_registers), Some(path), &bytes)
}

fn add(
    call: &Call<'_>,
    state: Ptr<CUlinkState_st>,
    (kind, max_registers): (CUjitInputType, Option<u32>),
    name: Option<&str>,
    bytes: &[u8],
) -> Status {
    let mut world = call.world();
    call.object(world.code().links(), named(state), INVALID_HANDLE)?;
    let link = world.code_mut().links_mut().get_mut(named(state)).ok_or(INVALID_HANDLE)?;
    match link.state {
        LinkState::Open => {}
        LinkState::Broken(code) => return Err(call.refuse(code, "a piece before did not fit")),
        LinkState::Incomplete | LinkState::Done { .. } => {
            return Err(call.refuse(INVALID_VALUE, "it is linked already"));
        }
    }
    let name = name.map_or_else(|| format!("Input {}", link.parts.len() + 1), str::to_owned);
    let max_registers = max_registers.or(link.max_registers);
    let input = Input { name: &name, target: link.target, max_registers };
    let pieces = input::pieces(kind, input, bytes).and_then(|parts| link.fit(parts));
    pieces.map_err(|refusal| {
        // An input that is invalid by itself is left out; one that conflicts with the others ends the link.
        let ends =
            [INVALID_SOURCE, CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU, CUresult::CUDA_ERROR_JIT_COMPILER_NOT_FOUND];
        if ends.contains(&refusal.code) {
            link.state = LinkState::Broken(refusal.code);
        }
        // A log that can no longer be written is ignored.
        link.logs.error(&refusal.log).unwrap_or_default();
        call.refuse_with_advice(refusal.code, refusal.reason, refusal.advice)
    })
}

impl Link {
    /// Adds inputs, if they link with the earlier ones.
    fn fit(&mut self, parts: Vec<Part>) -> Result<(), Refusal> {
        let before = self.parts.len();
        self.parts.extend(parts);
        let conflicts = link(&self.parts, self.target.architecture).err().unwrap_or_default();
        let conflicts: Vec<_> = conflicts.into_iter().filter(|one| one.kind != ConflictKind::Undefined).collect();
        if conflicts.is_empty() {
            return Ok(());
        }
        self.parts.truncate(before);
        Err(refusal(&conflicts))
    }

    /// The linked PTX, and its decoded program.
    fn text(&self) -> Result<(String, Program), Refusal> {
        let text = link(&self.parts, self.target.architecture).map_err(|conflicts| refusal(&conflicts))?;
        let program = Program::from_text(&text).map_err(|error| Refusal::mistake(&error))?;
        Ok((text, program))
    }
}

fn refusal(conflicts: &[Conflict]) -> Refusal {
    let lines: Vec<String> = conflicts.iter().map(|conflict| format!("error   : {conflict}")).collect();
    let reasons: Vec<String> = conflicts.iter().map(Conflict::to_string).collect();
    Refusal::new(INVALID_SOURCE, reasons.join("; ")).logged(lines.join("\n"))
}

pub(crate) fn cuLinkComplete(
    call: &Call<'_>,
    state: Ptr<CUlinkState_st>,
    image: Ptr<*mut c_void>,
    size: Ptr<usize>,
) -> Status {
    image.required()?;
    size.optional()?;
    let mut world = call.world();
    call.object(world.code().links(), named(state), INVALID_HANDLE)?;
    let link = world.code_mut().links_mut().get_mut(named(state)).ok_or(INVALID_HANDLE)?;
    match link.state {
        LinkState::Open => {}
        LinkState::Broken(code) => return Err(call.refuse(code, "a piece did not fit")),
        LinkState::Incomplete => return Err(call.refuse(INVALID_SOURCE, "something is missing")),
        LinkState::Done { .. } => return Err(call.refuse(INVALID_HANDLE, "it is linked already")),
    }
    let (text, program) = link.text().map_err(|refusal| {
        link.state = LinkState::Incomplete;
        link.logs.error(&refusal.log).unwrap_or_default();
        call.refuse_with_advice(refusal.code, refusal.reason, refusal.advice)
    })?;
    link.logs.complete(&program)?;
    let mut made = cubin::write(&text, link.target.architecture).into_boxed_slice();
    let (address, length) = (made.as_mut_ptr().cast(), made.len());
    link.state = LinkState::Done { _image: made };
    image.write(address)?;
    size.write_if_wanted(length)
}

pub(crate) fn cuLinkDestroy(call: &Call<'_>, state: Ptr<CUlinkState_st>) -> Status {
    let mut world = call.world();
    call.object(world.code().links(), named(state), INVALID_HANDLE)?;
    world.code_mut().links_mut().remove(named(state));
    Ok(())
}
