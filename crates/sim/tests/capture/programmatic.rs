//! Programmatic dependent launches, and events that kernels record while they run.

use std::ptr::null_mut;

use warploom_testkit::driver::Driver;
use warploom_testkit::sys::types::*;
use warploom_testkit::{TestResult, answers, call, code_of, driver_tests};

use crate::support::{ACTIVE, EdgeKind, LOCAL, RELAXED, Stage};

/// A kernel that does nothing.
const NOTHING: &std::ffi::CStr = c".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry nothing() { ret; }\n";

const PLAIN: EdgeKind = (0, 0, 0);
/// From the triggers of a kernel's blocks.
const TRIGGER: EdgeKind = (1, 1, 0);
/// From the start of a kernel's blocks.
const BLOCK_START: EdgeKind = (1, 2, 0);
/// From the start of a kernel's blocks, not programmatic.
const LAUNCH: EdgeKind = (0, 2, 0);

/// A context with a kernel.
struct Kernels<'d> {
    stage: Stage<'d>,
    module: CUmodule,
    function: CUfunction,
}

impl<'d> std::ops::Deref for Kernels<'d> {
    type Target = Stage<'d>;

    fn deref(&self) -> &Self::Target {
        &self.stage
    }
}

impl<'d> Kernels<'d> {
    fn new(driver: &'d Driver) -> TestResult<Self> {
        let (stage, mut module, mut function) = (Stage::new(driver)?, null_mut(), null_mut());
        call!(driver.cuModuleLoadData(&mut module, NOTHING.as_ptr().cast()))?;
        call!(driver.cuModuleGetFunction(&mut function, module, c"nothing".as_ptr()))?;
        Ok(Self { stage, module, function })
    }

    /// The driver's answer to a launch with attributes.
    fn launch_answers(&self, stream: CUstream, attributes: &[CUlaunchAttribute]) -> CUresult {
        let mut attributes = attributes.to_vec();
        let config = CUlaunchConfig {
            gridDimX: 1,
            gridDimY: 1,
            gridDimZ: 1,
            blockDimX: 1,
            blockDimY: 1,
            blockDimZ: 1,
            sharedMemBytes: 0,
            hStream: stream,
            attrs: attributes.as_mut_ptr(),
            numAttrs: attributes.len() as u32,
        };
        let driver = self.driver;
        code_of(call!(driver.cuLaunchKernelEx(&config, self.function, null_mut(), null_mut())))
    }

    fn launch(&self, stream: CUstream, attributes: &[CUlaunchAttribute]) -> TestResult {
        assert_eq!(self.launch_answers(stream, attributes), CUresult::CUDA_SUCCESS);
        Ok(())
    }

    /// An event without timing, as kernels record it.
    fn untimed(&self) -> TestResult<CUevent> {
        self.event_with(2)
    }

    fn event_with(&self, flags: u32) -> TestResult<CUevent> {
        let (driver, mut event) = (self.driver, null_mut());
        call!(driver.cuEventCreate(&mut event, flags))?;
        Ok(event)
    }

    fn wait_for(&self, stream: CUstream, event: CUevent) -> TestResult {
        let driver = self.driver;
        Ok(call!(driver.cuStreamWaitEvent(stream, event, 0))?)
    }

    /// The data of the dependencies of a captured stream's next node.
    fn next(&self, stream: CUstream) -> TestResult<Vec<EdgeKind>> {
        Ok(self.tips_with_data(stream)?.into_iter().map(|(_, kind)| kind).collect())
    }

    /// Ends the capture, launches its graph, and returns the edges with their data.
    fn edges(&self, stream: CUstream) -> TestResult<Vec<(usize, usize, EdgeKind)>> {
        let (driver, graph, mut executable) = (self.driver, self.end(stream)?, null_mut());
        call!(driver.cuGraphInstantiateWithFlags(&mut executable, graph.raw, 0))?;
        call!(driver.cuGraphLaunch(executable, stream))?;
        call!(driver.cuStreamSynchronize(stream))?;
        call!(driver.cuGraphExecDestroy(executable))?;
        let edges = graph.edges_with_data()?;
        if edges.iter().any(|(_, _, kind)| *kind != PLAIN) {
            let (mut from, mut to, mut count) =
                (vec![null_mut(); edges.len()], vec![null_mut(); edges.len()], edges.len());
            let (from, to) = (from.as_mut_ptr(), to.as_mut_ptr());
            answers!(driver.cuGraphGetEdges(graph.raw, from, to, &mut count), CUDA_ERROR_LOSSY_QUERY);
            answers!(driver.cuGraphGetEdges_v2(graph.raw, from, to, null_mut(), &mut count), CUDA_ERROR_LOSSY_QUERY);
        }
        Ok(edges)
    }
}

