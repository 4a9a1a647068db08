//! A context with streams, and what a capture is about.

use std::ffi::{c_uint, c_ulonglong};
use std::ptr::{null, null_mut};

use warploom_testkit::driver::Driver;
use warploom_testkit::sys::types::{
    CUdeviceptr, CUevent, CUgraph, CUgraphEdgeData, CUgraphNode, CUgraphNodeType, CUresult, CUstream,
    CUstreamCaptureMode, CUstreamCaptureStatus,
};
use warploom_testkit::{Primary, TestResult, call, code_of};

pub(crate) const GLOBAL: CUstreamCaptureMode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL;
pub(crate) const LOCAL: CUstreamCaptureMode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
pub(crate) const RELAXED: CUstreamCaptureMode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;

pub(crate) const NONE: CUstreamCaptureStatus = CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
pub(crate) const ACTIVE: CUstreamCaptureStatus = CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_ACTIVE;
pub(crate) const INVALIDATED: CUstreamCaptureStatus = CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_INVALIDATED;

pub(crate) const KERNEL: CUgraphNodeType = CUgraphNodeType::CU_GRAPH_NODE_TYPE_KERNEL;
pub(crate) const COPY: CUgraphNodeType = CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEMCPY;
pub(crate) const FILL: CUgraphNodeType = CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEMSET;
pub(crate) const HOST: CUgraphNodeType = CUgraphNodeType::CU_GRAPH_NODE_TYPE_HOST;
pub(crate) const WAIT: CUgraphNodeType = CUgraphNodeType::CU_GRAPH_NODE_TYPE_WAIT_EVENT;
pub(crate) const RECORD: CUgraphNodeType = CUgraphNodeType::CU_GRAPH_NODE_TYPE_EVENT_RECORD;
pub(crate) const ALLOC: CUgraphNodeType = CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEM_ALLOC;
pub(crate) const FREE: CUgraphNodeType = CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEM_FREE;
pub(crate) const VALUES: CUgraphNodeType = CUgraphNodeType::CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;

/// The data of an edge: its type, and the ports that it starts from and leads to.
pub(crate) type EdgeKind = (u8, u8, u8);

/// Bytes of [`Stage::memory`].
pub(crate) const BYTES: usize = 1 << 20;

/// A context, memory, and the streams and events that a body creates.
pub(crate) struct Stage<'d> {
    pub(crate) driver: &'d Driver,
    pub(crate) primary: Primary,
    pub(crate) memory: CUdeviceptr,
}

impl<'d> Stage<'d> {
    pub(crate) fn new(driver: &'d Driver) -> TestResult<Self> {
        let primary = Primary::of(driver, 0)?;
        let mut memory = 0;
        call!(driver.cuMemAlloc_v2(&mut memory, BYTES))?;
        Ok(Self { driver, primary, memory })
    }

    /// A stream that has nothing to do with the legacy default stream.
    pub(crate) fn stream(&self) -> TestResult<CUstream> {
        self.stream_with(1)
    }

    pub(crate) fn stream_with(&self, flags: c_uint) -> TestResult<CUstream> {
        let (driver, mut stream) = (self.driver, null_mut());
        call!(driver.cuStreamCreate(&mut stream, flags))?;
        Ok(stream)
    }

    pub(crate) fn event(&self) -> TestResult<CUevent> {
        let (driver, mut event) = (self.driver, null_mut());
        call!(driver.cuEventCreate(&mut event, 0))?;
        Ok(event)
    }

    /// An event that was recorded, and reached, outside of any capture.
    pub(crate) fn reached(&self) -> TestResult<CUevent> {
        let (driver, event, stream) = (self.driver, self.event()?, self.stream()?);
        call!(driver.cuEventRecord(event, stream))?;
        call!(driver.cuStreamSynchronize(stream))?;
        Ok(event)
    }

