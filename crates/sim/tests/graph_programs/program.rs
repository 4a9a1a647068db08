//! A random program: its state, and the choice of each step.
#![expect(unsafe_code, reason = "callbacks and parameters are C's")]

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use warploom_driver::Driver;
use warploom_sys::types::{
    CUDA_HOST_NODE_PARAMS, CUDA_MEMCPY3D, CUDA_MEMSET_NODE_PARAMS, CUdeviceptr, CUmemorytype, CUstream,
};
use warploom_testkit::{TestResult, call};

use crate::model::{ModelExec, ModelGraph, Owner};

/// Cells of memory, of four bytes each; nodes beyond that are not added.
pub(crate) const CELLS: usize = 256;
/// Nodes of a graph, at most.
pub(crate) const NODES: usize = 12;

/// One step of a program; the numbers choose among its graphs, nodes and executables.
pub(crate) type Choice = (u8, u8, u8, u8);

pub(crate) unsafe extern "C" fn end(data: *mut c_void) {
    // SAFETY: the counter of a user object, which was given with one count of its own.
    let ended = unsafe { Arc::from_raw(data.cast::<AtomicU32>()) };
    ended.fetch_add(1, Ordering::SeqCst);
}

pub(crate) unsafe extern "C" fn count(data: *mut c_void) {
    // SAFETY: the counter of the program, which outlives the machine.
    let counter = unsafe { &*data.cast::<AtomicU32>() };
    counter.fetch_add(1, Ordering::SeqCst);
}

pub(crate) struct Program<'d> {
    pub(crate) driver: &'d Driver,
    pub(crate) stream: CUstream,
    pub(crate) memory: CUdeviceptr,
    pub(crate) graphs: Vec<ModelGraph>,
    pub(crate) execs: Vec<ModelExec>,
    pub(crate) owners: Vec<Owner>,
    pub(crate) cells: Vec<u32>,
    pub(crate) next_cell: usize,
    pub(crate) counted: u32,
    pub(crate) counter: Arc<AtomicU32>,
}

pub(crate) fn pick<T>(from: &[T], number: u8) -> Option<usize> {
    (!from.is_empty()).then(|| usize::from(number) % from.len())
}

impl<'d> Program<'d> {
    pub(crate) fn new(driver: &'d Driver) -> TestResult<Self> {
        let (mut stream, mut memory) = (null_mut(), 0);
        call!(driver.cuStreamCreate(&mut stream, 1))?;
        call!(driver.cuMemAlloc_v2(&mut memory, CELLS * 4))?;
        call!(driver.cuMemsetD32Async(memory, 0, CELLS, stream))?;
        Ok(Self {
            driver,
            stream,
            memory,
            graphs: Vec::new(),
            execs: Vec::new(),
            owners: Vec::new(),
            cells: vec![0; CELLS],
            next_cell: 0,
            counted: 0,
            counter: Arc::default(),
        })
    }

    pub(crate) fn address(&self, cell: usize) -> CUdeviceptr {
        self.memory + 4 * cell as u64
    }

    pub(crate) fn fill_params(&self, cell: usize, value: u32) -> CUDA_MEMSET_NODE_PARAMS {
        CUDA_MEMSET_NODE_PARAMS { dst: self.address(cell), pitch: 0, value, elementSize: 4, width: 1, height: 1 }
    }

    pub(crate) fn copy_params(&self, from: usize, to: usize) -> CUDA_MEMCPY3D {
        // SAFETY: numbers and pointers that may all be zero.
        let zeros: CUDA_MEMCPY3D = unsafe { std::mem::zeroed() };
        CUDA_MEMCPY3D {
            srcMemoryType: CUmemorytype::CU_MEMORYTYPE_DEVICE,
            srcDevice: self.address(from),
            dstMemoryType: CUmemorytype::CU_MEMORYTYPE_DEVICE,
            dstDevice: self.address(to),
            WidthInBytes: 4,
            Height: 1,
            Depth: 1,
            ..zeros
        }
    }

    pub(crate) fn host_params(&self) -> CUDA_HOST_NODE_PARAMS {
        CUDA_HOST_NODE_PARAMS { fn_: Some(count), userData: Arc::as_ptr(&self.counter).cast_mut().cast() }
    }

    pub(crate) fn step(&mut self, (what, a, b, c): Choice) -> TestResult {
        match what % 14 {
            0 | 1 => self.add_node(a, b, c),
            2 => self.create(),
            3 => self.add_edge(a, b, c),
            4 => self.remove_edge(a, b, c),
            5 => self.destroy_node(a, b),
            6 => self.set_params(a, b, c),
            7 => self.copy_graph(a, b, c),
            8 => self.retain(a),
            9 => self.instantiate(a),
            10 => self.launch(a),
            11 => self.change_exec(a, b, c),
            12 => self.update(a, b),
            _ => self.destroy(a, b),
        }
    }

    pub(crate) fn create(&mut self) -> TestResult {
        let (driver, mut raw) = (self.driver, null_mut());
        if self.graphs.len() < 4 {
            call!(driver.cuGraphCreate(&mut raw, 0))?;
            self.graphs.push(ModelGraph { raw, nodes: Vec::new(), barrier: None, owners: BTreeMap::new(), removed: 0 });
        }
        Ok(())
    }
}
