//! Random copies and fills against bytes in vectors.

use std::ptr::{null, null_mut};

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use warploom_testkit::driver::Driver;
use warploom_testkit::sys::types::{CUDA_MEMCPY3D, CUmemorytype, CUstream};
use warploom_testkit::{Primary, TestResult, call, driver_tests};

use crate::support::{DEVICE, HOST, Memory, between, counting};

const LEN: usize = 4096;

/// One of three buffers: two on the device, one on the host.
type Buffer = usize;
const ON_HOST: Buffer = 2;

/// One end of a block: where it starts, and how its rows and slices lie.
#[derive(Clone, Copy, Debug)]
struct Layout {
    base: usize,
    x: usize,
    y: usize,
    z: usize,
    slack: usize,
    spare: usize,
}

#[derive(Clone, Debug)]
enum Action {
    Line { to: (Buffer, usize), from: (Buffer, usize), len: usize },
    Block { to: (Buffer, Layout), from: (Buffer, Layout), extent: [usize; 3] },
    Fill { to: (Buffer, usize), element: usize, value: u32, count: usize },
    FillRows { to: (Buffer, usize), element: usize, value: u32, gap: usize, width: usize, height: usize },
}

#[derive(Clone, Debug)]
struct Step {
    action: Action,
    /// The index of the function, among those that can do it.
    variant: usize,
}

fn layout() -> impl Strategy<Value = Layout> {
    (0..500_usize, 0..20_usize, 0..3_usize, 0..2_usize, 0..20_usize, 0..3_usize)
        .prop_map(|(base, x, y, z, slack, spare)| Layout { base, x, y, z, slack, spare })
}

/// Two different buffers, so that nothing overlaps itself: in which order bytes are moved is not promised.
fn pair() -> impl Strategy<Value = (Buffer, Buffer)> {
    (0..3_usize, 1..3_usize).prop_map(|(to, other)| (to, (to + other) % 3))
}

fn element() -> impl Strategy<Value = usize> {
    prop_oneof![Just(1), Just(2), Just(4)]
}

fn action() -> impl Strategy<Value = Action> {
    let line = (pair(), 0..2000_usize, 0..2000_usize, 0..2000_usize);
    let block = (pair(), layout(), layout(), 0..40_usize, 0..5_usize, 0..4_usize);
    let fill = (0..2_usize, 0..500_usize, element(), any::<u32>(), 0..500_usize);
    let rows = (0..2_usize, 0..200_usize, element(), any::<u32>(), 0..20_usize, 0..30_usize, 0..10_usize);
    prop_oneof![
        line.prop_map(|((to, from), start, end, len)| Action::Line { to: (to, start), from: (from, end), len }),
        block.prop_map(|((to, from), there, here, width, height, depth)| Action::Block {
            to: (to, there),
            from: (from, here),
            extent: [width, height, depth],
        }),
        fill.prop_map(|(to, start, element, value, count)| Action::Fill {
            to: (to, start * element),
            element,
            value,
            count
        }),
        rows.prop_map(|(to, start, element, value, gap, width, height)| Action::FillRows {
            to: (to, start * element),
            element,
            value,
            gap,
            width,
            height
        }),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    (action(), 0..8_usize).prop_map(|(action, variant)| Step { action, variant })
}

impl Layout {
    fn pitch(&self, [width, ..]: [usize; 3]) -> usize {
        self.x + width + self.slack
    }

    fn rows(&self, [_, height, _]: [usize; 3]) -> usize {
        self.y + height + self.spare
    }

    fn at(&self, extent: [usize; 3], row: usize, slice: usize) -> usize {
        let rows = self.rows(extent);
        self.base + ((self.z + slice) * rows + self.y + row) * self.pitch(extent) + self.x
    }
}

/// Applies an action to the expected bytes.
fn apply(model: &mut [Vec<u8>; 3], action: &Action) {
    match *action {
        Action::Line { to: (to, start), from: (from, end), len } => {
            let bytes = model[from][end..end + len].to_vec();
            model[to][start..start + len].copy_from_slice(&bytes);
        }
        Action::Block { to: (to, there), from: (from, here), extent } => {
            for slice in 0..extent[2] {
                for row in 0..extent[1] {
                    let (start, end) = (there.at(extent, row, slice), here.at(extent, row, slice));
                    let bytes = model[from][end..end + extent[0]].to_vec();
                    model[to][start..start + extent[0]].copy_from_slice(&bytes);
                }
            }
        }
        Action::Fill { to: (to, start), element, value, count } => {
            let bytes = value.to_le_bytes()[..element].repeat(count);
            model[to][start..start + bytes.len()].copy_from_slice(&bytes);
        }
        Action::FillRows { to: (to, start), element, value, gap, width, height } => {
            let bytes = value.to_le_bytes()[..element].repeat(width);
            for row in 0..height {
                let at = start + row * (width + gap) * element;
                model[to][at..at + bytes.len()].copy_from_slice(&bytes);
            }
        }
    }
}

struct Real<'a> {
    driver: &'a Driver,
    stream: CUstream,
    device: [Memory; 2],
    host: Vec<u8>,
}

