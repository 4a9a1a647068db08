//! Conditions of a graph: kernels set them through their host, and only those that the host has.

use std::collections::BTreeMap;
use std::sync::Mutex;

use warploom_ptx::link::{Part, link};
use warploom_ptx::{Access, Fault, Grid, Host, Launch, Memory, Program, Step, TrapKind, VecMemory, Watched, Watches};

const TEXT: &str = include_str!("../../kernels/ptx/compute_75/conditions.ptx");

/// Memory, and the values of conditions by handle.
struct Device {
    memory: VecMemory,
    conditions: Mutex<BTreeMap<u64, u32>>,
}

impl Device {
    fn with_conditions(handles: &[u64]) -> Self {
        let conditions = handles.iter().map(|handle| (*handle, u32::MAX)).collect();
        Device { memory: VecMemory::new(1 << 16), conditions: Mutex::new(conditions) }
    }

    fn upload<const N: usize>(&self, values: &[[u8; N]]) -> u64 {
        self.memory.upload(values.as_flattened())
    }

    fn values(&self) -> Vec<(u64, u32)> {
        self.conditions.lock().expect("nobody panics").iter().map(|(handle, value)| (*handle, *value)).collect()
    }

    fn word(&self, address: u64) -> u32 {
        u32::from_le_bytes(self.memory.read(address, 4).try_into().expect("four bytes"))
    }
}

impl Memory for Device {
    fn load(&self, access: &Access, address: u64, into: &mut [u8]) -> Result<(), Fault> {
        self.memory.load(access, address, into)
    }

    fn store(&self, access: &Access, address: u64, from: &[u8]) -> Result<(), Fault> {
        self.memory.store(access, address, from)
    }

    fn update(
        &self,
        access: &Access,
        address: u64,
        bytes: usize,
        change: &mut dyn FnMut(u64) -> u64,
    ) -> Result<u64, Fault> {
        self.memory.update(access, address, bytes, change)
    }
}

impl Host for Device {
    fn set_condition(&self, access: &Access, handle: u64, value: u32) -> bool {
        assert_eq!(access.lanes.count_ones(), 1, "a condition is set by one thread at a time");
        let mut conditions = self.conditions.lock().expect("nobody panics");
        conditions.get_mut(&handle).map(|place| *place = value).is_some()
    }
}

/// Arguments behind each other; each is aligned already.
fn arguments<const N: usize>(values: [u64; N]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// Runs a kernel on some threads of one block; under watch, too, where its host must be asked all the same.
fn run(device: &Device, text: &str, kernel: &str, threads: u32, arguments: &[u8], watches: bool) -> Step {
    let program = Program::from_text(text).unwrap_or_else(|error| panic!("{error}"));
    let program = device.memory.place(&program);
    let kernel = program.kernel(kernel).expect("the kernel");
    // The last argument may be shorter than a word.
    let size = kernel.parameters().iter().map(|parameter| parameter.offset + parameter.size).max().unwrap_or(0);
    let launch = Launch { block: [threads, 1, 1], arguments: &arguments[..size as usize], ..Launch::default() };
    if watches {
        let watched = Watched::new(kernel, &launch, Watches::ALL, device);
        return Grid::new(kernel, launch, &watched).expect("it can be launched").step(u64::MAX);
    }
    Grid::new(kernel, launch, device).expect("it can be launched").step(u64::MAX)
}

#[test]
fn a_loop_sees_every_value_that_a_kernel_sets() {
    for watches in [false, true] {
        let device = Device::with_conditions(&[7]);
        let left = device.upload(&[3u32.to_le_bytes()]);
        let mut turns = 0;
        while device.values() != [(7, 0)] {
            let step = run(&device, TEXT, "count_down", 1, &arguments([7, left]), watches);
            turns += 1;
            assert_eq!((step, device.values()), (Step::Done, vec![(7, 3 - turns)]));
        }
        assert_eq!((turns, device.word(left)), (3, 0));
        // Nothing is left to count: the condition stays as it is.
        device.conditions.lock().expect("nobody panics").insert(7, 9);
        assert_eq!(run(&device, TEXT, "count_down", 1, &arguments([7, left]), watches), Step::Done);
        assert_eq!(device.values(), [(7, 9)]);
    }
}

#[test]
fn lanes_of_a_warp_set_conditions_of_their_own() {
    let handles: Vec<u64> = (0..40).map(|i| if i % 3 == 0 { 0 } else { 1 << 33 | i }).collect();
    let device = Device::with_conditions(&handles[..]);
    let conditions = device.upload(&handles.iter().map(|handle| handle.to_le_bytes()).collect::<Vec<_>>());
    let values = device.upload(&(0..40u32).map(|i| (i * 1000).to_le_bytes()).collect::<Vec<_>>());
    let step = run(&device, TEXT, "set_conditions", 64, &arguments([conditions, values, 40]), false);
    let set = (0..40).filter(|i| i % 3 != 0).map(|i| (1 << 33 | i, i as u32 * 1000));
    let expected: Vec<(u64, u32)> = std::iter::once((0, u32::MAX)).chain(set).collect();
    assert_eq!((step, device.values()), (Step::Done, expected));
}

#[test]
fn a_condition_that_the_host_does_not_have_traps_in_its_thread() {
    let device = Device::with_conditions(&[5]);
    let conditions = device.upload(&[5u64, 5, 0x1234, 5].map(u64::to_le_bytes));
    let values = device.upload(&[1u32, 2, 3, 4].map(u32::to_le_bytes));
    let step = run(&device, TEXT, "set_conditions", 4, &arguments([conditions, values, 4]), false);
    let Step::Trapped(trap) = step else { panic!("it should trap: {step:?}") };
    assert_eq!((&trap.kind, trap.thread), (&TrapKind::Condition(0x1234), [2, 0, 0]));
    assert_eq!(trap.kind.to_string(), "condition 0x1234 is set, which no graph that runs this kernel has");
}

#[test]
fn a_host_without_conditions_traps() {
    let memory = VecMemory::new(1 << 12);
    let left = memory.upload(&1u32.to_le_bytes());
    let program = memory.place(&Program::from_text(TEXT).expect("a right text"));
    let arguments = arguments([1, left]);
    let launch = Launch { arguments: &arguments, ..Launch::default() };
    let mut grid = Grid::new(program.kernel("count_down").expect("the kernel"), launch, &memory).expect("a launch");
    let step = grid.step(u64::MAX);
    assert!(matches!(&step, Step::Trapped(trap) if trap.kind == TrapKind::Condition(1)), "{step:?}");
}

#[test]
fn linked_texts_need_no_definition_of_it() {
    let renamed = TEXT.replace("count_down", "count_again").replace("set_conditions", "set_again");
    let parts = [("a", TEXT), ("b", &renamed)].map(|(name, text)| Part::new(name, text).expect("a right text"));
    let text = link(&parts, 90).expect("nothing is missing");
    let device = Device::with_conditions(&[7]);
    let left = device.upload(&[2u32.to_le_bytes()]);
    for (kernel, value) in [("count_down", 1), ("count_again", 0)] {
        let step = run(&device, &text, kernel, 1, &arguments([7, left]), false);
        assert_eq!((step, device.values()), (Step::Done, vec![(7, value)]));
    }
}
