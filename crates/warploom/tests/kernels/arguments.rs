//! Kernel arguments.
#![expect(unsafe_code, reason = "launches kernels")]

use warploom::{DeviceCopy, Error, LaunchConfig, LaunchError};
use warploom_testkit::{budget, driver_tests};

use super::{Bench, CALLS};

/// The struct of the same name that kernels take.
#[derive(Clone, Copy, DeviceCopy)]
#[repr(C)]
struct Sample {
    tag: i8,
    weight: f64,
    counts: [i16; 3],
    position: Position,
}

#[derive(Clone, Copy, DeviceCopy)]
#[repr(C, align(8))]
struct Position {
    x: f32,
    y: f32,
}

/// Stores each of its arguments, as bytes, where they are to be.
const KINDS: &str = "
.version 8.3
.target sm_75
.address_size 64
.visible .entry kinds(.param .u64 out, .param .u8 flag, .param .s8 a, .param .u16 b, .param .s32 c, .param .u64 d,
    .param .b16 half, .param .f32 e, .param .f64 f, .param .align 8 .b8 complex[8], .param .align 8 .b8 wide[16])
{
    .reg .b16 %h<4>;
    .reg .b32 %r<3>;
    .reg .b64 %l<6>;
    ld.param.u64 %l0, [out];
    cvta.to.global.u64 %l0, %l0;
    ld.param.u8 %h0, [flag];
    st.global.u8 [%l0], %h0;
    ld.param.u8 %h1, [a];
    st.global.u8 [%l0+1], %h1;
    ld.param.u16 %h2, [b];
    st.global.u16 [%l0+2], %h2;
    ld.param.u32 %r0, [c];
    st.global.u32 [%l0+4], %r0;
    ld.param.u64 %l1, [d];
    st.global.u64 [%l0+8], %l1;
    ld.param.b16 %h3, [half];
    st.global.b16 [%l0+16], %h3;
    ld.param.b32 %r1, [e];
    st.global.b32 [%l0+20], %r1;
    ld.param.b64 %l2, [f];
    st.global.b64 [%l0+24], %l2;
    ld.param.b64 %l3, [complex];
    st.global.b64 [%l0+32], %l3;
    ld.param.b64 %l4, [wide];
    st.global.b64 [%l0+40], %l4;
    ld.param.b64 %l5, [wide+8];
    st.global.b64 [%l0+48], %l5;
    ret;
}";

/// Half precision, as its bits.
#[derive(Clone, Copy, DeviceCopy)]
#[repr(transparent)]
struct Half(u16);

#[derive(Clone, Copy, DeviceCopy)]
#[repr(C)]
struct Complex<T> {
    real: T,
    imaginary: T,
}

driver_tests! {
    /// LCH-6: booleans, whole numbers, real ones of all widths, complex ones; a number is never taken for an
    /// address.
    fn every_kind_of_argument_arrives(driver) {
        let bench = Bench::with(driver, KINDS)?;
        let mut out = bench.pool.zeroed::<u8>(56, &bench.stream)?;
        let (complex, wide) = (Complex { real: 1.5_f32, imaginary: -2.0 }, Complex { real: 0.25_f64, imaginary: 8.0 });
        let values = (true, -2_i8, 300_u16, -4_i32, u64::MAX, Half(0x3c00), 5.5_f32, -6.25_f64, complex, wide);
        let (flag, a, b, c, d, half, e, f, complex, wide) = values;
        let kernel = bench.kernel("kinds")?;
        // SAFETY: it writes 56 bytes.
        unsafe {
            let arguments = (&mut out, flag, a, b, c, d, half, e, f, complex, wide);
            kernel.launch(&bench.stream, &LaunchConfig::new(1, 1), arguments)
        }?;
        let expected = [
            &[1, 0xfe][..],
            &300_u16.to_le_bytes(),
            &(-4_i32).to_le_bytes(),
            &[0xff; 8],
            &[0, 0x3c, 0, 0],
            &5.5_f32.to_le_bytes(),
            &(-6.25_f64).to_le_bytes(),
            &1.5_f32.to_le_bytes(),
            &(-2.0_f32).to_le_bytes(),
            &0.25_f64.to_le_bytes(),
            &8.0_f64.to_le_bytes(),
        ];
        assert_eq!(out.download(&bench.stream)?, expected.concat());
    }

    fn a_struct_is_passed_by_value(driver) {
        let bench = Bench::with(driver, CALLS)?;
        let kernel = bench.kernel("struct_by_value")?.typed::<(Sample, f64, &mut [f64])>()?;
        let sample =
            Sample { tag: -2, weight: 1.5, counts: [100, 200, -50], position: Position { x: 0.25, y: 0.5 } };
        let mut y = bench.pool.zeroed::<f64>(4, &bench.stream)?;
        // SAFETY: it writes one value for each thread.
        unsafe { kernel.launch(&bench.stream, &LaunchConfig::new(1, 4), (sample, 2.0, &mut y)) }?;
        let sum = -3.0 + 250.0 + 0.75;
        assert_eq!(y.download(&bench.stream)?, [0.0, sum * 2.0, sum * 4.0, sum * 6.0]);
    }

    fn too_few_too_many_and_too_large_arguments_are_refused(driver) {
        let bench = Bench::new(driver)?;
        let (saxpy, shape) = (bench.kernel("saxpy")?, LaunchConfig::new(1, 32));
        let (x, mut y) = (bench.pool.zeroed::<f32>(4, &bench.stream)?, bench.pool.zeroed::<f32>(4, &bench.stream)?);
        saxpy.parameters()?;
        budget(driver, &[], || {
            // SAFETY: all are refused.
            let refused = unsafe {
                [
                    saxpy.launch(&bench.stream, &shape, (1.0_f32, &x, &mut y)),
                    saxpy.launch(&bench.stream, &shape, (1.0_f32, &x, &mut y, 4_u32, true)),
                    saxpy.launch(&bench.stream, &shape, (1.0_f32, &x, &mut y, 4_u64)),
                    saxpy.launch(&bench.stream, &shape, ()),
                ]
            };
            let expected = [
                LaunchError::ArgumentCount { given: 3, takes: 4 },
                LaunchError::ArgumentCount { given: 5, takes: 4 },
                LaunchError::ArgumentSize { index: 3, given: 8, takes: 4 },
                LaunchError::ArgumentCount { given: 0, takes: 4 },
            ];
            assert_eq!(refused, expected.map(|error| Err(Error::Launch(error))));
        });
    }
}
