//! Loading compiled code as a library.
#![expect(unsafe_code, reason = "launches a kernel")]

use warploom::program::{
    Architecture, CodeKind, CompileOptions, Nvrtc, NvrtcError, ObjectCode, Program, Target, UntrustedCode,
};
use warploom::{DevicePool, Error, JitOptions, LaunchConfig, Library, LibraryError};
use warploom_sim::Mode;
use warploom_sim::topology::Topology;
use warploom_testkit::{TestResult, driver_tests, open};

use crate::{refusal, trusted};

const SCALE: &str = include_str!("../../examples/scale.ptx");
/// A variable, as a template names it.
const TABLE: &str =
    ".version 7.0\n.target sm_70\n.address_size 64\n.visible .global .align 4 .u32 _ZN1n5tableE[2] = {3, 4};";

/// Stores the bits of its arguments.
#[cfg(all(feature = "half", feature = "num-complex"))]
const NUMBERS: &str = ".version 7.0\n.target sm_70\n.address_size 64
    .visible .entry numbers(.param .b16 half, .param .b16 brain, .param .align 8 .b8 complex[8], .param .u64 out)
    {
        .reg .b32 %r<4>;
        .reg .b64 %rd<2>;
        ld.param.u64 %rd0, [out];
        cvta.to.global.u64 %rd1, %rd0;
        ld.param.u16 %r0, [half];
        ld.param.u16 %r1, [brain];
        ld.param.v2.b32 {%r2, %r3}, [complex];
        st.global.v4.b32 [%rd1], {%r0, %r1, %r2, %r3};
        ret;
    }";

fn code(kind: CodeKind, bytes: &str) -> ObjectCode {
    let names = [("scale<float>", "scale"), ("&n::table", "_ZN1n5tableE")];
    trusted::code(kind, "scale.cu", bytes).with_lowered_names(names.map(|(a, b)| (a.to_owned(), b.to_owned())))
}

driver_tests! {
    fn kernels_and_variables_are_found_by_their_source_names(driver) {
        let context = driver.device(0)?.context()?;
        let (stream, pool) = (context.stream()?, DevicePool::new(&context)?);
        let kernel = code(CodeKind::Ptx, SCALE).load(driver)?.kernel("scale<float>")?;
        assert_eq!(kernel.name(), "scale");
        let mut values = pool.upload(&[1.0_f32, 2.0], &stream)?;
        // SAFETY: it reads and writes two values.
        unsafe { kernel.launch(&stream, &LaunchConfig::new(1, 32), (3.0_f32, &mut values, 2_u32)) }?;
        assert_eq!(values.download(&stream)?, [3.0, 6.0]);
        let library = code(CodeKind::Ptx, TABLE).load_with(driver, JitOptions::new())?;
        // SAFETY: nobody else uses it.
        let table = unsafe { library.global::<u32>("&n::table", &context) }?;
        assert_eq!(table.download(&stream)?, [3, 4]);
        let missing = library.kernel("scale<double>").map(drop);
        assert!(matches!(missing, Err(Error::Library(LibraryError::NoSuchKernel { name, .. })) if &*name == "scale<double>"));
    }

    /// LCH-6: numbers of half precision and complex ones, as other crates have them.
    #[cfg(all(feature = "half", feature = "num-complex"))]
    fn half_and_complex_numbers_are_values_and_arguments(driver) {
        let context = driver.device(0)?.context()?;
        let (stream, pool) = (context.stream()?, DevicePool::new(&context)?);
        let (half, brain) = (half::f16::from_f32(1.5), half::bf16::from_f32(-2.0));
        let complex = num_complex::Complex::new(0.25_f32, -8.0);
        let kernel = code(CodeKind::Ptx, NUMBERS).load(driver)?.kernel("numbers")?;
        let kernel = kernel.typed::<(half::f16, half::bf16, num_complex::Complex<f32>, &mut [u32])>()?;
        let mut out = pool.zeroed::<u32>(4, &stream)?;
        // SAFETY: it writes four values.
        unsafe { kernel.launch(&stream, &LaunchConfig::new(1, 1), (half, brain, complex, &mut out)) }?;
        let bits = [0x3e00, 0xc000, 0.25_f32.to_bits(), (-8.0_f32).to_bits()];
        assert_eq!(out.download(&stream)?, bits);
        assert_eq!(pool.upload(&[complex; 3], &stream)?.download(&stream)?, [complex; 3]);
        let mut many = pool.zeroed::<half::bf16>(3, &stream)?;
        many.fill(brain, &stream)?;
        assert_eq!(many.download(&stream)?, [brain; 3]);
    }

    fn a_text_with_zeros_at_its_end_is_the_same_text(driver) {
        let (plain, zeros) = (ObjectCode::from_ptx("scale", SCALE)?, ObjectCode::from_ptx("scale", format!("{SCALE}\0\0"))?);
        assert_eq!(plain, zeros);
        let terminated = code(CodeKind::Ptx, &format!("{SCALE}\0\0"));
        assert_eq!(terminated, code(CodeKind::Ptx, SCALE));
        assert_eq!(terminated.load(driver)?.kernel("scale")?.name(), "scale");
    }

    fn unlinked_code_and_binaries_of_unknown_origin_are_refused_before_the_driver_is_called(driver) {
        let calls = driver.count_calls();
        for kind in [CodeKind::LtoIr, CodeKind::Object, CodeKind::Library] {
            let refused = refusal(code(kind, "binary").load(driver));
            assert_eq!(refused.to_string(), format!("scale.cu is {kind}, which drivers do not load; link it first, by a Linker"));
        }
        for kind in [CodeKind::Cubin, CodeKind::Fatbin, CodeKind::LtoIr, CodeKind::Object, CodeKind::Library] {
            let refused = refusal(UntrustedCode::new(kind, "k", b"\x7fELF").into_ptx());
            assert_eq!(refused, NvrtcError::Untrusted { name: "k".to_owned(), kind });
        }
        let refused = refusal(UntrustedCode::new(CodeKind::Ptx, "k", b".version\xff").into_ptx());
        assert_eq!(refused, NvrtcError::NotUtf8 { name: "k".to_owned(), position: 8 });
        for (text, expected) in [
            ("\x7fELF", LibraryError::BinaryText { format: "an ELF file" }),
            ("a\0b", LibraryError::NulInText { position: 1 }),
        ] {
            assert_eq!(ObjectCode::from_ptx("k", text), Err(Error::Library(expected.clone())));
            assert_eq!(UntrustedCode::new(CodeKind::Ptx, "k", text).into_ptx(), Err(Error::Library(expected.clone())));
            assert_eq!(Library::from_ptx(driver, text).map(drop), Err(Error::Library(expected)));
        }
        assert_eq!(calls.total(), 0);
    }
}

