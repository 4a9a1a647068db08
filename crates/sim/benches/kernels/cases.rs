//! The kernels that are launched: seven of `crates/ptx/kernels`, each with a plain loop that does the same.

use std::hint::black_box;

use crate::plain;

/// Words of each of the three buffers.
pub(crate) const WORDS: usize = 1 << 20;

/// One kernel, how it is launched, and the same without it.
pub(crate) struct Case {
    pub(crate) kernel: &'static str,
    pub(crate) text: &'static str,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    /// The arguments, given the addresses of three buffers.
    pub(crate) arguments: fn([u64; 3]) -> Vec<u8>,
    pub(crate) plain: Box<dyn FnMut()>,
}

macro_rules! text {
    ($name:literal) => {
        include_str!(concat!("../../../ptx/kernels/ptx/compute_75/", $name, ".ptx"))
    };
}

/// The initial contents of every buffer: numbers between 1 and 2.
pub(crate) fn floats() -> Vec<f32> {
    (0..WORDS).map(|i| 1.0 + (i % 1024) as f32 / 1024.0).collect()
}

/// The same as bytes.
pub(crate) fn data() -> Vec<u8> {
    floats().into_iter().flat_map(f32::to_le_bytes).collect()
}

/// Arguments, each aligned to its size.
#[derive(Default)]
struct Arguments(Vec<u8>);

impl Arguments {
    fn word(mut self, value: u32) -> Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    fn float(self, value: f32) -> Self {
        self.word(value.to_bits())
    }

    fn long(mut self, value: u64) -> Self {
        self.0.resize(self.0.len().next_multiple_of(8), 0);
        self.0.extend(value.to_le_bytes());
        self
    }
}

const VECTOR: u32 = 1 << 18;
const FIELD: u32 = 512;
const SIDE: u32 = 256;
const MATRIX: u32 = 128;
const BODIES: u32 = 1024;

pub(crate) fn all() -> Vec<Case> {
    let from = floats();
    vec![
        Case {
            kernel: "saxpy",
            text: text!("vector"),
            grid: [VECTOR / 256, 1, 1],
            block: [256, 1, 1],
            arguments: |[x, y, _]| Arguments::default().float(2.5).long(x).long(y).word(VECTOR).0,
            plain: {
                let (x, mut y) = (from[..VECTOR as usize].to_vec(), from[..VECTOR as usize].to_vec());
                Box::new(move || plain::saxpy(2.5, black_box(&x), black_box(&mut y)))
            },
        },
        Case {
            kernel: "jacobi",
            text: text!("stencil"),
            grid: [FIELD / 32, FIELD / 8, 1],
            block: [32, 8, 1],
            arguments: |[x, y, _]| Arguments::default().long(x).long(y).word(FIELD).word(FIELD).0,
            plain: {
                let (from, mut to) = (from.clone(), vec![0.0; (FIELD * FIELD) as usize]);
                Box::new(move || plain::jacobi(black_box(&from), black_box(&mut to), FIELD as usize))
            },
        },
        Case {
            kernel: "mandelbrot",
            text: text!("mandelbrot"),
            grid: [SIDE / 16, SIDE / 16, 1],
            block: [16, 16, 1],
            arguments: |[x, ..]| {
                let sizes = Arguments::default().long(x).word(SIDE).word(SIDE);
                sizes.float(-2.0).float(-1.5).float(3.0 / SIDE as f32).word(200).0
            },
            plain: Box::new(|| {
                black_box(plain::mandelbrot(black_box(SIDE)));
            }),
        },
        Case {
            kernel: "matmul_tiled",
            text: text!("matmul"),
            grid: [MATRIX / 16, MATRIX / 16, 1],
            block: [16, 16, 1],
            arguments: |[x, y, z]| Arguments::default().long(x).long(y).long(z).word(MATRIX).0,
            plain: {
                let (from, mut to) = (from.clone(), vec![0.0; (MATRIX * MATRIX) as usize]);
                Box::new(move || plain::multiply(black_box(&from), black_box(&mut to), MATRIX as usize))
            },
        },
        Case {
            kernel: "reduce_shuffle",
            text: text!("reduce"),
            grid: [64, 1, 1],
            block: [256, 1, 1],
            arguments: |[x, y, _]| Arguments::default().long(x).long(y).word(VECTOR).0,
            plain: {
                let numbers: Vec<u32> = from[..VECTOR as usize].iter().map(|number| number.to_bits()).collect();
                Box::new(move || {
                    black_box(black_box(&numbers).iter().fold(0_u32, |sum, number| sum.wrapping_add(*number)));
                })
            },
        },
        Case {
            kernel: "nbody",
            text: text!("nbody"),
            grid: [BODIES / 64, 1, 1],
            block: [64, 1, 1],
            arguments: |[x, y, z]| Arguments::default().long(x).long(y).long(z).float(0.01).float(1.0).word(BODIES).0,
            plain: {
                let bodies = from[..BODIES as usize * 4].to_vec();
                let mut velocities = bodies.clone();
                Box::new(move || plain::attract(black_box(&bodies), black_box(&mut velocities), 0.01, 1.0))
            },
        },
        Case {
            kernel: "histogram_shared",
            text: text!("histogram"),
            grid: [64, 1, 1],
            block: [256, 1, 1],
            arguments: |[x, y, _]| Arguments::default().long(x).long(y).word(VECTOR).0,
            plain: {
                let (bytes, mut counts) = (data()[..VECTOR as usize].to_vec(), [0; 256]);
                Box::new(move || plain::count(black_box(&bytes), black_box(&mut counts)))
            },
        },
    ]
}
