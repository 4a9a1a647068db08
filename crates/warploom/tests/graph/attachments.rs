//! Owners of nodes: attached, kept, replaced and released, with the driver calls for each.

use std::sync::Arc;

use warploom::graph::{HostData, OperandMut, Owner};
use warploom::sys::types::CUresult;
use warploom::{Event, Function, GraphDef, MemoryError};
use warploom_sim::fault::{Calls, Plan, Rule};
use warploom_testkit::{TestResult, budget, driver_tests};

use crate::support::{Stage, attached, closure, small, watched};

driver_tests! {
    /// S2.3: a node without owners makes no user object, and an owner is optional everywhere.
    fn a_node_without_owners_makes_no_user_object(driver) {
        let Stage { graph, stream, pool, .. } = Stage::new(driver)?;
        let buffer = pool.zeroed::<u32>(4, &stream)?;
        budget(driver, &[(Function::cuGraphAddEmptyNode, 1)], || graph.empty())?;
        #[expect(unsafe_code, reason = "uses raw addresses")]
        // SAFETY: the buffer is there for as long as the graph.
        budget(driver, &[(Function::cuGraphAddMemsetNode, 1)], || unsafe {
            graph.entry().fill(OperandMut::<u32>::raw(buffer.as_raw(), 4, None), 7)
        })?;
        let scratch = graph.entry().allocate::<u32>(4)?;
        #[expect(unsafe_code, reason = "uses memory of the graph")]
        // SAFETY: both come after the allocation, and the free after the fill.
        unsafe {
            let add = || scratch.then().fill(OperandMut::of_graph(&scratch), 7);
            let fill = budget(driver, &[(Function::cuGraphAddMemsetNode, 1)], add)?;
            budget(driver, &[(Function::cuGraphAddMemFreeNode, 1)], || fill.then().free(&scratch))?;
        }
    }

    /// S2.20: a node with owners costs its own call, and so does a change of it. Only once other code has a handle of
    /// the graph, the driver keeps the owners as well: one create and one retain, and one release where a node had
    /// others.
    fn a_node_with_owners_costs_its_own_call(driver) {
        let stage = Stage::new(driver)?;
        let (graph, kernel) = (&stage.graph, stage.saxpy()?);
        let (mut one, mut two) = (stage.pool.zeroed::<f32>(4, &stage.stream)?, stage.pool.zeroed::<f32>(4, &stage.stream)?);
        let config = kernel.check(&small(), &stage.context)?;
        kernel.parameters()?;
        #[expect(unsafe_code, reason = "adds kernels")]
        // SAFETY: it reads and writes as many values as it is told.
        let node = budget(driver, &[(Function::cuGraphAddKernelNode_v2, 1)], || unsafe {
            graph.entry().kernel(&kernel, &config, (1.0_f32, &one, &mut two, 4_u32))
        })?;
        let copy = budget(driver, &[(Function::cuGraphAddMemcpyNode, 1)], || node.then().copy(&two, &mut one))?;
        let fill = budget(driver, &[(Function::cuGraphAddMemsetNode, 1)], || copy.then().fill(&mut one, 1.0))?;
        let mut event: Event = stage.stream.record()?;
        let record = budget(driver, &[(Function::cuGraphAddEventRecordNode, 1)], || fill.then().record(&mut event))?;
        let wait = budget(driver, &[(Function::cuGraphAddEventWaitNode, 1)], || graph.entry().wait(&event))?;
        let mut host = budget(driver, &[(Function::cuGraphAddHostNode, 1)], || wait.then().host(|| ()))?;

        budget(driver, &[(Function::cuGraphHostNodeSetParams, 1)], || host.set_function(|| ()))?;
        budget(driver, &[(Function::cuGraphEventRecordNodeSetEvent, 1)], || record.set_event(&mut event))?;
        budget(driver, &[(Function::cuGraphDestroyNode, 1)], || host.destroy())?;
        stage.context.scope(|| {
            // The context is asked for, and is current already.
            let current = (Function::cuCtxGetCurrent, 1);
            budget(driver, &[(Function::cuGraphMemsetNodeSetParams, 1), current], || fill.set(&mut two, 2.0))?;
            budget(driver, &[(Function::cuGraphMemcpyNodeSetParams, 1), current], || copy.set(&two, &mut one))?;
            let read = (Function::cuGraphMemcpyNodeGetParams, 1);
            budget(driver, &[(Function::cuGraphMemcpyNodeSetParams, 1), read, current], || copy.set_source(&two))
        })??;

        // The kernel, the copy, the fill, the record and the wait have owners.
        let [create, retain, _] = attached(Function::cuGraphCreate);
        budget(driver, &[(create.0, 5), (retain.0, 5)], || graph.as_raw())?;
        budget(driver, &[], || node.as_raw())?;
        let add = attached(Function::cuGraphAddEventWaitNode);
        let late = budget(driver, &add, || graph.entry().wait(&event))?;
        let release = (Function::cuGraphReleaseUserObject, 1);
        budget(driver, &[create, retain, (Function::cuGraphEventWaitNodeSetEvent, 1), release], || late.set_event(&event))?;
        budget(driver, &[(Function::cuGraphDestroyNode, 1), release], || late.destroy())?;
    }

    /// S2.4, S2.22: a change of one part keeps the owners of the others, and releases its own.
    fn a_partial_update_keeps_the_other_owners(driver) {
        let stage = Stage::new(driver)?;
        let buffers = [stage.zeroed(4)?, stage.zeroed(4)?, stage.zeroed(4)?];
        let addresses = buffers.each_ref().map(|buffer| buffer.as_raw());
        let watched = [watched(), watched(), watched()];
        let [source, target, other] = watched.each_ref().map(|(owner, _)| owner.clone());
        let watches = watched.each_ref().map(|(_, watch)| watch.clone());
        drop(watched);
        #[expect(unsafe_code, reason = "uses raw addresses")]
        // SAFETY: the buffers are there for as long as the graph is launched.
        let copy = unsafe {
            let (from, to) = (
                warploom::graph::Operand::<u32>::raw(addresses[0], 4, Some(source)),
                OperandMut::raw(addresses[1], 4, Some(target)),
            );
            let copy = stage.graph.entry().copy(from, to)?;
            copy.set_destination(OperandMut::<u32>::raw(addresses[2], 4, Some(other)))?;
            copy
        };
        assert!(stage.is_released(&watches[1]));
        stage.assert_kept(&watches[0]);
        stage.assert_kept(&watches[2]);
        let parameters = copy.parameters()?;
        assert_eq!((parameters.source, parameters.destination, parameters.width), (addresses[0], addresses[2], 16));
        copy.destroy()?;
        assert!(watches.iter().all(|watch| stage.is_released(watch)));
    }

    /// S2.22: a partial update keeps the other owners: of kernels, kernel and arguments; of fills, memory.
    fn a_partial_update_keeps_the_other_parameters(driver) {
        let stage = Stage::new(driver)?;
        let (x, mut y) = (stage.pool.upload(&[1.0_f32; 4], &stage.stream)?, stage.pool.zeroed::<f32>(4, &stage.stream)?);
        let kernel = stage.saxpy()?;
        let fill = stage.graph.entry().fill(&mut y, 1.0)?;
        #[expect(unsafe_code, reason = "adds kernels")]
        // SAFETY: it reads and writes as many values as it is told.
        unsafe {
            let node = fill.then().kernel(&kernel, &small(), (2.0_f32, &x, &mut y, 4_u32))?;
            node.set_config(&warploom::LaunchConfig::new(2, 64).shared_memory(128))?;
            assert_eq!(node.config()?, warploom::LaunchConfig::new(2, 64).shared_memory(128));
            node.set_arguments((3.0_f32, &x, &mut y, 2_u32))?;
            assert_eq!(node.config()?, warploom::LaunchConfig::new(2, 64).shared_memory(128));
            assert_eq!(node.kernel()?, Some(kernel));
        }
        fill.set_value(2.0_f32)?;
        assert_eq!(fill.parameters()?.address, y.as_raw());
        stage.graph.instantiate()?.launch(&stage.stream)?;
        assert_eq!(y.download(&stage.stream)?, [5.0, 5.0, 2.0, 2.0]);
    }

    /// S2.22: updating a destroyed node is an error, and its new owners are released.
    fn updating_a_destroyed_node_is_an_error(driver) {
        let stage = Stage::new(driver)?;
        let mut host = stage.graph.entry().host(|| ())?;
        host.destroy()?;
        let (function, watch) = closure();
        assert_eq!(host.set_function(function), Err(warploom::GraphError::NodeDestroyed.into()));
        assert!(stage.is_released(&watch));
    }

    /// S2.11, S2.12: the owner of a raw address is kept, and that of a buffer is its allocation; a buffer
    /// operand has no other owner, which its type says.
    fn the_owner_of_a_raw_address_is_kept(driver) {
        let stage = Stage::new(driver)?;
        let leaks = warploom::leaks::Leaks::track(driver);
        let mut target = stage.zeroed(4)?;
        let source = stage.pool.upload(&[1, 2, 3, 4], &stage.stream)?;
        #[expect(unsafe_code, reason = "uses raw addresses")]
        // SAFETY: the graph keeps the allocation.
        let from = unsafe { warploom::graph::Operand::<u32>::raw(source.as_raw(), 4, Some(Owner::from(&source))) };
        stage.graph.entry().copy(from, &mut target)?;
        source.close()?;
        assert_eq!(leaks.report().count(|kind| kind.is_memory()), 2, "closing the handle frees nothing");
        stage.graph.instantiate()?.launch(&stage.stream)?;
        assert_eq!(target.download(&stage.stream)?, [1, 2, 3, 4]);
    }

    /// S2.33: a C function is given a number as it is, or a copy of bytes that the graph keeps; of no bytes,
    /// null.
    fn a_c_function_gets_its_data(driver) {
        let stage = Stage::new(driver)?;
        let mut bytes = [0_u8; 24];
        let sum = Arc::new(std::sync::atomic::AtomicU64::new(0));
        bytes[..8].copy_from_slice(&(Arc::as_ptr(&sum).addr() as u64).to_ne_bytes());
        bytes[8..16].copy_from_slice(&40_u64.to_ne_bytes());
        #[expect(unsafe_code, reason = "adds C functions")]
        // SAFETY: the functions take such data, and the sum is there until the end.
        unsafe {
            let first = stage.graph.entry().host_raw(add_bytes, HostData::Bytes(&bytes))?;
            bytes.fill(0); // the graph has a copy
            let second = first.then().host_raw(add_number, HostData::Number(Arc::as_ptr(&sum).addr()))?;
            let third = budget(driver, &[(Function::cuGraphAddHostNode, 1)], || {
                second.then().host_raw(expect_null, HostData::Bytes(&[]))
            })?;
            budget(driver, &[(Function::cuGraphAddHostNode, 1)], || third.then().host_raw(ignore, HostData::Number(1)))?;
        }
        stage.graph.instantiate()?.launch(&stage.stream)?;
        stage.stream.synchronize()?;
        assert_eq!(sum.load(std::sync::atomic::Ordering::Relaxed), 42);
    }

    /// S2.15: the nodes of an embedded graph release their owners one by one, at every depth.
    fn nodes_of_an_embedded_graph_release_their_own_owners(driver) {
        let stage = Stage::new(driver)?;
        let (inner, middle) = (GraphDef::new(&stage.context)?, GraphDef::new(&stage.context)?);
        let (first, first_watch) = closure();
        let (second, second_watch) = closure();
        inner.entry().host(first)?;
        middle.entry().host(second)?;
        middle.entry().embed(&inner)?;
        let child = stage.graph.entry().embed(&middle)?.child()?;
        drop((inner, middle));
        stage.assert_kept(&first_watch);
        stage.assert_kept(&second_watch);
        let (mut nested, mut hosts) = (None, Vec::new());
        for node in child.nodes()? {
            match node.kind()? {
                warploom::graph::NodeKind::Child => nested = Some(node.downcast::<warploom::graph::ChildNode>()?.child()?),
                _ => hosts.push(node),
            }
        }
        hosts.iter().try_for_each(|node| node.destroy())?;
        assert!(stage.is_released(&second_watch));
        stage.assert_kept(&first_watch);
        nested.ok_or("a child node")?.nodes()?[0].destroy()?;
        assert!(stage.is_released(&first_watch));
    }

    /// S2.16: destroying a child node releases the owners of everything inside.
    fn destroying_a_child_node_releases_everything_inside(driver) {
        let stage = Stage::new(driver)?;
        let step = GraphDef::new(&stage.context)?;
        let (function, watch) = closure();
        step.entry().host(function)?;
        let child = stage.graph.entry().embed(&step)?;
        drop(step);
        let (late, late_watch) = closure();
        child.child()?.entry().host(late)?;
        stage.assert_kept(&watch);
        child.destroy()?;
        assert!(stage.is_released(&watch) && stage.is_released(&late_watch));
    }

    /// S2.21: a node that the driver does not destroy is as before, with its edges and owners.
    fn a_node_that_cannot_be_destroyed_is_as_before(driver) {
        let stage = Stage::new(driver)?;
        let (function, watch) = closure();
        let host = stage.graph.entry().host(function)?;
        let scratch = host.then().allocate::<u32>(4)?;
        #[expect(unsafe_code, reason = "frees memory of the graph")]
        // SAFETY: after the allocation, which no node uses.
        unsafe { scratch.then().free(&scratch) }?;
        assert!(host.destroy().is_err(), "a graph with memory nodes");
        assert!(!host.is_destroyed());
        assert_eq!(stage.graph.edges()?.len(), 2);
        stage.assert_kept(&watch);
    }

    /// S2.46: a fill of rows takes its shape and its memory as one value each.
    fn a_fill_of_rows_takes_a_shape(driver) {
        let stage = Stage::new(driver)?;
        let mut image = stage.pool.zeroed::<u16>(8, &stage.stream)?;
        let fill = stage.graph.entry().fill_rows(image.rows_mut(4, 3, 2)?, 7)?;
        let parameters = fill.parameters()?;
        assert_eq!((parameters.width, parameters.height, parameters.pitch, parameters.element_size), (3, 2, 8, 2));
        stage.graph.instantiate()?.launch(&stage.stream)?;
        assert_eq!(image.download(&stage.stream)?, [7, 7, 7, 0, 7, 7, 7, 0]);
    }

    /// S2.19: an operand that is refused before the call leaves the graph as it was.
    fn a_refused_operand_changes_nothing(driver) {
        let stage = Stage::new(driver)?;
        let mut buffer = stage.pool.zeroed::<[u64; 2]>(4, &stage.stream)?;
        let refused = stage.graph.entry().fill(&mut buffer, [1, 2]);
        assert_eq!(refused.map(drop), Err(MemoryError::Fill { size: 16 }.into()));
        assert_eq!(stage.graph.node_count()?, 0);
    }
}

