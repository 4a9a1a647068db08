//! Loads a text, passes arguments, runs a kernel to its end.

use std::fs;
use std::path::Path;

use warploom_ptx::{Grid, Launch, Program, Step, Trap, VecMemory};

/// A number that can lie in memory.
pub(crate) trait Plain: Copy + PartialEq + std::fmt::Debug {
    const SIZE: usize;
    fn put(self, bytes: &mut Vec<u8>);
    fn get(bytes: &[u8]) -> Self;
}

macro_rules! plain {
    ($($type:ty)*) => {$(
        impl Plain for $type {
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

/// Arguments of a kernel, each aligned to its own size.
#[derive(Default)]
pub(crate) struct Arguments(Vec<u8>);

impl Arguments {
    pub(crate) fn with<T: Plain>(mut self, value: T) -> Self {
        self.0.resize(self.0.len().next_multiple_of(T::SIZE), 0);
        value.put(&mut self.0);
        self
    }

    /// Bytes of a struct, aligned.
    pub(crate) fn with_bytes(mut self, alignment: usize, bytes: &[u8]) -> Self {
        self.0.resize(self.0.len().next_multiple_of(alignment), 0);
        self.0.extend(bytes);
        self
    }
}

/// `args![a, b, c]`
macro_rules! args {
    ($($value:expr),* $(,)?) => { $crate::run::Arguments::default()$(.with($value))* };
}
pub(crate) use args;

/// A program in memory.
pub(crate) struct Run {
    pub(crate) memory: VecMemory,
    pub(crate) program: Program,
}

impl Run {
    /// A text by the end of its path: `compute_75/vector`.
    pub(crate) fn new(name: &str) -> Run {
        Run::of(&text(name))
    }

    /// One kernel of a text whose others use what is not simulated; it calls nothing.
    pub(crate) fn only(name: &str, kernel: &str) -> Run {
        let text = text(name);
        let header = text.split_once(".visible").expect("a kernel").0;
        let start = text.find(&format!(".visible .entry {kernel}(")).expect("the kernel");
        let body = text[start..].split_once("\n}").expect("its end").0;
        Run::of(&format!("{header}{body}\n}}"))
    }

    pub(crate) fn of(text: &str) -> Run {
        let program = Program::from_text(text).unwrap_or_else(|error| panic!("{error}"));
        let memory = VecMemory::new(4 << 20);
        let program = memory.place(&program);
        Run { memory, program }
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

    /// Runs a kernel in small steps; it must not need more than ten million instructions.
    pub(crate) fn step(&self, kernel: &str, launch: Launch<'_>, arguments: &Arguments) -> Step {
        let kernel = self.program.kernel(kernel).unwrap_or_else(|| panic!("there is no {kernel}"));
        let launch = Launch { arguments: &arguments.0, ..launch };
        let mut grid = Grid::new(kernel, launch, &self.memory).expect("it can be launched");
        for _ in 0..10_000 {
            let step = grid.step(997);
            if step != Step::Running {
                return step;
            }
        }
        Step::Running
    }

    /// Runs a kernel to its end.
    pub(crate) fn launch(&self, kernel: &str, grid: u32, block: u32, arguments: Arguments) {
        self.shaped(kernel, Launch { grid: [grid, 1, 1], block: [block, 1, 1], ..Launch::default() }, arguments);
    }

    pub(crate) fn shaped(&self, kernel: &str, launch: Launch<'_>, arguments: Arguments) {
        match self.step(kernel, launch, &arguments) {
            Step::Done => {}
            Step::Trapped(trap) => panic!("{trap}"),
            Step::Running => panic!("{kernel} does not end"),
        }
    }

    /// Runs a kernel that must not reach its end.
    pub(crate) fn trap(&self, kernel: &str, grid: u32, block: u32, arguments: Arguments) -> Trap {
        let launch = Launch { grid: [grid, 1, 1], block: [block, 1, 1], ..Launch::default() };
        match self.step(kernel, launch, &arguments) {
            Step::Trapped(trap) => trap,
            other => panic!("{kernel} should trap: {other:?}"),
        }
    }
}

fn text(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels/ptx").join(name).with_extension("ptx");
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Numbers that look random and are the same every time.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 ^ self.0 >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd) ^ self.0 >> 29
    }

    pub(crate) fn vec<T>(&mut self, count: usize, pick: impl Fn(u64) -> T) -> Vec<T> {
        (0..count).map(|_| pick(self.next())).collect()
    }
}

/// Singles that are hard on arithmetic, and others at random.
pub(crate) fn singles(count: usize, seed: u64) -> Vec<f32> {
    let hard = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        f32::MAX,
        f32::MIN_POSITIVE,
        1e-45,
        -1e-40,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        0.1,
    ];
    let mut random = Random(seed);
    random.vec(count, |bits| match bits % 4 {
        0 => hard[(bits >> 8) as usize % hard.len()],
        1 => f32::from_bits((bits >> 32) as u32),
        _ => f32::from_bits(((bits >> 32) as u32 & 0x807f_ffff) | (110 + (bits as u32 >> 8) % 34) << 23),
    })
}

/// The same in double precision.
pub(crate) fn doubles(count: usize, seed: u64) -> Vec<f64> {
    let hard = [0.0, -0.0, 1.0, -1.0, f64::MAX, f64::MIN_POSITIVE, 5e-324, f64::INFINITY, f64::NAN, 0.1];
    let mut random = Random(seed);
    random.vec(count, |bits| match bits % 4 {
        0 => hard[(bits >> 8) as usize % hard.len()],
        1 => f64::from_bits(bits.rotate_left(17)),
        _ => f64::from_bits((bits.rotate_left(9) & !(0x7ff << 52)) | (1000 + (bits >> 8) % 46) << 52),
    })
}

/// Equal, where one NaN is like another and zeros have signs.
pub(crate) fn same_single(found: f32, expected: f32) -> bool {
    found.to_bits() == expected.to_bits() || (found.is_nan() && expected.is_nan())
}

pub(crate) fn same_double(found: f64, expected: f64) -> bool {
    found.to_bits() == expected.to_bits() || (found.is_nan() && expected.is_nan())
}
