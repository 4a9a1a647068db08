//! Linking several pieces of code into one.

use warploom::program::link::LinkCode;
use warploom::program::{
    Architecture, Cached, CodeKind, CompileOptions, LinkError, Linker, MemoryCache, NvJitLink, Nvrtc, ObjectCode,
    Program, Target,
};
use warploom::{Error, Result};

use crate::{fake_link, options, trusted};

#[track_caller]
fn refusal<T: std::fmt::Debug>(result: Result<T>) -> LinkError {
    match result {
        Err(Error::Link(error)) => *error,
        other => panic!("{other:?}"),
    }
}

fn code(kind: CodeKind, name: &str) -> ObjectCode {
    let lowered = [(format!("&{name}"), format!("_{name}"))];
    trusted::code(kind, name, format!("bytes of {name}")).with_lowered_names(lowered)
}

fn linker() -> Linker {
    Linker::new("all", Architecture::sm(90))
}

#[test]
fn inputs_and_options_arrive_and_the_code_has_all_names() -> Result<()> {
    let library = fake_link::open();
    assert_eq!((library.version(), format!("{library:?}").as_str()), ((13, 5), "NvJitLink { version: 13.5, .. }"));
    let all =
        linker().input(code(CodeKind::Ptx, "a")).input(code(CodeKind::LtoIr, "b")).input(code(CodeKind::Cubin, "c"));
    let linked = all.line_info().max_registers(32).keep_kernel("k").raw("-x").link(&library, Target::Cubin)?;
    assert_eq!(
        (linked.code.kind(), linked.code.name(), linked.code.bytes()),
        (CodeKind::Cubin, "all", &b"cu\0bin"[..])
    );
    assert_eq!(linked.code.lowered_names().collect::<Vec<_>>(), [("&a", "_a"), ("&b", "_b"), ("&c", "_c")]);
    assert_eq!(linked.log, "a remark");
    let state = fake_link::take();
    let options = ["-arch=sm_90", "-lto", "-lineinfo", "-maxrregcount=32", "-kernels-used=k", "-x"];
    assert_eq!(state.given[..6], options);
    assert_eq!(state.given[6..], ["2 a bytes of a\0", "3 b bytes of b", "1 c bytes of c"]);
    assert_eq!(state.alive, 0);
    Ok(())
}

#[test]
fn ptx_comes_of_lto_ir_alone() -> Result<()> {
    let library = fake_link::open();
    let linked = linker().input(code(CodeKind::LtoIr, "a")).link(&library, Target::Ptx)?;
    assert_eq!(linked.code.text(), Some("ptx"));
    assert_eq!(fake_link::take().given[..3], ["-arch=sm_90", "-lto", "-ptx"]);
    let mixed = linker().input(code(CodeKind::LtoIr, "a")).input(code(CodeKind::Ptx, "b"));
    assert_eq!(refusal(mixed.link(&library, Target::Ptx)), LinkError::NotAnOutput { kind: CodeKind::Ptx });
    Ok(())
}

#[test]
fn invalid_links_are_refused_before_nvjitlink_is_called() {
    let library = fake_link::open();
    let input = || code(CodeKind::Ptx, "a");
    let architecture = Architecture::compute(90);
    let wrong = [
        (linker(), Target::Cubin, LinkError::NoInputs),
        (
            linker().input(trusted::code(CodeKind::Cubin, "e", [])),
            Target::Cubin,
            LinkError::EmptyInput { name: "e".to_owned() },
        ),
        (linker().input(input()).max_registers(256), Target::Cubin, LinkError::Registers { registers: 256 }),
        (linker().input(input()), Target::LtoIr, LinkError::NotAnOutput { kind: CodeKind::LtoIr }),
        (Linker::new("", architecture).input(input()), Target::Cubin, LinkError::VirtualArchitecture { architecture }),
        (linker().input(input()).raw("\0"), Target::Cubin, LinkError::Zero { text: "\0".to_owned() }),
        (linker().input(code(CodeKind::Ptx, "\0")), Target::Cubin, LinkError::Zero { text: "\0".to_owned() }),
    ];
    for (linker, target, expected) in wrong {
        assert_eq!(refusal(linker.link(&library, target)), expected);
    }
    assert_eq!(fake_link::take().calls, Vec::<&str>::new());
}