impl Drop for Kernels<'_> {
    fn drop(&mut self) {
        let driver = self.driver;
        if !std::thread::panicking() {
            call!(driver.cuModuleUnload(self.module)).expect("a module");
        }
    }
}

/// Permission to begin before the kernels that come before have ended.
fn serialization(allowed: i32) -> CUlaunchAttribute {
    CUlaunchAttribute {
        id: CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
        pad: [0; 4],
        value: CUlaunchAttributeValue { programmaticStreamSerializationAllowed: allowed },
    }
}

fn programmatic_event(event: CUevent, flags: i32, at_block_start: i32) -> CUlaunchAttribute {
    let value = CUlaunchAttributeValue_union__bindgen_ty_2 { event, flags, triggerAtBlockStart: at_block_start };
    CUlaunchAttribute {
        id: CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT,
        pad: [0; 4],
        value: CUlaunchAttributeValue { programmaticEvent: value },
    }
}

fn completion_event(event: CUevent, flags: i32) -> CUlaunchAttribute {
    let value = CUlaunchAttributeValue_union__bindgen_ty_3 { event, flags };
    CUlaunchAttribute {
        id: CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT,
        pad: [0; 4],
        value: CUlaunchAttributeValue { launchCompletionEvent: value },
    }
}

/// The attributes by which a kernel records an event, and the data of the edge to a node that waits for it.
fn recording(event: CUevent) -> [(CUlaunchAttribute, EdgeKind); 3] {
    [
        (programmatic_event(event, 0, 0), TRIGGER),
        (programmatic_event(event, 0, 1), BLOCK_START),
        (completion_event(event, 0), LAUNCH),
    ]
}