impl Real<'_> {
    fn address(&mut self, (buffer, offset): (Buffer, usize)) -> u64 {
        match buffer {
            ON_HOST => self.host[offset..].as_mut_ptr().expose_provenance() as u64,
            device => self.device[device].address + offset as u64,
        }
    }

    fn host_pointer(&mut self, offset: usize) -> *mut std::ffi::c_void {
        self.host[offset..].as_mut_ptr().cast()
    }

    fn apply(&mut self, step: &Step) -> TestResult {
        let driver = self.driver;
        let stream = self.stream;
        match step.action {
            Action::Line { to, from, len } => {
                let (target, source) = (self.address(to), self.address(from));
                let none = null_mut();
                match (step.variant, to.0, from.0) {
                    (0, ..) => call!(driver.cuMemcpy(target, source, len))?,
                    (1, ..) => call!(driver.cuMemcpyAsync(target, source, len, stream))?,
                    (variant, ON_HOST, 0 | 1) => {
                        let target = self.host_pointer(to.1);
                        if variant % 2 == 0 {
                            call!(driver.cuMemcpyDtoH_v2(target, source, len))?;
                        } else {
                            call!(driver.cuMemcpyDtoHAsync_v2(target, source, len, stream))?;
                        }
                    }
                    (variant, 0 | 1, ON_HOST) => {
                        let source = self.host_pointer(from.1);
                        if variant % 2 == 0 {
                            call!(driver.cuMemcpyHtoD_v2(target, source, len))?;
                        } else {
                            call!(driver.cuMemcpyHtoDAsync_v2(target, source, len, stream))?;
                        }
                    }
                    (2 | 3, ..) => call!(driver.cuMemcpyDtoD_v2(target, source, len))?,
                    (4 | 5, ..) => call!(driver.cuMemcpyDtoDAsync_v2(target, source, len, stream))?,
                    (6, ..) => call!(driver.cuMemcpyPeer(target, none, source, none, len))?,
                    _ => call!(driver.cuMemcpyPeerAsync(target, none, source, none, len, stream))?,
                }
            }
            Action::Block { to: (to, there), from: (from, here), extent } => {
                let kind = |buffer| if buffer == ON_HOST { HOST } else { DEVICE };
                let unified = step.variant >= 4;
                let (target, source) = (self.address((to, there.base)), self.address((from, here.base)));
                let device = |buffer, address| if buffer == ON_HOST && !unified { 0 } else { address };
                let block = CUDA_MEMCPY3D {
                    srcXInBytes: here.x,
                    srcY: here.y,
                    srcZ: here.z,
                    srcLOD: 0,
                    srcMemoryType: if unified { CUmemorytype::CU_MEMORYTYPE_UNIFIED } else { kind(from) },
                    srcHost: if from == ON_HOST { self.host_pointer(here.base).cast_const() } else { null() },
                    srcDevice: device(from, source),
                    srcArray: null_mut(),
                    reserved0: null_mut(),
                    srcPitch: here.pitch(extent),
                    srcHeight: here.rows(extent),
                    dstXInBytes: there.x,
                    dstY: there.y,
                    dstZ: there.z,
                    dstLOD: 0,
                    dstMemoryType: if unified { CUmemorytype::CU_MEMORYTYPE_UNIFIED } else { kind(to) },
                    dstHost: if to == ON_HOST { self.host_pointer(there.base) } else { null_mut() },
                    dstDevice: device(to, target),
                    dstArray: null_mut(),
                    reserved1: null_mut(),
                    dstPitch: there.pitch(extent),
                    dstHeight: there.rows(extent),
                    WidthInBytes: extent[0],
                    Height: extent[1],
                    Depth: extent[2],
                };
                match step.variant % 4 {
                    0 => call!(driver.cuMemcpy3D_v2(&block))?,
                    1 => call!(driver.cuMemcpy3DAsync_v2(&block, stream))?,
                    2 => call!(driver.cuMemcpy3DPeer(&between(block)))?,
                    _ => call!(driver.cuMemcpy3DPeerAsync(&between(block), stream))?,
                }
            }
            Action::Fill { to, element, value, count } => {
                let target = self.address(to);
                match (element, step.variant % 2) {
                    (1, 0) => call!(driver.cuMemsetD8_v2(target, value as u8, count))?,
                    (1, _) => call!(driver.cuMemsetD8Async(target, value as u8, count, stream))?,
                    (2, 0) => call!(driver.cuMemsetD16_v2(target, value as u16, count))?,
                    (2, _) => call!(driver.cuMemsetD16Async(target, value as u16, count, stream))?,
                    (_, 0) => call!(driver.cuMemsetD32_v2(target, value, count))?,
                    _ => call!(driver.cuMemsetD32Async(target, value, count, stream))?,
                }
            }
            Action::FillRows { to, element, value, gap, width, height } => {
                let target = self.address(to);
                let pitch = (width + gap) * element;
                match (element, step.variant % 2) {
                    (1, 0) => call!(driver.cuMemsetD2D8_v2(target, pitch, value as u8, width, height))?,
                    (1, _) => call!(driver.cuMemsetD2D8Async(target, pitch, value as u8, width, height, stream))?,
                    (2, 0) => call!(driver.cuMemsetD2D16_v2(target, pitch, value as u16, width, height))?,
                    (2, _) => call!(driver.cuMemsetD2D16Async(target, pitch, value as u16, width, height, stream))?,
                    (_, 0) => call!(driver.cuMemsetD2D32_v2(target, pitch, value, width, height))?,
                    _ => call!(driver.cuMemsetD2D32Async(target, pitch, value, width, height, stream))?,
                }
            }
        }
        Ok(())
    }
}