#[test]
fn whichever_call_fails_is_named_with_the_log_and_leaves_no_link_behind() -> Result<()> {
    let library = fake_link::open();
    for target in [Target::Cubin, Target::Ptx] {
        let all = linker().input(code(CodeKind::LtoIr, "a"));
        all.link(&library, target)?;
        let calls = fake_link::take().calls;
        assert_eq!(calls.last(), Some(&"nvJitLinkDestroy"));
        for function in &calls[..calls.len() - 1] {
            fake_link::change(|state| state.failing = Some((*function, 6)));
            let error = refusal(all.link(&library, target));
            let expected = format!("{function} failed: NVJITLINK_ERROR_INTERNAL (6): what went wrong");
            assert_eq!((error.to_string(), error.code()), (expected, Some(LinkCode::INTERNAL)));
            assert_eq!(fake_link::take().alive, 0, "{function}");
        }
    }
    Ok(())
}

/// CCH-5, for nvJitLink.
#[test]
fn a_cache_has_it_the_second_time_and_the_key_has_everything() -> Result<()> {
    let (library, cache) = (fake_link::open(), MemoryCache::new(1 << 20));
    let all = || linker().input(code(CodeKind::LtoIr, "a"));
    let first = all().link_cached(&library, Target::Cubin, &cache)?;
    assert_eq!((&first.cached, first.log.as_str()), (&Cached::Stored, "a remark"));
    fake_link::take();
    let again = all().link_cached(&library, Target::Cubin, &cache)?;
    assert_eq!((&again.cached, &again.code, again.log.as_str()), (&Cached::Hit, &first.code, "a remark"));
    assert_eq!(fake_link::take().calls, Vec::<&str>::new());
    assert_eq!(again.code.lowered_name("&a"), Some("_a"));
    let mut keys = vec![all().cache_key(&library, Target::Ptx)?];
    for other in [
        all(),
        all().optimize(false),
        all().input(code(CodeKind::Ptx, "b")),
        linker().input(code(CodeKind::Ptx, "b")).input(code(CodeKind::LtoIr, "a")),
        linker().input(trusted::code(CodeKind::LtoIr, "a", "bytes of a")),
        linker().input(code(CodeKind::Fatbin, "a")),
        Linker::new("other", Architecture::sm(90)).input(code(CodeKind::LtoIr, "a")),
        Linker::new("all", Architecture::sm(80)).input(code(CodeKind::LtoIr, "a")),
    ] {
        keys.push(other.cache_key(&library, Target::Cubin)?);
    }
    fake_link::change(|state| state.is_older = true);
    // SAFETY: the functions belong to this thread, as before.
    #[expect(unsafe_code, reason = "a table of functions")]
    let older = unsafe { NvJitLink::from_table(fake_link::TABLE) }?;
    keys.push(all().cache_key(&older, Target::Cubin)?);
    let count = keys.len();
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), count);
    assert_eq!(refusal(linker().link_cached(&library, Target::Cubin, &cache)), LinkError::NoInputs);
    Ok(())
}

#[test]
fn a_missing_library_is_an_error_with_the_remedy() {
    // SAFETY: there is no such library.
    #[expect(unsafe_code, reason = "names a library")]
    let error = refusal(unsafe { NvJitLink::load_from("libwarploom-absent.so") });
    for word in ["libwarploom-absent.so", "pip install nvidia-nvjitlink", "package libnvjitlink", "WARPLOOM_NVJITLINK"]
    {
        assert!(error.to_string().contains(word), "{error}");
    }
}

fn compiled(nvrtc: &Nvrtc, source: &str, options: CompileOptions, target: Target) -> Result<ObjectCode> {
    Ok(Program::new("piece.cu", source, options).compile(nvrtc, target)?.code)
}

const KERNEL: &str = "extern __device__ int f(int); extern \"C\" __global__ void k(int *p) { *p = f(*p); }";
const FUNCTION: &str = "__device__ int f(int a) { return a + 41; }";

