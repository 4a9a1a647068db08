//! Precompiled headers (PRG-7): their outcome, and too little memory for them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, Condvar, Mutex};
use std::time::Duration;

use warploom::Result;
use warploom::program::{
    CompileOptions, MemoryCache, Nvrtc, NvrtcCode, NvrtcError, NvrtcVersion, PrecompiledHeader, Program, Target,
};

use crate::trusted::Precompiled as _;
use crate::{fake, options, refusal};

fn program(options: CompileOptions) -> Program {
    Program::new("test.cu", "", options)
}

#[test]
fn the_outcome_of_a_precompiled_header_comes_with_the_code() -> Result<()> {
    let nvrtc = fake::open();
    for (options, expected) in [
        (options(), None),
        (options().create_precompiled_header("file"), Some(PrecompiledHeader::Created)),
        (options().create_precompiled_header("unwritable"), Some(PrecompiledHeader::Failed)),
        (options().with_precompiled_header("file"), Some(PrecompiledHeader::NotAttempted)),
        (options().with_precompiled_headers(), Some(PrecompiledHeader::NotAttempted)),
        (options().raw("-create-pch=file"), Some(PrecompiledHeader::NotAttempted)),
    ] {
        assert_eq!(program(options).compile(&nvrtc, Target::Ptx)?.precompiled_header, expected);
    }
    // Without precompiled headers, their status is not queried.
    fake::calls();
    program(options()).compile(&nvrtc, Target::Ptx)?;
    assert!(!fake::calls().contains(&"nvrtcGetPCHCreateStatus"));
    Ok(())
}

#[test]
fn a_heap_too_small_for_the_header_is_enlarged_and_the_program_made_anew() -> Result<()> {
    let nvrtc = fake::open();
    fake::change(|state| state.needed = 4096);
    let given = program(options().create_precompiled_header("file"));
    let compiled = given.compile(&nvrtc, Target::Ptx)?;
    assert_eq!(compiled.precompiled_header, Some(PrecompiledHeader::Created));
    assert_eq!(nvrtc.precompiled_heap()?, 4096);
    let (once, again) = (
        ["nvrtcCreateProgram", "nvrtcCompileProgram", "nvrtcGetProgramLogSize", "nvrtcGetProgramLog"],
        ["nvrtcGetPCHHeapSizeRequired", "nvrtcDestroyProgram", "nvrtcSetPCHHeapSize"],
    );
    let status = ["nvrtcGetPCHCreateStatus"];
    let end = ["nvrtcGetPTXSize", "nvrtcGetPTX", "nvrtcDestroyProgram", "nvrtcGetPCHHeapSize"];
    assert_eq!(fake::calls(), [&once[..], &status, &again, &once, &status, &end].concat());
    // The second time there is enough.
    given.compile(&nvrtc, Target::Ptx)?;
    assert!(!fake::calls().contains(&"nvrtcSetPCHHeapSize"));
    assert_eq!(fake::alive(), 0);
    Ok(())
}

#[test]
fn whichever_call_fails_is_named_and_leaves_no_program_behind() -> Result<()> {
    let nvrtc = fake::open();
    let given = program(options().create_precompiled_header("file"));
    for function in ["nvrtcGetPCHCreateStatus", "nvrtcGetPCHHeapSizeRequired", "nvrtcSetPCHHeapSize"] {
        fake::change(|state| (state.heap, state.needed, state.failing) = (0, 1, Some((function, 11))));
        let error = refusal(given.compile(&nvrtc, Target::Ptx));
        assert!(matches!(error, NvrtcError::Call { function: named, .. } if named == function), "{error:?}");
        assert_eq!((error.code(), fake::alive()), (Some(NvrtcCode::INTERNAL_ERROR), 0));
    }
    // More that is not enough is not asked for for ever.
    fake::change(|state| state.failing = None);
    fake::change(|state| state.is_stubborn = true);
    let compiled = given.compile(&nvrtc, Target::Ptx)?;
    assert_eq!(compiled.precompiled_header, Some(PrecompiledHeader::Failed));
    Ok(())
}

