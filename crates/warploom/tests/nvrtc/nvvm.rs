//! Programs in NVVM IR (PRG-4, PRG-6): calls of libNVVM, results and refusals.

use warploom::Result;
use warploom::program::nvvm::NvvmCode;
use warploom::program::{
    Architecture, Cached, CodeKind, CompileOptions, Libdevice, MemoryCache, Nvvm, NvvmError, NvvmProgram, Target,
};

use crate::fake_nvvm as fake;
use crate::options;
use crate::trusted::{self, Modules as _};

const BITCODE: &[u8] = b"BC\xc0\xde";

/// The error of libNVVM or of the crate.
#[track_caller]
pub(crate) fn refusal<T: std::fmt::Debug>(result: Result<T>) -> NvvmError {
    match result {
        Err(warploom::Error::Nvvm(error)) => *error,
        other => panic!("{other:?}"),
    }
}

fn program(ir: &str) -> NvvmProgram {
    trusted::program("k", ir, options())
}

#[test]
fn the_library_reports_its_versions() -> Result<()> {
    let nvvm = fake::open();
    assert_eq!((nvvm.version(), nvvm.ir_version(), nvvm.debug_version()), ((2, 1), (2, 0), (3, 2)));
    assert_eq!(format!("{nvvm:?}"), "Nvvm { version: 2.1, ir: 2.0, .. }");
    assert_eq!(nvvm.llvm_version(Architecture::sm(90))?, Some(7));
    let architecture = Architecture::sm(50);
    assert_eq!(refusal(nvvm.llvm_version(architecture)), NvvmError::UnsupportedArchitecture { architecture });
    Ok(())
}

#[test]
fn modules_are_added_in_order_verified_and_compiled() -> Result<()> {
    let nvvm = fake::open();
    let file = std::env::temp_dir().join(format!("warploom-libdevice-{}.bc", std::process::id()));
    std::fs::write(&file, [BITCODE, b" math"].concat()).expect("there is a folder for it");
    // SAFETY: the stand-in does not look into it.
    #[expect(unsafe_code, reason = "bitcode of a file")]
    let libdevice = unsafe { Libdevice::read(&file) };
    std::fs::remove_file(&file).expect("it was there");
    let given = program("main").with_module("b", "more").with_lazy_module("c", BITCODE).libdevice(&libdevice?);
    let compiled = given.compile(&nvvm, Target::Ptx)?;
    assert_eq!((compiled.code.kind(), compiled.code.name()), (CodeKind::Ptx, "k"));
    assert_eq!((compiled.log.as_str(), &compiled.cached), ("", &Cached::No));
    let text = "release 13.4 of k: main, b: more, lazy c: BC\u{fffd}\u{fffd}, lazy libdevice: BC\u{fffd}\u{fffd} math with \
                -arch=compute_90";
    assert_eq!(compiled.code.text(), Some(text));
    assert_eq!(
        fake::calls(),
        [
            "nvvmCreateProgram",
            "nvvmAddModuleToProgram",
            "nvvmAddModuleToProgram",
            "nvvmLazyAddModuleToProgram",
            "nvvmLazyAddModuleToProgram",
            "nvvmVerifyProgram",
            "nvvmCompileProgram",
            "nvvmGetProgramLogSize",
            "nvvmGetProgramLog",
            "nvvmGetCompiledResultSize",
            "nvvmGetCompiledResult",
            "nvvmDestroyProgram",
        ]
    );
    Ok(())
}

#[test]
fn lto_ir_is_asked_for_by_an_option_and_warnings_come_with_the_code() -> Result<()> {
    let compiled = program("warn").compile(&fake::open(), Target::LtoIr)?;
    assert_eq!(compiled.code.kind(), CodeKind::LtoIr);
    // Of what is no text, nothing is left out.
    assert!(compiled.code.bytes().ends_with(b"-arch=compute_90 -gen-lto\0"));
    assert_eq!(compiled.log, "k: warning: it says so");
    Ok(())
}

#[test]
fn wrong_ir_and_refused_options_are_errors_with_the_log() {
    let nvvm = fake::open();
    let error = refusal(program("wrong").compile(&nvvm, Target::Ptx));
    assert_eq!((error.code(), error.log()), (Some(NvvmCode::INVALID_IR), Some("k (1, 0): parse error")));
    assert_eq!(error.to_string(), "k does not compile: NVVM_ERROR_INVALID_IR (6): k (1, 0): parse error");
    let error = refusal(program("old").compile(&nvvm, Target::Ptx));
    assert_eq!(error.code(), Some(NvvmCode::IR_VERSION_MISMATCH));
    let error = refusal(trusted::program("k", "x", options().raw("-refused")).compile(&nvvm, Target::Ptx));
    assert_eq!(error.code(), Some(NvvmCode::INVALID_OPTION));
    assert_eq!(
        error.to_string(),
        "libNVVM refused an option for k: libnvvm : error: -refused is unsupported; the options were -arch=compute_90 -refused"
    );
    // A program that fails verification is not compiled.
    assert!(!fake::calls().contains(&"nvvmCompileProgram"));
    assert_eq!(fake::alive(), 0);
}