#[test]
#[ignore = "needs libnvrtc and libnvJitLink"]
fn lto_ir_ptx_and_cubin_are_linked() -> Result<()> {
    let (nvrtc, library) = (Nvrtc::load()?, NvJitLink::load()?);
    for target in [Target::LtoIr, Target::Ptx, Target::Cubin] {
        let options = options().relocatable();
        let all = linker().input(compiled(&nvrtc, KERNEL, options.clone(), target)?);
        let all = all.input(compiled(&nvrtc, FUNCTION, options, target)?);
        let cubin = all.link(&library, Target::Cubin)?.code;
        assert!(cubin.bytes().starts_with(b"\x7fELF"));
        if target == Target::LtoIr {
            let ptx = all.link(&library, Target::Ptx)?.code;
            assert!(ptx.text().is_some_and(|text| text.contains(".entry k") && text.contains("41")), "{ptx:?}");
        }
        let debug = all.line_info().max_registers(64).keep_kernel("k").link(&library, Target::Cubin)?;
        assert!(debug.code.bytes().starts_with(b"\x7fELF"));
    }
    Ok(())
}

/// LNK-5: nvJitLink knows them all.
#[test]
#[ignore = "needs libnvrtc and libnvJitLink"]
fn it_takes_every_option_that_has_a_function() -> Result<()> {
    let (nvrtc, library) = (Nvrtc::load()?, NvJitLink::load()?);
    let source =
        "__device__ int unused[1024]; extern \"C\" __global__ void k(float *p) { *p = *p / 3.0f * p[1] + p[2]; }";
    let lto = compiled(&nvrtc, source, options(), Target::LtoIr)?;
    let linked = |linker: Linker| linker.input(lto.clone()).link(&library, Target::Ptx);
    let ptx = |linker: Linker| linked(linker).map(|linked| linked.code.text().unwrap_or_default().to_owned());
    let exact = ptx(linker())?;
    assert!(exact.contains("div.rn.f32") && exact.contains("fma.rn.f32") && exact.contains("unused"), "{exact}");
    let fast = ptx(linker().flush_to_zero(true).precise_division(false).precise_square_root(false).contract(false))?;
    assert!(!fast.contains("div.rn") && !fast.contains("fma.rn") && fast.contains(".ftz"), "{fast}");
    assert!(!ptx(linker().remove_unused_variables())?.contains("unused"));
    for more in [
        linker().optimize(false),
        linker().optimize(true),
        linker().debug().line_info(),
        linker().assembler("-O1").assembler("--verbose").verbose(),
        linker().split_compile(2).split_compile_extended(2).no_linker_cache(),
        linker().keep_kernel("k").keep_variable("unused").max_registers(32),
    ] {
        more.input(lto.clone()).link(&library, Target::Cubin)?;
    }
    let timed = linker().time_in_log().verbose().input(lto).link(&library, Target::Cubin)?;
    assert!(!timed.log.is_empty());
    Ok(())
}

#[test]
#[ignore = "needs libnvrtc and libnvJitLink"]
fn missing_symbols_and_wrong_options_are_in_the_log() -> Result<()> {
    let (nvrtc, library) = (Nvrtc::load()?, NvJitLink::load()?);
    let kernel = compiled(&nvrtc, KERNEL, options().relocatable(), Target::Ptx)?;
    let error = refusal(linker().input(kernel.clone()).link(&library, Target::Cubin));
    // 12.3 fails without saying what is missing; 12.9 says it.
    assert!(library.version() < (12, 9) || error.to_string().contains("Undefined reference to '_Z1fi'"), "{error}");
    let error = refusal(linker().input(kernel).raw("--no-such-option").link(&library, Target::Cubin));
    assert_eq!(error.code(), Some(LinkCode::UNRECOGNIZED_OPTION));
    assert!(error.to_string().contains("unrecognized option: --no-such-option"), "{error}");
    // What has no header of a binary is refused, and nothing in it is followed.
    let garbage = trusted::code(CodeKind::Cubin, "garbage", "garbage");
    assert!(refusal(linker().input(garbage).link(&library, Target::Cubin)).code().is_some());
    Ok(())
}