#[test]
fn an_nvrtc_that_has_none_says_so() -> Result<()> {
    fake::open_version(12, 6)?;
    let mut table = fake::TABLE;
    table.nvrtcGetPCHHeapSize = None;
    table.nvrtcSetPCHHeapSize = None;
    table.nvrtcGetPCHCreateStatus = None;
    // SAFETY: the functions belong to this thread, as before.
    #[expect(unsafe_code, reason = "a table of functions")]
    let nvrtc = unsafe { Nvrtc::from_table(table) }?;
    let compiled = program(options().create_precompiled_header("file")).compile(&nvrtc, Target::Ptx)?;
    assert_eq!(compiled.precompiled_header, None);
    let (have, needs) = (NvrtcVersion { major: 12, minor: 6 }, NvrtcVersion { major: 12, minor: 8 });
    let function = "nvrtcSetPCHHeapSize";
    assert_eq!(refusal(nvrtc.set_precompiled_heap(1)), NvrtcError::Lacks { function, have, needs });
    let error = refusal(nvrtc.precompiled_heap()).to_string();
    assert_eq!(error, "NVRTC 12.6 has no nvrtcGetPCHHeapSize; install 12.8 or newer");
    Ok(())
}

/// A way to compile a program.
type CompileStep = fn(&Program, &Nvrtc) -> Result<()>;

/// Compiles on two threads, each of which waits so long for the other; `true` if they were compiling at the
/// same time.
fn meet(options: &CompileOptions, wait: Duration, how: CompileStep) -> bool {
    let (inside, met) = (Arc::new((Mutex::new(0), Condvar::new())), Arc::new(AtomicBool::new(false)));
    let started = Barrier::new(2);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let nvrtc = fake::open();
                started.wait();
                let (inside, met) = (Arc::clone(&inside), Arc::clone(&met));
                fake::meanwhile(move || {
                    let (count, changed) = &*inside;
                    let mut now = count.lock().expect("nobody panics");
                    *now += 1;
                    changed.notify_all();
                    let (mut now, waited) =
                        changed.wait_timeout_while(now, wait, |now| *now < 2).expect("nobody panics");
                    met.fetch_or(!waited.timed_out(), Ordering::Relaxed);
                    // A thread that has met the other leaves the count for it to see.
                    *now -= i32::from(waited.timed_out());
                });
                how(&program(options.clone()), &nvrtc)
            });
        }
    });
    met.load(Ordering::Relaxed)
}

/// NVRTC has one piece of memory for all of them.
#[test]
fn only_one_program_at_a_time_has_precompiled_headers_and_others_do_not_wait() {
    let compile: CompileStep = |program, nvrtc| program.compile(nvrtc, Target::Ptx).map(drop);
    let check: CompileStep = |program, nvrtc| program.check_syntax(nvrtc).map(drop);
    for how in [compile, check] {
        for precompiling in [options().create_precompiled_header("file"), options().with_precompiled_headers()] {
            assert!(!meet(&precompiling, Duration::from_millis(100), how));
        }
        assert!(meet(&options(), Duration::from_secs(30), how));
    }
}

/// CCH-6.
#[test]
fn creating_a_header_is_not_cached_and_using_one_needs_a_digest() -> Result<()> {
    let (nvrtc, cache) = (fake::open(), MemoryCache::new(1 << 20));
    for writes in [options().create_precompiled_header("file"), options().with_precompiled_headers()] {
        let given = program(writes).files_digest("digest");
        let error = refusal(given.compile_cached(&nvrtc, Target::Ptx, &cache));
        assert!(
            matches!(&error, NvrtcError::NotCacheable { reason, .. } if reason.contains("writes files")),
            "{error}"
        );
    }
    let uses = program(options().with_precompiled_header("file"));
    let error = refusal(uses.compile_cached(&nvrtc, Target::Ptx, &cache));
    assert!(matches!(&error, NvrtcError::NotCacheable { reason, .. } if reason.contains("files_digest")), "{error}");
    uses.files_digest("digest").compile_cached(&nvrtc, Target::Ptx, &cache)?;
    Ok(())
}
