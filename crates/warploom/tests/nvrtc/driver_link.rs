//! Linking by the driver: LNK-1 to LNK-7 of its backend.
#![expect(unsafe_code, reason = "launches the kernel that was linked")]

use warploom::program::link::Backend;
use warploom::program::{Architecture, Cached, CodeKind, LinkError, Linker, MemoryCache, ObjectCode};
use warploom::{Context, DevicePool, Driver, Error, LaunchConfig, Result};
use warploom_sim::fault::Calls;
use warploom_sim::topology::Topology;
use warploom_sim::{Mode, Order};
use warploom_testkit::driver::Function;
use warploom_testkit::sweep::Sweep;
use warploom_testkit::sys::types::CUresult;
use warploom_testkit::{TestResult, budget, driver_tests};

use crate::trusted;

fn ptx(name: &str, body: &str) -> ObjectCode {
    let lowered = [(format!("&{name}"), format!("_{name}"))];
    let text = format!(".version 8.3\n.target sm_75\n.address_size 64\n{body}");
    ObjectCode::from_ptx(name, text).expect("it is a text").with_lowered_names(lowered)
}

/// A kernel that adds 1 with a function that is defined elsewhere.
fn kernel() -> ObjectCode {
    ptx(
        "kernel",
        ".extern .func (.param .b32 r) next(.param .b32 a);
         .visible .entry k(.param .u64 p)
         {
             .reg .b32 %r<3>;
             .reg .b64 %rd<3>;
             ld.param.u64 %rd1, [p];
             cvta.to.global.u64 %rd2, %rd1;
             ld.global.u32 %r1, [%rd2];
             { .param .b32 a; .param .b32 r; st.param.b32 [a], %r1; call.uni (r), next, (a); ld.param.b32 %r2, [r]; }
             st.global.u32 [%rd2], %r2;
             ret;
         }",
    )
}

fn function() -> ObjectCode {
    ptx(
        "function",
        ".visible .func (.param .b32 r) next(.param .b32 a)
         { .reg .b32 %r<3>; ld.param.b32 %r1, [a]; add.s32 %r2, %r1, 1; st.param.b32 [r], %r2; ret; }",
    )
}

fn context(driver: &Driver) -> Result<Context> {
    driver.device(0)?.context()
}

fn linker(context: &Context) -> Result<Linker> {
    Ok(Linker::new("all", context.device().compute_capability()?))
}

#[track_caller]
fn refusal<T: std::fmt::Debug>(result: Result<T>) -> LinkError {
    match result {
        Err(Error::Link(error)) => *error,
        other => panic!("{other:?}"),
    }
}

