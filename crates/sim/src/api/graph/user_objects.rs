//! User objects: cuUserObjectCreate, cuUserObjectRelease, cuGraphRetainUserObject.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::ffi::{c_uint, c_void};

use warploom_sys::types::{CUgraph_st, CUhostFn, CUresult, CUuserObject, CUuserObject_st};

use super::named;
use crate::check::HandleProblem;
use crate::ffi::Ptr;
use crate::ffi::handle::{Handle, UserObjectHandle};
use crate::ffi::status::{INVALID_VALUE, OUT_OF_MEMORY, Status};
use crate::machine::call::Call;
use crate::machine::core::Guard;
use crate::machine::destructor::Destructor;
use crate::machine::graph::UserObject;

/// `CU_USER_OBJECT_NO_DESTRUCTOR_SYNC`, which every object has.
const NO_DESTRUCTOR_SYNC: u32 = 1;
/// `CU_GRAPH_USER_OBJECT_MOVE`.
const MOVE: u32 = 1;

fn object(call: &Call<'_>, world: &Guard<'_>, raw: Ptr<CUuserObject_st>) -> Status<UserObjectHandle> {
    let handle = Handle::from_bits(raw.address());
    call.object(&world.graphs().user_objects, handle, INVALID_VALUE)?;
    Ok(handle)
}

/// Refuses a number of references outside of 1 to `INT_MAX`.
fn check_count(call: &Call<'_>, count: u32) -> Status {
    match i32::try_from(count) {
        Ok(1..) => Ok(()),
        _ => Err(call.refuse(INVALID_VALUE, format!("{count} references; 1 to {} are possible", i32::MAX))),
    }
}

pub(crate) fn cuUserObjectCreate(
    call: &Call<'_>,
    out: Ptr<CUuserObject>,
    data: Ptr<c_void>,
    destroy: CUhostFn,
    count: c_uint,
    flags: c_uint,
) -> Status {
    out.required()?;
    if destroy.is_none() {
        return Err(call.refuse(INVALID_VALUE, "the destructor is null"));
    }
    if count == 0 {
        return Err(call.refuse(INVALID_VALUE, "an object without references"));
    }
    if flags != NO_DESTRUCTOR_SYNC {
        return Err(call.refuse(INVALID_VALUE, format!("flags are {flags:#x} and must be {NO_DESTRUCTOR_SYNC:#x}")));
    }
    let destructor = Destructor { function: destroy, data: data.raw() };
    let object = UserObject { of_program: count.into(), of_graphs: 0, destructor };
    let handle = call.world().graphs_mut().user_objects.insert(object);
    let handle = handle.ok_or_else(|| call.refuse(OUT_OF_MEMORY, "there are as many user objects as handles"))?;
    out.write(handle.as_raw())
}

pub(crate) fn cuUserObjectRetain(call: &Call<'_>, raw: Ptr<CUuserObject_st>, count: c_uint) -> Status {
    check_count(call, count)?;
    let mut world = call.world();
    let handle = object(call, &world, raw)?;
    if let Some(object) = world.graphs_mut().user_objects.get_mut(handle) {
        object.of_program += i64::from(count);
    }
    Ok(())
}

/// Reports that a call takes more references to a user object than their holder has, and refuses the call on a
/// machine where findings fail calls.
fn check_held(call: &Call<'_>, world: &Guard<'_>, handle: UserObjectHandle, count: u32, held: i64) -> Status {
    if i64::from(count) <= held {
        return Ok(());
    }
    call.report_misuse(&world.graphs().user_objects, handle, HandleProblem::NotRetained);
    if call.core().findings.fails_calls() {
        let reason = format!("{count} references; there are {held}");
        return Err(call.refuse(CUresult::CUDA_ERROR_ILLEGAL_STATE, reason));
    }
    Ok(())
}

/// The references of the program, and of graphs.
fn references(world: &Guard<'_>, handle: UserObjectHandle) -> (i64, u64) {
    world.graphs().user_objects.get(handle).map_or((0, 0), |object| (object.of_program, object.of_graphs))
}

/// Releases more references than there are, too, as the driver does. Those of graphs stay.
pub(crate) fn cuUserObjectRelease(call: &Call<'_>, raw: Ptr<CUuserObject_st>, count: c_uint) -> Status {
    check_count(call, count)?;
    let mut world = call.world();
    let handle = object(call, &world, raw)?;
    let (held, of_graphs) = references(&world, handle);
    if of_graphs > 0 && i64::from(count) > held {
        let reason = format!("{count} references; the program has {held}, and graphs have {of_graphs}");
        return Err(call.refuse(INVALID_VALUE, reason));
    }
    check_held(call, &world, handle, count, held)?;
    if let Some(object) = world.graphs_mut().user_objects.get_mut(handle) {
        object.of_program -= i64::from(count);
    }
    let ended = world.graphs_mut().end_unreferenced(handle);
    world.graphs_mut().ended.extend(ended);
    call.run_destructors(&mut world);
    Ok(())
}

/// Moves references that the program does not have, too, as the driver does.
pub(crate) fn cuGraphRetainUserObject(
    call: &Call<'_>,
    graph: Ptr<CUgraph_st>,
    raw: Ptr<CUuserObject_st>,
    count: c_uint,
    flags: c_uint,
) -> Status {
    check_count(call, count)?;
    if flags > MOVE {
        return Err(call.refuse(INVALID_VALUE, format!("flags are {flags:#x}; only 0 and 1 are known")));
    }
    let mut world = call.world();
    let graph = named(call, &world, graph)?;
    let handle = object(call, &world, raw)?;
    if flags == MOVE {
        check_held(call, &world, handle, count, references(&world, handle).0)?;
    }
    if let Some(object) = world.graphs_mut().user_objects.get_mut(handle) {
        object.of_graphs += u64::from(count);
        if flags == MOVE {
            object.of_program -= i64::from(count);
        }
    }
    if let Some(graph) = world.graphs_mut().graphs.get_mut(graph) {
        let held = graph.user_objects.entry(handle).or_default();
        *held = held.saturating_add(count);
    }
    Ok(())
}

/// Releases at most as many references as the graph has. The driver releases as many as it is told, answers that
/// all is well, and crashes later; so more are reported.
pub(crate) fn cuGraphReleaseUserObject(
    call: &Call<'_>,
    graph: Ptr<CUgraph_st>,
    raw: Ptr<CUuserObject_st>,
    count: c_uint,
) -> Status {
    check_count(call, count)?;
    let mut world = call.world();
    let graph = named(call, &world, graph)?;
    let handle = object(call, &world, raw)?;
    let held = world.graphs().graphs.get(graph).and_then(|graph| graph.user_objects.get(&handle)).copied().unwrap_or(0);
    check_held(call, &world, handle, count, held.into())?;
    let Some(found) = world.graphs_mut().graphs.get_mut(graph) else { return Err(INVALID_VALUE) };
    let released = held.min(count);
    if released == held {
        found.user_objects.remove(&handle);
    } else {
        found.user_objects.insert(handle, held - released);
    }
    let ended = world.graphs_mut().release_references(&[(handle, released)]);
    world.graphs_mut().ended.extend(ended);
    call.run_destructors(&mut world);
    Ok(())
}