    /// A captured stream with one node.
    pub(crate) fn captured(&self, mode: CUstreamCaptureMode) -> TestResult<CUstream> {
        let stream = self.stream()?;
        self.begin(stream, mode)?;
        self.fill(stream)?;
        Ok(stream)
    }

    pub(crate) fn begin(&self, stream: CUstream, mode: CUstreamCaptureMode) -> TestResult {
        let driver = self.driver;
        Ok(call!(driver.cuStreamBeginCapture_v2(stream, mode))?)
    }

    pub(crate) fn fill(&self, stream: CUstream) -> TestResult {
        let driver = self.driver;
        Ok(call!(driver.cuMemsetD8Async(self.memory, 7, 64, stream))?)
    }

    /// Makes a stream wait for what another has so far.
    pub(crate) fn wait(&self, stream: CUstream, other: CUstream) -> TestResult {
        let (driver, event) = (self.driver, self.event()?);
        call!(driver.cuEventRecord(event, other))?;
        call!(driver.cuStreamWaitEvent(stream, event, 0))?;
        Ok(())
    }

    pub(crate) fn status(&self, stream: CUstream) -> TestResult<CUstreamCaptureStatus> {
        let (driver, mut status) = (self.driver, NONE);
        call!(driver.cuStreamIsCapturing(stream, &mut status))?;
        Ok(status)
    }

    /// The graph that a capture gives.
    pub(crate) fn end(&self, stream: CUstream) -> TestResult<Graph<'d>> {
        let (driver, mut raw) = (self.driver, null_mut());
        call!(driver.cuStreamEndCapture(stream, &mut raw))?;
        Ok(Graph { driver, raw })
    }

    /// The code of an end of capture that gives no graph.
    pub(crate) fn end_answers(&self, stream: CUstream) -> CUresult {
        let (driver, mut raw) = (self.driver, std::ptr::dangling_mut());
        let code = code_of(call!(driver.cuStreamEndCapture(stream, &mut raw)));
        assert!(raw.is_null(), "no graph is a null graph");
        code
    }

    /// The nodes that a captured stream's next node would depend on.
    pub(crate) fn tips(&self, stream: CUstream) -> TestResult<Vec<CUgraphNode>> {
        let (driver, mut status, mut id, mut graph) = (self.driver, NONE, 0 as c_ulonglong, null_mut());
        let (mut nodes, mut count) = (null(), 0);
        call!(driver.cuStreamGetCaptureInfo_v2(stream, &mut status, &mut id, &mut graph, &mut nodes, &mut count))?;
        assert_eq!(status, ACTIVE);
        assert!(id != 0 && !graph.is_null());
        if count == 0 {
            return Ok(Vec::new());
        }
        #[expect(unsafe_code, reason = "the driver's own array")]
        // SAFETY: so many nodes are there until the next call on the stream.
        let tips = unsafe { std::slice::from_raw_parts(nodes, count) };
        Ok(tips.to_vec())
    }

    /// The dependencies of a captured stream's next node, with the data of their edges.
    pub(crate) fn tips_with_data(&self, stream: CUstream) -> TestResult<Vec<(CUgraphNode, EdgeKind)>> {
        let (driver, mut status, mut count) = (self.driver, NONE, 0);
        let (mut nodes, mut data) = (null(), null());
        call!(driver.cuStreamGetCaptureInfo_v3(
            stream,
            &mut status,
            null_mut(),
            null_mut(),
            &mut nodes,
            &mut data,
            &mut count
        ))?;
        assert_eq!(status, ACTIVE);
        if count == 0 {
            return Ok(Vec::new());
        }
        #[expect(unsafe_code, reason = "the driver's own arrays")]
        // SAFETY: so many nodes and edges are there until the next call on the stream.
        let (nodes, data) =
            unsafe { (std::slice::from_raw_parts(nodes, count), std::slice::from_raw_parts(data, count)) };
        Ok(nodes.iter().copied().zip(data.iter().map(kind_of)).collect())
    }
}