#[test]
fn invalid_programs_are_refused_before_libnvvm_is_called() {
    let nvvm = fake::open();
    let name = || "k".to_owned();
    let unsupported =
        |names: &[&str]| NvvmError::UnsupportedOption { names: names.iter().map(|name| (*name).to_owned()).collect() };
    for (program, expected) in [
        (program(""), NvvmError::EmptyModule { name: name() }),
        (program("x").with_lazy_module("k", "; text"), NvvmError::LazyText { name: name() }),
        (program("x").with_module("\0", "x"), NvvmError::Zero { what: "a module's name".to_owned(), position: 0 }),
        (trusted::program("k", "x", options().raw("--ftz=1").restrict()), unsupported(&["--restrict", "--ftz=1"])),
    ] {
        assert_eq!(refusal(program.compile(&nvvm, Target::Ptx)), expected);
    }
    let supported: &[Target] = &[Target::Ptx, Target::LtoIr];
    let refused = refusal(program("x").compile(&nvvm, Target::Cubin));
    assert_eq!(refused, NvvmError::UnsupportedTarget { target: Target::Cubin, supported });
    assert_eq!(fake::calls(), Vec::<&str>::new());
}

#[test]
fn whichever_call_fails_is_named_and_leaves_no_program_behind() {
    let nvvm = fake::open();
    let given = program("x").with_lazy_module("c", BITCODE);
    given.compile(&nvvm, Target::Ptx).expect("nothing fails yet");
    let calls = fake::calls();
    for function in &calls[..calls.len() - 1] {
        fake::change(|state| state.failing = Some((*function, 5)));
        let error = refusal(given.compile(&nvvm, Target::Ptx));
        let NvvmError::Call { function: named, code, .. } = &error else { panic!("{error:?}") };
        assert_eq!((*named, *code, fake::alive()), (*function, NvvmCode::INVALID_PROGRAM, 0));
        assert!(
            error.to_string().starts_with(&format!("{function} failed: NVVM_ERROR_INVALID_PROGRAM (5)")),
            "{error}"
        );
    }
    for function in ["nvvmVersion", "nvvmIRVersion"] {
        fake::change(|state| state.failing = Some((function, 5)));
        // SAFETY: the functions belong to this thread, as before.
        #[expect(unsafe_code, reason = "a table of functions")]
        let error = refusal(unsafe { Nvvm::from_table(fake::TABLE) });
        assert!(matches!(error, NvvmError::Call { function: named, .. } if named == function), "{error:?}");
    }
}

#[test]
fn nothing_instead_of_code_is_an_error() {
    let nvvm = fake::open();
    fake::change(|state| state.empty = true);
    let error = refusal(program("x").compile(&nvvm, Target::Ptx));
    assert_eq!(error, NvvmError::NoOutput { program: "k".to_owned(), target: Target::Ptx });
}

#[test]
fn a_cache_has_it_the_second_time() -> Result<()> {
    let (nvvm, cache) = (fake::open(), MemoryCache::new(1 << 20));
    let first = program("warn").compile_cached(&nvvm, Target::Ptx, &cache)?;
    assert_eq!(first.cached, Cached::Stored);
    fake::calls();
    let again = program("warn").compile_cached(&nvvm, Target::Ptx, &cache)?;
    assert_eq!((&again.cached, &again.code, again.log.as_str()), (&Cached::Hit, &first.code, "k: warning: it says so"));
    assert_eq!(fake::calls(), Vec::<&str>::new());
    Ok(())
}

/// CCH-5: versions of libNVVM and its IR, the CUDA it came with, and everything that is compiled.
#[test]
fn everything_that_it_is_compiled_from_and_by_is_in_the_key() -> Result<()> {
    let base = |nvvm: &Nvvm| program("x").cache_key(nvvm, Target::Ptx);
    let nvvm = fake::open_with((1, 9), "13.4");
    let mut keys = vec![base(&nvvm)?];
    let nvvm = fake::open_with((2, 0), "12.9");
    keys.push(base(&nvvm)?);
    let nvvm = fake::open();
    keys.push(base(&nvvm)?);
    assert_eq!(base(&nvvm)?, base(&nvvm)?);
    for other in [
        program("y"),
        trusted::program("other", "x", options()),
        trusted::program("k", "x", options().flush_to_zero(true)),
        trusted::program("k", "x", CompileOptions::new(Architecture::sm(80))),
        program("x").with_module("m", BITCODE),
        program("x").with_lazy_module("m", BITCODE),
        program("x").with_lazy_module("n", BITCODE),
    ] {
        keys.push(other.cache_key(&nvvm, Target::Ptx)?);
    }
    keys.push(program("x").cache_key(&nvvm, Target::LtoIr)?);
    // One that cannot say which it is has keys of its own.
    let broken = fake::open();
    fake::change(|state| state.failing = Some(("nvvmCompileProgram", 1)));
    keys.push(base(&broken)?);
    let count = keys.len();
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), count);
    Ok(())
}

/// CCH-6.
#[test]
fn options_that_write_files_are_not_cached() {
    let nvvm = fake::open();
    let given = trusted::program("k", "x", options().raw("-time=file"));
    let error = refusal(given.compile_cached(&nvvm, Target::Ptx, &MemoryCache::new(1 << 20)));
    assert!(
        matches!(&error, NvvmError::NotCacheable { reason, .. } if reason.starts_with("-time=file writes")),
        "{error}"
    );
}