#[test]
fn code_is_read_from_files() -> TestResult {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/scale.ptx");
    let read = UntrustedCode::read(CodeKind::Ptx, path)?;
    assert_eq!((read.kind(), read.name(), read.bytes()), (CodeKind::Ptx, "scale.ptx", SCALE.as_bytes()));
    assert_eq!(read.into_ptx()?, ObjectCode::from_ptx("scale.ptx", SCALE)?);
    let missing = UntrustedCode::read(CodeKind::Cubin, "/absent/scale.cubin");
    assert!(matches!(missing, Err(Error::Library(LibraryError::Unreadable { .. }))), "{missing:?}");
    Ok(())
}

/// From CUDA C++ to numbers: compiled, loaded by the name of a template, launched.
#[test]
#[ignore = "needs libnvrtc"]
fn code_of_nvrtc_runs_on_a_simulated_machine() -> TestResult {
    let nvrtc = Nvrtc::load()?;
    let source = "template<typename T> __global__ void axpy(T a, const T *x, T *y, unsigned n) {\n\
                  unsigned i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] += a * x[i]; }";
    let program = Program::new("axpy.cu", source, CompileOptions::new(Architecture::sm(90)).line_info());
    let program = program.name_expression("axpy<double>");
    // A driver reads the PTX of its own version.
    let mut topology = Topology::preset("h200")?;
    topology.driver_version = i32::try_from(nvrtc.version().major * 1000 + nvrtc.version().minor * 10)?;
    let (_machine, driver) = open(topology, Mode::Threads)?;
    let context = driver.device(0)?.context()?;
    let (stream, pool) = (context.stream()?, DevicePool::new(&context)?);
    for target in [Target::Ptx, Target::Cubin] {
        let code = program.compile(&nvrtc, target)?.code;
        let kernel = code.load(&driver)?.kernel("axpy<double>")?;
        let x = pool.upload(&[1.0, 2.0, 3.0], &stream)?;
        let mut y = pool.upload(&[10.0, 20.0, 30.0], &stream)?;
        // SAFETY: three values each.
        unsafe { kernel.launch(&stream, &LaunchConfig::cover(3, 32), (0.5, &x, &mut y, 3_u32)) }?;
        assert_eq!(y.download(&stream)?, [10.5, 21.0, 31.5], "{target}");
    }
    Ok(())
}
