//! User objects: data that graphs keep alive.
#![expect(unsafe_code, reason = "destructors have C's type")]

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering};

use warploom_testkit::driver::Driver;
use warploom_testkit::sys::types::CUuserObject;
use warploom_testkit::{TestResult, answers, call, driver_tests};

use crate::support::{Graph, Stage};

/// Counts the end of an object.
unsafe extern "C" fn count(data: *mut c_void) {
    // SAFETY: the counter of a test, which outlives the objects.
    unsafe { &*data.cast::<AtomicU32>() }.fetch_add(1, Ordering::SeqCst);
}

fn object(driver: &Driver, ends: &AtomicU32, references: u32) -> TestResult<CUuserObject> {
    let (mut object, data) = (null_mut(), std::ptr::from_ref(ends).cast_mut().cast());
    call!(driver.cuUserObjectCreate(&mut object, data, Some(count), references, 1))?;
    Ok(object)
}

/// `true` if an object has ended, or ends soon: the driver runs the destructors of executables' objects later, on
/// a thread of its own.
fn ends_soon(ends: &AtomicU32) -> bool {
    (0..200).any(|_| {
        let has_ended = ends.load(Ordering::SeqCst) == 1;
        if !has_ended {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        has_ended
    })
}

driver_tests! {
    fn an_object_ends_with_its_last_reference(driver) {
        let ends = AtomicU32::new(0);
        let object = object(driver, &ends, 2)?;
        call!(driver.cuUserObjectRetain(object, 1))?;
        call!(driver.cuUserObjectRelease(object, 2))?;
        assert_eq!(ends.load(Ordering::SeqCst), 0);
        call!(driver.cuUserObjectRelease(object, 1))?;
        assert_eq!(ends.load(Ordering::SeqCst), 1);
    }

    /// A graph's references are new ones, or the program's own if they are moved.
    fn graphs_hold_references(driver) {
        let stage = Stage::new(driver)?;
        let ends = AtomicU32::new(0);
        let (graph, moved, added) = (stage.graph()?, object(driver, &ends, 1)?, object(driver, &ends, 1)?);
        call!(driver.cuGraphRetainUserObject(graph.raw, moved, 1, 1))?;
        call!(driver.cuGraphRetainUserObject(graph.raw, added, 2, 0))?;
        call!(driver.cuGraphReleaseUserObject(graph.raw, added, 1))?;
        call!(driver.cuUserObjectRelease(added, 1))?;
        assert_eq!(ends.load(Ordering::SeqCst), 0);
        call!(driver.cuGraphReleaseUserObject(graph.raw, added, 1))?;
        assert_eq!(ends.load(Ordering::SeqCst), 1);
        drop(graph);
        assert_eq!(ends.load(Ordering::SeqCst), 2, "before the call returns");
    }

    fn copies_of_a_graph_hold_references_of_their_own(driver) {
        let stage = Stage::new(driver)?;
        let ends = AtomicU32::new(0);
        let (graph, parent, mut raw, mut node) = (stage.graph()?, stage.graph()?, null_mut(), null_mut());
        call!(driver.cuGraphRetainUserObject(graph.raw, object(driver, &ends, 1)?, 1, 1))?;
        call!(driver.cuGraphClone(&mut raw, graph.raw))?;
        call!(driver.cuGraphAddChildGraphNode(&mut node, parent.raw, null_mut(), 0, graph.raw))?;
        drop(graph);
        call!(driver.cuGraphDestroyNode(node))?;
        assert_eq!(ends.load(Ordering::SeqCst), 0);
        drop(Graph { driver, raw });
        assert_eq!(ends.load(Ordering::SeqCst), 1);
    }

    fn an_executable_takes_the_references_of_the_graph_that_updates_it(driver) {
        let stage = Stage::new(driver)?;
        let (first, second) = (AtomicU32::new(0), AtomicU32::new(0));
        let (graph, other) = (stage.graph()?, stage.graph()?);
        call!(driver.cuGraphRetainUserObject(graph.raw, object(driver, &first, 1)?, 1, 1))?;
        call!(driver.cuGraphRetainUserObject(other.raw, object(driver, &second, 1)?, 1, 1))?;
        graph.empty(&[])?;
        other.empty(&[])?;
        let mut executable = null_mut();
        call!(driver.cuGraphInstantiateWithFlags(&mut executable, graph.raw, 0))?;
        drop(graph);
        assert_eq!(first.load(Ordering::SeqCst), 0);
        call!(driver.cuGraphExecUpdate_v2(executable, other.raw, null_mut()))?;
        assert_eq!(first.load(Ordering::SeqCst), 1);
        drop(other);
        assert_eq!(second.load(Ordering::SeqCst), 0);
        call!(driver.cuGraphExecDestroy(executable))?;
        assert!(ends_soon(&second));
    }

    /// The objects of the child's graph, and of those inside it, are replaced; those of the graph around it stay.
    fn an_executable_takes_the_references_of_a_graph_that_updates_a_child(driver) {
        let stage = Stage::new(driver)?;
        let counts: [AtomicU32; 5] = Default::default();
        let [root, old, old_inner, new, new_inner] = &counts;
        let owning = |ends| -> TestResult<_> {
            let graph = stage.graph()?;
            call!(driver.cuGraphRetainUserObject(graph.raw, object(driver, ends, 1)?, 1, 1))?;
            Ok(graph)
        };
        let nested = |outer, inner| -> TestResult<_> {
            let (outer, inner) = (owning(outer)?, owning(inner)?);
            inner.empty(&[])?;
            outer.child(inner.raw, &[])?;
            Ok(outer)
        };
        let (graph, replacement, longer) = (owning(root)?, nested(new, new_inner)?, stage.graph()?);
        let child = graph.child(nested(old, old_inner)?.raw, &[])?;
        let executable = graph.instantiate()?;
        longer.empty(&[])?;
        answers!(
            driver.cuGraphExecChildGraphNodeSetParams(executable.raw, child, longer.raw),
            CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE
        );
        executable.run()?;
        call!(driver.cuGraphExecChildGraphNodeSetParams(executable.raw, child, replacement.raw))?;
        drop(replacement);
        let ended = || counts.each_ref().map(|count| count.load(Ordering::SeqCst));
        assert_eq!(ended(), [0, 0, 0, 0, 0], "the definition has the old ones, and the executable the new");
        drop(graph);
        assert!(ends_soon(old) && ends_soon(old_inner));
        assert_eq!(ended(), [0, 1, 1, 0, 0]);
        executable.run()?;
        drop(executable);
        assert!(ends_soon(root) && ends_soon(new) && ends_soon(new_inner));
        assert_eq!(ended(), [1; 5]);
    }

    fn a_capture_that_fails_ends_the_objects_of_its_graph(driver) {
        let stage = Stage::new(driver)?;
        let (ends, mut stream, mut graph) = (AtomicU32::new(0), null_mut(), null_mut());
        let mode = warploom_testkit::sys::types::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        let mut status = warploom_testkit::sys::types::CUstreamCaptureStatus(9);
        call!(driver.cuStreamCreate(&mut stream, 1))?;
        call!(driver.cuStreamBeginCapture_v2(stream, mode))?;
        call!(driver.cuStreamGetCaptureInfo_v2(stream, &mut status, null_mut(), &mut graph, null_mut(), null_mut()))?;
        call!(driver.cuGraphRetainUserObject(graph, object(driver, &ends, 1)?, 1, 1))?;
        answers!(driver.cuGraphDestroy(graph), CUDA_ERROR_ILLEGAL_STATE);
        answers!(driver.cuStreamSynchronize(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        answers!(driver.cuStreamEndCapture(stream, &mut graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        assert_eq!(ends.load(Ordering::SeqCst), 1);
        call!(driver.cuStreamDestroy_v2(stream))?;
        drop(stage);
    }

    fn references_that_make_no_sense_are_refused(driver) {
        let stage = Stage::new(driver)?;
        let (ends, graph, mut out) = (AtomicU32::new(0), stage.graph()?, null_mut());
        let object = object(driver, &ends, 1)?;
        answers!(driver.cuUserObjectCreate(null_mut(), null_mut(), Some(count), 1, 1), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuUserObjectCreate(&mut out, null_mut(), None, 1, 1), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuUserObjectCreate(&mut out, null_mut(), Some(count), 0, 1), CUDA_ERROR_INVALID_VALUE);
        for flags in [0, 2, 3] {
            answers!(driver.cuUserObjectCreate(&mut out, null_mut(), Some(count), 1, flags), CUDA_ERROR_INVALID_VALUE);
        }
        for references in [0, 1 << 31] {
            answers!(driver.cuUserObjectRetain(object, references), CUDA_ERROR_INVALID_VALUE);
            answers!(driver.cuGraphRetainUserObject(graph.raw, object, references, 0), CUDA_ERROR_INVALID_VALUE);
        }
        answers!(driver.cuUserObjectRelease(object, 0), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuUserObjectRetain(null_mut(), 1), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuUserObjectRelease(null_mut(), 1), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuGraphRetainUserObject(graph.raw, object, 1, 2), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuGraphRetainUserObject(graph.raw, null_mut(), 1, 0), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuGraphRetainUserObject(null_mut(), object, 1, 0), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuGraphReleaseUserObject(graph.raw, object, 0), CUDA_ERROR_INVALID_VALUE);
        call!(driver.cuGraphRetainUserObject(graph.raw, object, 2, 0))?;
        call!(driver.cuGraphReleaseUserObject(graph.raw, object, 2))?;
        assert_eq!(ends.load(Ordering::SeqCst), 0);
        call!(driver.cuUserObjectRelease(object, 1))?;
        assert_eq!(ends.load(Ordering::SeqCst), 1);
    }

    /// The driver counts the program's references below 0, and never runs the destructor.
    unchecked fn an_object_that_is_released_too_often_never_ends(driver) {
        let stage = Stage::new(driver)?;
        let (ends, graph) = (AtomicU32::new(0), stage.graph()?);
        call!(driver.cuUserObjectRelease(object(driver, &ends, 1)?, 2))?;
        call!(driver.cuGraphRetainUserObject(graph.raw, object(driver, &ends, 1)?, 2, 1))?;
        drop(graph);
        assert_eq!(ends.load(Ordering::SeqCst), 0);
    }

    /// Otherwise the graph would have an object that is gone.
    sim fn a_reference_of_a_graph_is_not_released_by_the_program(driver) {
        let stage = Stage::new(driver)?;
        let (ends, graph) = (AtomicU32::new(0), stage.graph()?);
        let object = object(driver, &ends, 1)?;
        call!(driver.cuGraphRetainUserObject(graph.raw, object, 1, 1))?;
        answers!(driver.cuUserObjectRelease(object, 1), CUDA_ERROR_INVALID_VALUE);
        drop(graph);
        assert_eq!(ends.load(Ordering::SeqCst), 1);
    }

    fn no_call_is_permitted_in_a_destructor(driver) {
        /// The driver, and the result of a call in the destructor.
        struct DestructorCall<'d>(&'d Driver, Option<warploom_testkit::sys::types::CUresult>);
        unsafe extern "C" fn ask(data: *mut c_void) {
            // SAFETY: of the test, which waits for the destructor.
            let made = unsafe { &mut *data.cast::<DestructorCall<'_>>() };
            let (driver, mut current) = (made.0, null_mut());
            made.1 = Some(warploom_testkit::code_of(call!(driver.cuCtxGetCurrent(&mut current))));
        }
        let stage = Stage::new(driver)?;
        let (graph, mut object, mut asked) = (stage.graph()?, null_mut(), DestructorCall(driver, None));
        call!(driver.cuUserObjectCreate(&mut object, (&raw mut asked).cast(), Some(ask), 1, 1))?;
        call!(driver.cuGraphRetainUserObject(graph.raw, object, 1, 1))?;
        drop(graph);
        assert_eq!(asked.1, Some(warploom_testkit::sys::types::CUresult::CUDA_ERROR_NOT_PERMITTED));
    }
}