driver_tests! {
    fn pieces_become_a_cubin_that_runs_and_has_all_names(driver) {
        let context = context(driver)?;
        let linked = linker(&context)?.input(kernel()).input(function()).line_info().max_registers(32).link_by_driver(&context)?;
        assert_eq!((linked.code.kind(), linked.code.name()), (CodeKind::Cubin, "all"));
        assert_eq!(linked.code.lowered_names().count(), 2);
        assert!(linked.log.contains("info    : "), "{}", linked.log);
        let kernel = linked.code.load(driver)?.kernel("k")?;
        let (stream, pool) = (context.stream()?, DevicePool::new(&context)?);
        let mut number = pool.upload(&[41_u32], &stream)?;
        // SAFETY: the kernel takes a pointer to one number, which it reads and writes.
        unsafe { kernel.launch(&stream, &LaunchConfig::new(1, 1), (&mut number,)) }?;
        assert_eq!(number.download(&stream)?, [42]);
    }

    fn missing_and_duplicate_symbols_and_wrong_code_are_in_the_error(driver) {
        let context = context(driver)?;
        let alone = linker(&context)?.input(kernel());
        let refused = refusal(alone.link_by_driver(&context));
        // SYS-8.
        assert!(refused.log().is_some_and(|log| !log.is_empty()), "{refused}");
        let LinkError::Driver { error, log } = refused else { panic!("the driver is asked") };
        assert_eq!(error.code(), Some(CUresult::CUDA_ERROR_INVALID_SOURCE));
        // An H200 goes on to tell of what it compiled.
        assert_eq!(log.lines().next(), Some("error   : Undefined reference to 'next' in 'kernel'"));
        let doubled = linker(&context)?.input(function()).input(function());
        let error = refusal(doubled.link_by_driver(&context));
        assert!(error.to_string().contains("Multiple definition of 'next' in 'function', first defined in 'function'"), "{error}");
        let wrong = linker(&context)?.input(ptx("wrong", ".visible .entry k() {\n  no such;\n}"));
        let error = refusal(wrong.link_by_driver(&context)).to_string();
        assert!(error.contains("cuLinkAddData") && error.contains("line 5; error   : "), "{error}");
    }

    fn code_that_no_driver_links_is_refused_before_it_is_called(driver) {
        let context = context(driver)?;
        let architecture = Architecture::compute(90);
        let lto = trusted::code(CodeKind::LtoIr, "lto", "x");
        let zero = ObjectCode::from_ptx("\0", "x")?;
        let option = |option: &str| LinkError::UnsupportedOption { names: vec![option.to_owned()] };
        for (linker, expected) in [
            (linker(&context)?, LinkError::NoInputs),
            (linker(&context)?.input(ptx("e", "")).input(trusted::code(CodeKind::Cubin, "e", [])), LinkError::EmptyInput { name: "e".to_owned() }),
            (Linker::new("", architecture).input(kernel()), LinkError::VirtualArchitecture { architecture }),
            (linker(&context)?.input(lto), LinkError::NotForDrivers { name: "lto".to_owned(), kind: CodeKind::LtoIr }),
            (linker(&context)?.input(kernel()).max_registers(0), LinkError::Registers { registers: 0 }),
            (linker(&context)?.input(kernel()).max_registers(256), LinkError::Registers { registers: 256 }),
            (linker(&context)?.input(zero), LinkError::Zero { text: "\0".to_owned() }),
            (linker(&context)?.input(kernel()).keep_kernel("k"), option("-kernels-used=k")),
            (linker(&context)?.input(kernel()).keep_variable("v"), option("-variables-used=v")),
            (linker(&context)?.input(kernel()).raw("-time"), option("-time")),
        ] {
            assert_eq!(refusal(linker.link_by_driver(&context)), expected);
        }
    }

    /// LNK-4.
    fn a_long_log_is_whole(driver) {
        let context = context(driver)?;
        let many: String = (0..400).map(|index| format!(".visible .entry a_kernel_of_many_{index}() {{ ret; }}\n")).collect();
        let log = linker(&context)?.input(ptx("many", &many)).link_by_driver(&context)?.log;
        assert!(log.len() > 32 << 10 && log.contains("a_kernel_of_many_399"), "{} bytes", log.len());
    }

    /// CCH-5, for drivers.
    fn a_cache_has_it_the_second_time(driver) {
        let (context, cache) = (context(driver)?, MemoryCache::new(1 << 20));
        let all = linker(&context)?.input(kernel()).input(function());
        let first = all.link_cached_by_driver(&context, &cache)?;
        assert_eq!(first.cached, Cached::Stored);
        let calls = driver.count_calls();
        let again = all.link_cached_by_driver(&context, &cache)?;
        assert_eq!((&again.cached, &again.code, &again.log), (&Cached::Hit, &first.code, &first.log));
        assert_eq!(calls.total(), 0);
        let other = all.clone().optimize(false).driver_cache_key(&context)?;
        assert_ne!(all.driver_cache_key(&context)?, other);
        assert!(all.optimize(false).link_cached_by_driver(&context, &cache)?.code.bytes().starts_with(b"\x7fELF"));
    }

    fn a_linker_is_found_on_every_machine(driver) {
        let context = context(driver)?;
        let all = linker(&context)?.input(kernel()).input(function());
        assert!(all.link_by_any(&context)?.code.bytes().starts_with(b"\x7fELF"));
        assert!(matches!(Linker::backend(), Backend::NvJitLink | Backend::Driver));
    }

    sim fn linking_is_as_many_calls_as_there_are_pieces_and_three(driver) {
        use Function::{cuLinkAddData_v2, cuLinkComplete, cuLinkCreate_v2, cuLinkDestroy};
        let context = context(driver)?;
        let all = linker(&context)?.input(kernel()).input(function());
        let calls = [(cuLinkCreate_v2, 1), (cuLinkAddData_v2, 2), (cuLinkComplete, 1), (cuLinkDestroy, 1)];
        // Where the context is current, and asked whether it is.
        let calls = [&calls[..], &[(Function::cuCtxGetCurrent, 1)]].concat();
        context.scope(|| budget(driver, &calls, || all.link_by_driver(&context).map(drop)))??;
    }
}

#[test]
fn nothing_is_left_when_a_call_of_linking_fails() -> TestResult {
    let mut sweep = Sweep::new(Topology::preset("h200")?).mode(Mode::Deterministic(Order::Lazy)).after_effect(true);
    for name in ["cuCtxSetCurrent", "cuCtxGetCurrent", "cuCtxSynchronize"] {
        sweep = sweep.tolerates(Calls::named(name)?);
    }
    sweep.run(|_, driver| {
        let context = context(driver)?;
        linker(&context)?.input(kernel()).input(function()).link_by_driver(&context).map(drop)
    });
    Ok(())
}