#[expect(unsafe_code, reason = "reads the data of a C function")]
unsafe extern "C" fn add_bytes(data: *mut std::ffi::c_void) {
    assert_eq!(data.addr() % 16, 0);
    // SAFETY: the data is an address and a number.
    unsafe {
        let [sum, number] = data.cast::<[u64; 2]>().read();
        (*std::ptr::with_exposed_provenance::<std::sync::atomic::AtomicU64>(sum as usize))
            .fetch_add(number, std::sync::atomic::Ordering::Relaxed);
    }
}

#[expect(unsafe_code, reason = "reads the data of a C function")]
unsafe extern "C" fn add_number(data: *mut std::ffi::c_void) {
    // SAFETY: the data is the address of the sum.
    unsafe { &*data.cast::<std::sync::atomic::AtomicU64>() }.fetch_add(2, std::sync::atomic::Ordering::Relaxed);
}

extern "C" fn expect_null(data: *mut std::ffi::c_void) {
    assert!(data.is_null());
}

extern "C" fn ignore(_data: *mut std::ffi::c_void) {}

/// S2.18, S2.19: whichever step of an addition fails, the graph has no new node, the error is that step's,
/// and the owners are released.
#[test]
fn a_failed_step_of_an_addition_leaves_nothing() -> TestResult {
    for name in ["cuUserObjectCreate", "cuGraphRetainUserObject", "cuGraphAddHostNode"] {
        let (machine, driver) =
            warploom_testkit::open(warploom_sim::topology::Topology::preset("h200")?, warploom_sim::Mode::Threads)?;
        let stage = Stage::new(&driver)?;
        stage.graph.as_raw()?;
        let (function, watch) = closure();
        let rule = Rule::on(Calls::named(name)?).nth(1).fail(CUresult::CUDA_ERROR_OUT_OF_MEMORY);
        let scope = machine.inject(Plan::new().rule(rule))?;
        let error = stage.graph.entry().host(function).map(drop).expect_err("the step fails");
        assert!(error.to_string().contains(name), "{error}");
        assert!(stage.is_released(&watch), "{name}");
        assert_eq!(stage.graph.node_count()?, 0);
        drop(scope);
        stage.graph.entry().host(|| ())?;
    }
    Ok(())
}
