//! Settings of core dumps: cuCoredumpGetAttribute and cuCoredumpSetAttribute, of a context and global.
//!
//! Booleans have one byte, the generation flags four, and names up to 1023 characters with a terminator. A
//! null value asks for the size.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::ffi::{c_char, c_void};

use warploom_sys::types::CUcoredumpSettings;

use crate::ffi::Ptr;
use crate::ffi::status::{INVALID_VALUE, NOT_SUPPORTED, Status};
use crate::machine::call::Call;
use crate::machine::coredump::CoredumpSettings;

type Attribute = CUcoredumpSettings;

/// Bytes of a name with its terminator.
const NAME: usize = 1024;

/// The settings that a function is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    Context,
    Process,
}

/// The size of an attribute, if the scope has it.
fn size_of(call: &Call<'_>, scope: Scope, attribute: Attribute) -> Status<usize> {
    Ok(match attribute {
        Attribute::CU_COREDUMP_ENABLE_USER_TRIGGER | Attribute::CU_COREDUMP_PIPE if scope == Scope::Context => {
            return Err(call.refuse(INVALID_VALUE, format!("attribute {} is global only", attribute.0)));
        }
        Attribute::CU_COREDUMP_ENABLE_ON_EXCEPTION
        | Attribute::CU_COREDUMP_TRIGGER_HOST
        | Attribute::CU_COREDUMP_LIGHTWEIGHT
        | Attribute::CU_COREDUMP_ENABLE_USER_TRIGGER => 1,
        Attribute::CU_COREDUMP_GENERATION_FLAGS => 4,
        Attribute::CU_COREDUMP_FILE | Attribute::CU_COREDUMP_PIPE => NAME,
        other => return Err(call.refuse(INVALID_VALUE, format!("core dumps have no attribute {}", other.0))),
    })
}

/// Runs `body` on the settings of the scope.
fn with<T>(call: &Call<'_>, scope: Scope, body: impl FnOnce(&mut CoredumpSettings) -> Status<T>) -> Status<T> {
    let mut world = call.world();
    match scope {
        Scope::Process => body(world.coredump_mut()),
        Scope::Context => {
            let context = call.context(&world)?;
            let context = world.contexts_mut().get_mut(context).ok_or(INVALID_VALUE)?;
            body(&mut context.coredump)
        }
    }
}

fn get(call: &Call<'_>, scope: Scope, attribute: Attribute, value: Ptr<c_void>, size: Ptr<usize>) -> Status {
    let expected = size_of(call, scope, attribute)?;
    if value.is_null() {
        with(call, scope, |_| Ok(()))?;
        return size.write(expected);
    }
    let capacity = size.read()?;
    let settings = with(call, scope, |settings| Ok(settings.clone()))?;
    let name = match attribute {
        Attribute::CU_COREDUMP_FILE => Some(&settings.file),
        Attribute::CU_COREDUMP_PIPE => Some(&settings.pipe),
        _ => None,
    };
    if let Some(name) = name {
        return value.typed::<c_char>().write_padded(name, capacity.min(NAME));
    }
    check_size(call, capacity, expected)?;
    let flag = match attribute {
        Attribute::CU_COREDUMP_GENERATION_FLAGS => return value.typed::<u32>().write(settings.flags),
        Attribute::CU_COREDUMP_ENABLE_ON_EXCEPTION => settings.on_exception,
        Attribute::CU_COREDUMP_TRIGGER_HOST => u8::from(settings.triggers_host()),
        Attribute::CU_COREDUMP_LIGHTWEIGHT => u8::from(settings.is_lightweight()),
        _ => settings.user_trigger,
    };
    value.typed::<u8>().write(flag)
}

fn set(call: &Call<'_>, scope: Scope, attribute: Attribute, value: Ptr<c_void>, size: Ptr<usize>) -> Status {
    let expected = size_of(call, scope, attribute)?;
    if value.is_null() {
        with(call, scope, |_| Ok(()))?;
        return size.write(expected);
    }
    let bytes = size.read()?;
    if matches!(attribute, Attribute::CU_COREDUMP_FILE | Attribute::CU_COREDUMP_PIPE) {
        return set_name(call, scope, attribute, value, bytes);
    }
    check_size(call, bytes, expected)?;
    if attribute == Attribute::CU_COREDUMP_GENERATION_FLAGS {
        let flags = value.typed::<u32>().read()?;
        return with(call, scope, |settings| {
            settings.flags = flags;
            Ok(())
        });
    }
    let flag = value.typed::<u8>().read()?;
    let has_contexts = call.world().contexts().iter().next().is_some();
    with(call, scope, |settings| {
        match attribute {
            Attribute::CU_COREDUMP_ENABLE_ON_EXCEPTION => settings.on_exception = flag,
            Attribute::CU_COREDUMP_TRIGGER_HOST => settings.set_triggers_host(flag != 0),
            Attribute::CU_COREDUMP_LIGHTWEIGHT => settings.set_lightweight(flag != 0),
            _ => settings.set_user_trigger(flag),
        }
        if has_contexts {
            settings.name_pipe();
        }
        Ok(())
    })
}

fn check_size(call: &Call<'_>, given: usize, expected: usize) -> Status {
    if given != expected {
        return Err(call.refuse(INVALID_VALUE, format!("a value of {given} bytes; the attribute has {expected}")));
    }
    Ok(())
}

/// Sets the name of a file or of a pipe. The name ends at a terminator or with the size.
fn set_name(call: &Call<'_>, scope: Scope, attribute: Attribute, value: Ptr<c_void>, bytes: usize) -> Status {
    let is_pipe = attribute == Attribute::CU_COREDUMP_PIPE;
    if is_pipe && with(call, scope, |settings| Ok(settings.user_trigger != 0))? {
        return Err(call.refuse(NOT_SUPPORTED, "the pipe is in use; its name was to be set before the trigger"));
    }
    if bytes > NAME {
        return Err(call.refuse(INVALID_VALUE, format!("a name of {bytes} bytes; it has at most {NAME}")));
    }
    let value: Ptr<u8> = value.typed();
    let given: Vec<u8> = (0..bytes).map(|index| value.read_at(index)).collect::<Status<_>>()?;
    let name = given.split(|byte| *byte == 0).next().unwrap_or_default();
    let name = String::from_utf8_lossy(&name[..name.len().min(NAME - 1)]).into_owned();
    with(call, scope, |settings| {
        match is_pipe {
            true => settings.pipe = name,
            false => settings.file = name,
        }
        Ok(())
    })
}

pub(crate) fn cuCoredumpGetAttribute(
    call: &Call<'_>,
    attribute: Attribute,
    value: Ptr<c_void>,
    size: Ptr<usize>,
) -> Status {
    get(call, Scope::Context, attribute, value, size)
}

pub(crate) fn cuCoredumpGetAttributeGlobal(
    call: &Call<'_>,
    attribute: Attribute,
    value: Ptr<c_void>,
    size: Ptr<usize>,
) -> Status {
    get(call, Scope::Process, attribute, value, size)
}

pub(crate) fn cuCoredumpSetAttribute(
    call: &Call<'_>,
    attribute: Attribute,
    value: Ptr<c_void>,
    size: Ptr<usize>,
) -> Status {
    set(call, Scope::Context, attribute, value, size)
}

pub(crate) fn cuCoredumpSetAttributeGlobal(
    call: &Call<'_>,
    attribute: Attribute,
    value: Ptr<c_void>,
    size: Ptr<usize>,
) -> Status {
    set(call, Scope::Process, attribute, value, size)
}