driver_tests! {
    fn serialization_makes_the_edge_between_two_kernels_programmatic(driver) {
        let stage = Kernels::new(driver)?;
        let stream = stage.stream()?;
        for (allowed, kind) in [(0, PLAIN), (1, TRIGGER)] {
            stage.begin(stream, LOCAL)?;
            stage.launch(stream, &[])?;
            assert_eq!(stage.next(stream)?, [PLAIN]);
            stage.launch(stream, &[serialization(allowed)])?;
            assert_eq!(stage.next(stream)?, [PLAIN]);
            stage.launch(stream, &[])?;
            assert_eq!(stage.edges(stream)?, [(0, 1, kind), (1, 2, PLAIN)]);
        }
    }

    fn serialization_has_no_effect_on_edges_from_other_nodes(driver) {
        let stage = Kernels::new(driver)?;
        let stream = stage.stream()?;
        stage.begin(stream, LOCAL)?;
        stage.launch(stream, &[serialization(1)])?;
        assert_eq!(stage.edges(stream)?, []);
        stage.begin(stream, LOCAL)?;
        stage.fill(stream)?;
        stage.launch(stream, &[serialization(1)])?;
        stage.fill(stream)?;
        assert_eq!(stage.edges(stream)?, [(0, 1, PLAIN), (1, 2, PLAIN)]);
    }

    fn serialization_concerns_every_kernel_that_the_stream_depends_on(driver) {
        let stage = Kernels::new(driver)?;
        let (first, second, event) = (stage.stream()?, stage.stream()?, stage.event()?);
        for other in [TRIGGER, PLAIN] {
            stage.begin(first, LOCAL)?;
            stage.wait(second, first)?;
            stage.launch(first, &[])?;
            match other {
                TRIGGER => stage.launch(second, &[])?,
                _ => stage.fill(second)?,
            }
            stage.wait(first, second)?;
            stage.launch(first, &[serialization(1)])?;
            assert_eq!(stage.edges(first)?, [(0, 2, TRIGGER), (1, 2, other)]);
        }
        // The kernel comes from the other stream alone.
        stage.begin(first, LOCAL)?;
        stage.launch(first, &[])?;
        call!(driver.cuEventRecord(event, first))?;
        stage.wait_for(second, event)?;
        stage.launch(second, &[serialization(1)])?;
        stage.wait(first, second)?;
        assert_eq!(stage.edges(first)?, [(0, 1, TRIGGER)]);
    }

    fn serialization_replaces_the_port_of_an_event(driver) {
        let stage = Kernels::new(driver)?;
        let (first, second, event) = (stage.stream()?, stage.stream()?, stage.untimed()?);
        stage.begin(first, LOCAL)?;
        stage.launch(first, &[programmatic_event(event, 0, 1)])?;
        stage.wait_for(second, event)?;
        assert_eq!(stage.next(second)?, [BLOCK_START]);
        stage.launch(second, &[serialization(1)])?;
        stage.wait(first, second)?;
        assert_eq!(stage.edges(first)?, [(0, 1, TRIGGER)]);
        stage.begin(first, LOCAL)?;
        stage.launch(first, &[completion_event(event, 0)])?;
        stage.launch(first, &[serialization(1)])?;
        assert_eq!(stage.edges(first)?, [(0, 1, TRIGGER)]);
    }

    fn a_captured_node_does_not_have_the_attribute(driver) {
        let stage = Kernels::new(driver)?;
        let stream = stage.stream()?;
        stage.begin(stream, LOCAL)?;
        stage.launch(stream, &[])?;
        stage.launch(stream, &[serialization(1)])?;
        let graph = stage.end(stream)?;
        let name = CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
        let mut value = CUlaunchAttributeValue { pad: [0; 64] };
        for node in graph.nodes()? {
            answers!(driver.cuGraphKernelNodeGetAttribute(node, name, &mut value), CUDA_ERROR_INVALID_VALUE);
        }
    }

    fn a_stream_that_waits_for_a_kernels_event_depends_on_a_part_of_the_kernel(driver) {
        let stage = Kernels::new(driver)?;
        let (first, second, event) = (stage.stream()?, stage.stream()?, stage.untimed()?);
        for (attribute, kind) in recording(event) {
            for is_fill in [false, true] {
                stage.begin(first, LOCAL)?;
                stage.launch(first, &[attribute])?;
                assert_eq!(stage.next(first)?, [PLAIN]);
                stage.wait_for(second, event)?;
                assert_eq!(stage.next(second)?, [kind]);
                match is_fill {
                    true => stage.fill(second)?,
                    false => stage.launch(second, &[])?,
                }
                assert_eq!(stage.next(second)?, [PLAIN]);
                stage.launch(first, &[])?;
                stage.wait(first, second)?;
                assert_eq!(stage.edges(first)?, [(0, 1, kind), (0, 2, PLAIN)]);
            }
        }
    }

    fn a_dependency_on_the_whole_kernel_is_the_only_one(driver) {
        let stage = Kernels::new(driver)?;
        let (first, second) = (stage.stream()?, stage.stream()?);
        let (event, whole) = (stage.untimed()?, stage.event()?);
        for (attribute, _) in recording(event) {
            for events in [[whole, event], [event, whole]] {
                stage.begin(first, LOCAL)?;
                stage.launch(first, &[attribute])?;
                call!(driver.cuEventRecord(whole, first))?;
                for event in events {
                    stage.wait_for(second, event)?;
                }
                assert_eq!(stage.next(second)?, [PLAIN]);
                stage.launch(second, &[])?;
                stage.wait(first, second)?;
                assert_eq!(stage.edges(first)?, [(0, 1, PLAIN)]);
            }
            stage.begin(first, LOCAL)?;
            stage.launch(first, &[attribute])?;
            stage.wait_for(first, event)?;
            stage.launch(first, &[])?;
            assert_eq!(stage.edges(first)?, [(0, 1, PLAIN)]);
        }
    }

    fn a_record_of_another_event_passes_the_dependency_on(driver) {
        let stage = Kernels::new(driver)?;
        let (first, second, third) = (stage.stream()?, stage.stream()?, stage.stream()?);
        let (event, other) = (stage.untimed()?, stage.event()?);
        stage.begin(first, LOCAL)?;
        stage.launch(first, &[programmatic_event(event, 0, 0)])?;
        stage.wait_for(second, event)?;
        call!(driver.cuEventRecord(other, second))?;
        stage.wait_for(third, other)?;
        assert_eq!(stage.next(third)?, [TRIGGER]);
        stage.fill(third)?;
        stage.wait(first, third)?;
        assert_eq!(stage.edges(first)?, [(0, 1, TRIGGER)]);
    }

    fn the_attributes_come_together(driver) {
        let stage = Kernels::new(driver)?;
        let (first, second, third) = (stage.stream()?, stage.stream()?, stage.stream()?);
        let (triggered, completed) = (stage.untimed()?, stage.untimed()?);
        let all = [serialization(1), programmatic_event(triggered, 0, 0), completion_event(completed, 0)];
        stage.begin(first, LOCAL)?;
        stage.launch(first, &[])?;
        stage.launch(first, &all)?;
        stage.wait_for(second, triggered)?;
        stage.fill(second)?;
        stage.wait_for(third, completed)?;
        stage.launch(third, &[])?;
        stage.wait(first, second)?;
        stage.wait(first, third)?;
        assert_eq!(stage.edges(first)?, [(0, 1, TRIGGER), (1, 2, TRIGGER), (1, 3, LAUNCH)]);
        stage.launch(first, &all)?;
        call!(driver.cuEventSynchronize(triggered))?;
        call!(driver.cuEventSynchronize(completed))?;
        call!(driver.cuStreamSynchronize(first))?;
    }

    fn a_kernel_records_its_event_outside_of_a_capture(driver) {
        let stage = Kernels::new(driver)?;
        let (stream, other) = (stage.stream()?, stage.stream()?);
        for case in 0..3 {
            let event = stage.untimed()?;
            stage.launch(stream, &[recording(event)[case].0])?;
            call!(driver.cuEventSynchronize(event))?;
            call!(driver.cuEventQuery(event))?;
            call!(driver.cuStreamSynchronize(stream))?;
            // A capture can wait for an event without a record, and not for this one.
            stage.begin(other, RELAXED)?;
            answers!(driver.cuStreamWaitEvent(other, event, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
            assert_eq!(stage.end_answers(other), CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        }
    }

    fn a_kernel_records_no_event_with_timing(driver) {
        let stage = Kernels::new(driver)?;
        let (stream, timed) = (stage.stream()?, stage.event()?);
        for (attribute, _) in recording(timed) {
            assert_eq!(stage.launch_answers(stream, &[attribute]), CUresult::CUDA_ERROR_NOT_SUPPORTED);
            stage.begin(stream, LOCAL)?;
            stage.launch(stream, &[])?;
            assert_eq!(stage.launch_answers(stream, &[attribute]), CUresult::CUDA_ERROR_NOT_SUPPORTED);
            assert_eq!(stage.status(stream)?, ACTIVE);
            stage.launch(stream, &[serialization(1)])?;
            assert_eq!(stage.edges(stream)?, [(0, 1, TRIGGER)]);
        }
    }

    fn a_kernel_makes_no_external_record(driver) {
        let stage = Kernels::new(driver)?;
        let (stream, event) = (stage.stream()?, stage.untimed()?);
        let external = programmatic_event(event, 1, 0);
        assert_eq!(stage.launch_answers(stream, &[external]), CUresult::CUDA_ERROR_ILLEGAL_STATE);
        stage.begin(stream, LOCAL)?;
        assert_eq!(stage.launch_answers(stream, &[external]), CUresult::CUDA_ERROR_NOT_SUPPORTED);
        assert_eq!(stage.status(stream)?, ACTIVE);
        stage.launch(stream, &[])?;
        assert_eq!(stage.edges(stream)?, []);
    }

    fn a_launch_into_an_invalid_capture_is_refused(driver) {
        let stage = Kernels::new(driver)?;
        let (stream, event) = (stage.captured(LOCAL)?, stage.untimed()?);
        answers!(driver.cuStreamQuery(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        let invalidated = CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
        for attribute in [serialization(1), programmatic_event(event, 0, 0), completion_event(event, 0)] {
            assert_eq!(stage.launch_answers(stream, &[attribute]), invalidated);
        }
        assert_eq!(stage.end_answers(stream), invalidated);
    }

    sim fn an_event_that_a_kernel_cannot_record_is_refused(driver) {
        let stage = Kernels::new(driver)?;
        let (stream, event, shared, gone) = (stage.stream()?, stage.untimed()?, stage.event_with(6)?, stage.untimed()?);
        let mut context = null_mut();
        call!(driver.cuCtxCreate_v2(&mut context, 0, 0))?;
        let foreign = stage.untimed()?;
        stage.primary.make_current()?;
        call!(driver.cuEventDestroy_v2(gone))?;
        for is_captured in [false, true] {
            if is_captured {
                stage.begin(stream, LOCAL)?;
            }
            for (event, flags, code) in [
                (event, 2, CUresult::CUDA_ERROR_INVALID_VALUE),
                (event, -1, CUresult::CUDA_ERROR_INVALID_VALUE),
                (shared, 0, CUresult::CUDA_ERROR_NOT_SUPPORTED),
                (null_mut(), 0, CUresult::CUDA_ERROR_INVALID_HANDLE),
                (gone, 0, CUresult::CUDA_ERROR_INVALID_HANDLE),
                (foreign, 0, CUresult::CUDA_ERROR_INVALID_HANDLE),
            ] {
                for attribute in [programmatic_event(event, flags, 0), completion_event(event, flags)] {
                    assert_eq!(stage.launch_answers(stream, &[attribute]), code, "{event:?} {flags}");
                }
            }
        }
        assert_eq!(stage.status(stream)?, ACTIVE);
        assert!(stage.end(stream)?.nodes()?.is_empty());
        call!(driver.cuCtxDestroy_v2(context))?;
    }
}