driver_tests! {
    fn random_copies_and_fills_give_the_bytes_of_a_plain_model(driver) {
        let _primary = Primary::of(driver, 0)?;
        // A blocking stream: what it does and what the synchronous functions do is in the order of the calls.
        let mut stream = null_mut();
        call!(driver.cuStreamCreate(&mut stream, 0))?;
        let config = Config { cases: 64, failure_persistence: None, ..Config::default() };
        let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
        let result = runner.run(&proptest::collection::vec(step(), 1..40), |steps| {
            let fresh: [Vec<u8>; 3] = [counting(LEN), vec![1; LEN], counting(LEN + 100)[100..].to_vec()];
            let mut model = fresh.clone();
            let memory = |bytes: &[u8]| Memory::of(driver, bytes).map_err(|error| TestCaseError::fail(error.to_string()));
            let device = [memory(&fresh[0])?, memory(&fresh[1])?];
            let mut real = Real { driver, stream, device, host: fresh[2].clone() };
            for step in &steps {
                apply(&mut model, &step.action);
                real.apply(step).map_err(|error| TestCaseError::fail(format!("{step:?}: {error}")))?;
            }
            call!(driver.cuCtxSynchronize()).map_err(|error| TestCaseError::fail(error.to_string()))?;
            for (device, expected) in real.device.iter().zip(&model) {
                let found = device.read().map_err(|error| TestCaseError::fail(error.to_string()))?;
                prop_assert!(found == *expected, "device bytes differ");
            }
            prop_assert!(real.host == model[ON_HOST], "host bytes differ");
            Ok(())
        });
        call!(driver.cuStreamDestroy_v2(stream))?;
        result.map_err(|error| error.to_string())?;
    }
}