fn kind_of(data: &CUgraphEdgeData) -> EdgeKind {
    assert_eq!(data.reserved, [0; 5]);
    (data.type_, data.from_port, data.to_port)
}

impl Drop for Stage<'_> {
    fn drop(&mut self) {
        let driver = self.driver;
        if !std::thread::panicking() {
            call!(driver.cuMemFree_v2(self.memory)).expect("nothing is captured any more");
        }
    }
}

/// A graph, destroyed when it is dropped.
pub(crate) struct Graph<'d> {
    driver: &'d Driver,
    pub(crate) raw: CUgraph,
}

impl Graph<'_> {
    pub(crate) fn nodes(&self) -> TestResult<Vec<CUgraphNode>> {
        let (driver, mut count) = (self.driver, 0);
        call!(driver.cuGraphGetNodes(self.raw, null_mut(), &mut count))?;
        let mut nodes = vec![null_mut(); count];
        if count > 0 {
            call!(driver.cuGraphGetNodes(self.raw, nodes.as_mut_ptr(), &mut count))?;
        }
        Ok(nodes)
    }

    /// The kinds of the nodes, in the order they were captured.
    pub(crate) fn kinds(&self) -> TestResult<Vec<CUgraphNodeType>> {
        let driver = self.driver;
        let kind = |node: &CUgraphNode| {
            let mut kind = CUgraphNodeType(99);
            call!(driver.cuGraphNodeGetType(*node, &mut kind))?;
            Ok(kind)
        };
        self.nodes()?.iter().map(kind).collect()
    }

    /// The edges, as pairs of node indices with their data.
    pub(crate) fn edges_with_data(&self) -> TestResult<Vec<(usize, usize, EdgeKind)>> {
        let (driver, mut count, nodes) = (self.driver, 0, self.nodes()?);
        call!(driver.cuGraphGetEdges_v2(self.raw, null_mut(), null_mut(), null_mut(), &mut count))?;
        if count == 0 {
            return Ok(Vec::new());
        }
        let none = CUgraphEdgeData { from_port: 0, to_port: 0, type_: 0, reserved: [0; 5] };
        let (mut from, mut to, mut data) = (vec![null_mut(); count], vec![null_mut(); count], vec![none; count]);
        let (from_list, to_list) = (from.as_mut_ptr(), to.as_mut_ptr());
        call!(driver.cuGraphGetEdges_v2(self.raw, from_list, to_list, data.as_mut_ptr(), &mut count))?;
        let place = |node: &CUgraphNode| nodes.iter().position(|other| other == node).expect("a node of the graph");
        let ends = from.iter().map(place).zip(to.iter().map(place));
        let mut edges: Vec<_> = ends.zip(&data).map(|((from, to), data)| (from, to, kind_of(data))).collect();
        edges.sort_unstable();
        Ok(edges)
    }

    /// The edges, as pairs of node indices.
    pub(crate) fn edges(&self) -> TestResult<Vec<(usize, usize)>> {
        let (driver, mut count, nodes) = (self.driver, 0, self.nodes()?);
        call!(driver.cuGraphGetEdges(self.raw, null_mut(), null_mut(), &mut count))?;
        let (mut from, mut to) = (vec![null_mut(); count], vec![null_mut(); count]);
        if count > 0 {
            call!(driver.cuGraphGetEdges(self.raw, from.as_mut_ptr(), to.as_mut_ptr(), &mut count))?;
        }
        let place = |node: &CUgraphNode| nodes.iter().position(|other| other == node).expect("a node of the graph");
        let mut edges: Vec<_> = from.iter().map(place).zip(to.iter().map(place)).collect();
        edges.sort_unstable();
        Ok(edges)
    }
}

impl Drop for Graph<'_> {
    fn drop(&mut self) {
        let driver = self.driver;
        if !std::thread::panicking() {
            call!(driver.cuGraphDestroy(self.raw)).expect("it is a graph");
        }
    }
}
