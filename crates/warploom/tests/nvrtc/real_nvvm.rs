//! Tests with the real libNVVM. `cargo xtask nvrtc` fetches it and runs these.
#![expect(unsafe_code, reason = "launches kernels")]

use warploom::program::nvvm::NvvmCode;
use warploom::program::{
    Architecture, Cached, CompileOptions, Linker, MemoryCache, NvJitLink, Nvvm, NvvmError, NvvmProgram, ObjectCode,
    Target,
};
use warploom::{DevicePool, Driver, LaunchConfig, Result};
use warploom_sim::Mode;
use warploom_sim::topology::Topology;
use warploom_testkit::{TestResult, on_cuda, open};

use crate::nvvm::refusal;
use crate::options;
use crate::trusted::{self, Modules as _};

const HEAD: &str = "target triple = \"nvptx64-nvidia-cuda\"\n\
    target datalayout = \"e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-f32:32:32-f64:64:64-\
    v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64\"\n\
    !nvvmir.version = !{!0}\n!0 = !{i32 2, i32 0}\n";

/// Raises each value to a power, by a function that `callee` is. Linkers leave out a kernel of LTO-IR that
/// nobody says is used.
fn power(callee: &str) -> String {
    format!(
        "{HEAD}
        declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
        declare float @{callee}(float, float)
        define void @power(float* %data, float %by) {{
            %i = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
            %at = getelementptr float, float* %data, i32 %i
            %before = load float, float* %at
            %after = call float @{callee}(float %before, float %by)
            store float %after, float* %at
            ret void
        }}
        @llvm.used = appending global [1 x i8*] [i8* bitcast (void (float*, float)* @power to i8*)], section \"llvm.metadata\"
        !nvvm.annotations = !{{!1}}
        !1 = !{{void (float*, float)* @power, !\"kernel\", i32 1}}"
    )
}

/// A square root of a product, which options change.
fn root() -> String {
    format!(
        "{HEAD}\ndeclare float @llvm.nvvm.sqrt.f(float)\n{}",
        "
        define float @root(float %a, float %b, float %c) {
            %product = fmul float %a, %b
            %sum = fadd float %product, %c
            %quotient = fdiv float %sum, %b
            %root = call float @llvm.nvvm.sqrt.f(float %quotient)
            ret float %root
        }"
    )
}

/// Squares four values; `code` is what `power` became.
fn squares(driver: &Driver, code: &ObjectCode) -> TestResult {
    let context = driver.device(0)?.context()?;
    let (stream, pool) = (context.stream()?, DevicePool::new(&context)?);
    let kernel = code.load(driver)?.kernel("power")?;
    let mut values = pool.upload(&[1.0_f32, 2.0, 3.0, 0.5], &stream)?;
    // SAFETY: four values.
    unsafe { kernel.launch(&stream, &LaunchConfig::new(1, 4), (&mut values, 2.0_f32)) }?;
    assert_eq!(values.download(&stream)?, [1.0, 4.0, 9.0, 0.25]);
    Ok(())
}

/// From IR to numbers: with libdevice to PTX, and to LTO-IR, which is linked to a cubin. A driver that is
/// older than libNVVM runs the latter alone.
fn body(driver: &Driver) -> TestResult {
    let nvvm = Nvvm::load()?;
    let given = trusted::program("power", power("__nv_powf"), options()).libdevice(&nvvm.libdevice()?);
    let compiled = given.compile(&nvvm, Target::Ptx)?;
    assert!(compiled.code.text().is_some_and(|ptx| ptx.contains(".target sm_90") && !ptx.contains(".extern")));
    if compiled.warnings(driver).is_empty() {
        squares(driver, &compiled.code)?;
    }
    let lto = given.compile(&nvvm, Target::LtoIr)?.code;
    let linker = Linker::new("power", driver.device(0)?.compute_capability()?).input(lto);
    let cubin = linker.link(&NvJitLink::load()?, Target::Cubin)?.code;
    assert!(cubin.bytes().starts_with(b"\x7fELF"));
    // A simulated device runs PTX alone.
    if driver.is_library() { squares(driver, &cubin) } else { Ok(()) }
}

mod what_libnvvm_compiles_runs {
    use super::*;

    #[test]
    #[ignore = "needs libnvvm and libnvJitLink"]
    fn sim() -> TestResult {
        let nvvm = Nvvm::load()?;
        let ptx = trusted::program("power", power("__nv_powf"), options()).compile(&nvvm, Target::Ptx)?.code;
        // A driver that is as new.
        let mut topology = Topology::preset("h200")?;
        if let Some((9, minor)) = ptx.ptx_version() {
            topology.driver_version = i32::try_from(13_000 + minor * 10)?;
        }
        let (_machine, driver) = open(topology, Mode::Threads)?;
        assert_eq!(ptx.warnings(&driver), []);
        body(&driver)
    }

    #[test]
    #[ignore = "needs libnvvm and libnvJitLink, an NVIDIA GPU and its driver"]
    fn cuda() -> TestResult {
        on_cuda(body)
    }
}

#[test]
#[ignore = "needs libnvvm"]
fn it_says_which_it_is() -> Result<()> {
    let nvvm = Nvvm::load()?;
    assert!(nvvm.version() >= (2, 0) && nvvm.ir_version() >= (2, 0), "{nvvm:?}");
    assert!(nvvm.llvm_version(Architecture::sm(90))?.is_none_or(|version| version >= 7));
    if nvvm.llvm_version(Architecture::sm(90))?.is_some() {
        let architecture = Architecture::sm(10);
        assert_eq!(refusal(nvvm.llvm_version(architecture)), NvvmError::UnsupportedArchitecture { architecture });
    }
    Ok(())
}

#[test]
#[ignore = "needs libnvvm"]
fn modules_call_each_other_in_any_order() -> Result<()> {
    let nvvm = Nvvm::load()?;
    let times = format!("{HEAD}\ndefine float @times(float %a, float %b) {{ %c = fmul float %a, %b\n ret float %c }}");
    let given = trusted::program("power", power("times"), options());
    let ptx = |program: &NvvmProgram| program.compile(&nvvm, Target::Ptx).map(|compiled| compiled.code);
    let alone = ptx(&given)?;
    assert!(alone.text().is_some_and(|ptx| ptx.contains(".extern .func") && ptx.contains("times")));
    let whole = ptx(&given.clone().with_module("times", &times))?;
    assert!(whole.text().is_some_and(|ptx| !ptx.contains(".extern") && ptx.contains("mul.f32")));
    let turned = ptx(&trusted::program("times", &times, options()).with_module("power", power("times")))?;
    assert!(turned.text().is_some_and(|ptx| !ptx.contains(".extern") && ptx.contains("mul.f32")));
    // A function of libdevice, and no more of libdevice than is used.
    let libdevice = nvvm.libdevice()?;
    let mathematical = ptx(&trusted::program("power", power("__nv_powf"), options()).libdevice(&libdevice))?;
    assert!(mathematical.bytes().len() < 100_000 && !mathematical.text().unwrap_or_default().contains("__nv_sinf"));
    Ok(())
}

#[test]
#[ignore = "needs libnvvm"]
fn it_takes_every_option_that_is_passed_on() -> Result<()> {
    let nvvm = Nvvm::load()?;
    let ptx = |options: CompileOptions| -> Result<String> {
        let code = trusted::program("root", root(), options).compile(&nvvm, Target::Ptx)?.code;
        Ok(code.text().unwrap_or_default().to_owned())
    };
    let exact = ptx(options())?;
    assert!(exact.contains("fma.rn.f32") && exact.contains("div.rn.f32") && exact.contains("sqrt.rn.f32"), "{exact}");
    assert!(!ptx(options().contract(false))?.contains("fma.rn"));
    assert!(!ptx(options().unoptimized())?.is_empty());
    assert!(ptx(options().flush_to_zero(true))?.contains(".ftz"));
    let fast = ptx(options().precise_division(false).precise_square_root(false))?;
    assert!(!fast.contains("div.rn") && !fast.contains("sqrt.rn"), "{fast}");
    for more in [options().debug(), options().debug().optimize_debug()] {
        assert!(!ptx(more)?.is_empty());
    }
    // One that has no function here, and that 12.1 does not have.
    if nvvm.llvm_version(Architecture::sm(90))?.is_some() {
        assert!(!ptx(options().raw("-jump-table-density=50"))?.is_empty());
    }
    let specific = ptx(CompileOptions::new(Architecture::sm(90).specific()))?;
    assert!(specific.contains(".target sm_90a"), "{specific}");
    Ok(())
}

#[test]
#[ignore = "needs libnvvm"]
fn refusals_are_in_the_log() -> Result<()> {
    let nvvm = Nvvm::load()?;
    let refused = |ir: String, options| refusal(trusted::program("k", ir, options).compile(&nvvm, Target::Ptx));
    let error = refused(root().replace("%sum, %b", "%sun, %b"), options());
    assert_eq!(error.code(), Some(NvvmCode::INVALID_IR));
    assert!(error.log().is_some_and(|log| log.contains("use of undefined value '%sun'")), "{error}");
    let error = refused(root().replace("i32 2, i32 0", "i32 1, i32 0"), options());
    assert_eq!(error.code(), Some(NvvmCode::IR_VERSION_MISMATCH));
    let error = refused(root(), CompileOptions::new(Architecture::sm(10)));
    assert!(error.log().is_some_and(|log| log.contains("-arch=compute_10 is an unsupported option")), "{error}");
    let doubled = trusted::program("a", root(), options()).with_module("b", root());
    assert!(refusal(doubled.compile(&nvvm, Target::Ptx)).log().is_some_and(|log| log.contains("multiply defined")));
    Ok(())
}

#[test]
#[ignore = "needs libnvvm"]
fn threads_compile_at_once_and_the_cache_gives_the_same() -> Result<()> {
    let (nvvm, cache) = (Nvvm::load()?, MemoryCache::new(1 << 20));
    let given = trusted::program("root", root(), options());
    let codes = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| given.compile(&nvvm, Target::Ptx))).collect();
        threads.into_iter().map(|thread| thread.join().expect("it does not panic")).collect::<Result<Vec<_>>>()
    })?;
    given.compile_cached(&nvvm, Target::Ptx, &cache)?;
    let again = given.compile_cached(&nvvm, Target::Ptx, &cache)?;
    assert_eq!(again.cached, Cached::Hit);
    assert!(codes.iter().all(|compiled| compiled.code == again.code));
    Ok(())
}
