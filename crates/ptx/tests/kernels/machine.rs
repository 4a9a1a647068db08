//! The interpreter alone: loads a text, passes arguments, runs a kernel to its end.

use std::cell::RefCell;
use std::collections::BTreeSet;

use warploom_ptx::{Grid, Host, Launch, Memory, Program, Step, Trap, VecMemory, Watched, Watches};

use crate::bodies::shape::Shape;
use crate::bodies::texts;

/// The engine that bodies run on, and the texts and kernels that they have launched.
#[derive(Default)]
pub(crate) struct Machine {
    pub(crate) launched: RefCell<BTreeSet<(String, String)>>,
    /// `true` if kernels run with checks.
    pub(crate) watches: bool,
}

/// Runs in small steps what must not need more than ten million instructions.
fn run<M: Memory + Host>(mut grid: Grid<M>) -> Step {
    let mut steps = (0..10_000).map(|_| grid.step(997));
    steps.find(|step| *step != Step::Running).unwrap_or(Step::Running)
}

/// A value that can lie in memory.
pub(crate) trait Plain: Copy + PartialEq + std::fmt::Debug {
    const ALIGNMENT: usize;
    const SIZE: usize;
    fn put(self, bytes: &mut Vec<u8>);
    fn get(bytes: &[u8]) -> Self;
}

macro_rules! plain {
    ($($type:ty)*) => {$(
        impl Plain for $type {
            const ALIGNMENT: usize = size_of::<$type>();
            const SIZE: usize = size_of::<$type>();

            fn put(self, bytes: &mut Vec<u8>) {
                bytes.extend(self.to_le_bytes());
            }

            fn get(bytes: &[u8]) -> Self {
                <$type>::from_le_bytes(bytes.try_into().expect("as many bytes as it has"))
            }
        }
    )*};
}

plain!(u8 i8 u16 i16 u32 i32 u64 i64 f32 f64);

impl<T: Plain, const N: usize> Plain for [T; N] {
    const ALIGNMENT: usize = T::ALIGNMENT;
    const SIZE: usize = N * T::SIZE;

    fn put(self, bytes: &mut Vec<u8>) {
        self.into_iter().for_each(|value| value.put(bytes));
    }

    fn get(bytes: &[u8]) -> Self {
        std::array::from_fn(|at| T::get(&bytes[at * T::SIZE..(at + 1) * T::SIZE]))
    }
}

/// Arguments of a kernel, each aligned.
#[derive(Default)]
pub(crate) struct Arguments(pub(crate) Vec<u8>);

impl Arguments {
    pub(crate) fn with<T: Plain>(mut self, value: T) -> Self {
        self.0.resize(self.0.len().next_multiple_of(T::ALIGNMENT), 0);
        value.put(&mut self.0);
        self
    }
}

/// `args![a, b, c]`
macro_rules! args {
    ($($value:expr),* $(,)?) => { $crate::machine::Arguments::default()$(.with($value))* };
}
pub(crate) use args;

/// A program in memory.
pub(crate) struct Run<'m> {
    pub(crate) memory: VecMemory,
    pub(crate) program: Program,
    machine: &'m Machine,
    text: String,
}

impl Run<'_> {
    /// A text by the end of its path: `compute_75/vector`.
    pub(crate) fn new<'m>(machine: &'m Machine, name: &str) -> Run<'m> {
        Run::of(machine, name, texts::text(name))
    }

    /// The texts of one source, one after the other.
    pub(crate) fn each<'m>(machine: &'m Machine, file: &str) -> impl Iterator<Item = Run<'m>> {
        texts::texts_of(file).map(|name| Run::new(machine, name))
    }

    fn of<'m>(machine: &'m Machine, name: &str, text: &str) -> Run<'m> {
        let program = Program::from_text(text).unwrap_or_else(|error| panic!("{error}"));
        let memory = VecMemory::new(4 << 20);
        let program = memory.place(&program);
        Run { memory, program, machine, text: name.to_owned() }
    }

    pub(crate) fn upload<T: Plain>(&self, values: &[T]) -> u64 {
        let mut bytes = Vec::new();
        values.iter().for_each(|value| value.put(&mut bytes));
        self.memory.upload(&bytes)
    }

    pub(crate) fn room<T: Plain>(&self, count: usize) -> u64 {
        self.memory.reserve(count * T::SIZE)
    }

    pub(crate) fn read<T: Plain>(&self, address: u64, count: usize) -> Vec<T> {
        self.memory.read(address, count * T::SIZE).chunks_exact(T::SIZE).map(T::get).collect()
    }

    /// Runs a kernel; under watch, it must not have races.
    fn step(&self, name: &str, shape: Shape, arguments: &Arguments) -> Step {
        self.machine.launched.borrow_mut().insert((self.text.clone(), name.to_owned()));
        let kernel = self.program.kernel(name).unwrap_or_else(|| panic!("there is no {name}"));
        let Shape { grid, block, dynamic_shared, cooperative } = shape;
        let mut launch = Launch { grid, block, dynamic_shared, arguments: &arguments.0, ..Launch::default() };
        if cooperative {
            let workspace = self.room::<u64>(4);
            (launch.environment[1], launch.environment[2]) = ((workspace >> 32) as u32, workspace as u32);
            launch.resident = grid.iter().product();
        }
        if !self.machine.watches {
            return run(Grid::new(kernel, launch, &self.memory).expect("it can be launched"));
        }
        let watched = Watched::new(kernel, &launch, Watches::ALL, &self.memory);
        let step = run(Grid::new(kernel, launch, &watched).expect("it can be launched"));
        let hazards = watched.take();
        assert!(hazards.is_empty(), "{name}: {hazards:#?}");
        step
    }

    /// Runs a kernel to its end.
    pub(crate) fn launch(&self, kernel: &str, grid: u32, block: u32, arguments: Arguments) {
        self.shaped(kernel, Shape::row(grid, block), arguments);
    }

    pub(crate) fn shaped(&self, kernel: &str, shape: Shape, arguments: Arguments) {
        match self.step(kernel, shape, &arguments) {
            Step::Done => {}
            Step::Trapped(trap) => panic!("{trap}"),
            Step::Running => panic!("{kernel} does not end"),
        }
    }

    /// Runs a kernel that must not reach its end.
    pub(crate) fn trap(&self, kernel: &str, grid: u32, block: u32, arguments: Arguments) -> Trap {
        match self.step(kernel, Shape::row(grid, block), &arguments) {
            Step::Trapped(trap) => trap,
            other => panic!("{kernel} should trap: {other:?}"),
        }
    }

    /// Asserts what has been printed so far.
    pub(crate) fn assert_printed(&self, expected: &str) {
        assert_eq!(self.memory.printed(), expected);
    }
}
