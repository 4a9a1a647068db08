//! Tests with the real NVRTC. `cargo xtask nvrtc` fetches it and runs these.

use warploom::Result;
use warploom::program::{
    Architecture, Cached, CompileOptions, CxxStandard, FastCompile, MemoryCache, Nvrtc, NvrtcError, NvrtcVersion,
    PrecompiledHeader, Program, Severity, Target,
};

use crate::trusted::Precompiled as _;
use crate::{options, program, refusal};

const SCALE: &str = "template<typename T> __global__ void scale(T *data, T by) { data[threadIdx.x] *= by; }\n\
                     namespace names { __device__ int table[4]; }";

#[test]
#[ignore = "needs libnvrtc"]
fn it_compiles_to_ptx_cubin_and_lto_ir() -> Result<()> {
    let nvrtc = Nvrtc::load()?;
    assert!(nvrtc.version() >= NvrtcVersion::OLDEST && nvrtc.architectures().contains(&90), "{nvrtc:?}");
    let given = program(SCALE).name_expression("scale<float>").name_expression("&names::table");
    for target in [Target::Ptx, Target::Cubin, Target::LtoIr] {
        let compiled = given.compile(&nvrtc, target)?;
        assert_eq!(compiled.log, "");
        assert_eq!(compiled.code.lowered_name("scale<float>"), Some("_Z5scaleIfEvPT_S0_"));
        assert_eq!(compiled.code.lowered_name("&names::table"), Some("_ZN5names5tableE"));
        match target {
            Target::Ptx => {
                let text = compiled.code.text().expect("PTX is a text");
                assert!(text.contains(".target sm_90") && text.contains("_Z5scaleIfEvPT_S0_") && !text.contains('\0'));
            }
            Target::Cubin => assert!(compiled.code.bytes().starts_with(b"\x7fELF")),
            _ => assert!(compiled.code.bytes().len() > 100),
        }
    }
    Ok(())
}

#[test]
#[ignore = "needs libnvrtc"]
fn headers_and_macros_are_seen_and_files_of_the_current_folder_are_not() -> Result<()> {
    let nvrtc = Nvrtc::load()?;
    let source = "#include \"dir/value.h\"\nextern \"C\" __global__ void k(int *out) { *out = VALUE + N + FLAG; }";
    let given = Program::new("k.cu", source, options().define("N", "(4 + 5)").define_flag("FLAG"));
    let given = given.header("dir/value.h", "#include \"deeper.h\"\n").header("deeper.h", "#define VALUE 32\n");
    let code = given.compile(&nvrtc, Target::Ptx)?.code;
    assert!(code.text().is_some_and(|ptx| ptx.contains("42")), "{:?}", code.text());
    // Cargo runs tests in the package's folder.
    assert!(std::path::Path::new("Cargo.toml").exists());
    let error = refusal(program("#include \"Cargo.toml\"").compile(&nvrtc, Target::Ptx));
    assert!(error.log().is_some_and(|log| log.contains("could not open source file \"Cargo.toml\"")), "{error}");
    Ok(())
}

#[test]
#[ignore = "needs libnvrtc"]
fn errors_and_warnings_have_the_compilers_words() -> Result<()> {
    let nvrtc = Nvrtc::load()?;
    let error = refusal(program("__global__ void k() { int x = y; }").compile(&nvrtc, Target::Ptx));
    assert!(
        matches!(&error, NvrtcError::Compilation { log, .. } if log.contains("identifier \"y\" is undefined")),
        "{error}"
    );
    let unused = "__global__ void k() { int x; }";
    let compiled = program(unused).compile(&nvrtc, Target::Ptx)?;
    assert!(compiled.log.contains("warning #177-D"), "{}", compiled.log);
    let quiet = |options: CompileOptions| Program::new("k.cu", unused, options).compile(&nvrtc, Target::Ptx);
    assert_eq!(quiet(options().no_warnings())?.log, "");
    assert_eq!(quiet(options().diagnostic(177, Severity::Suppress))?.log, "");
    assert!(matches!(refusal(quiet(options().diagnostic(177, Severity::Error))), NvrtcError::Compilation { .. }));
    let error = refusal(quiet(options().raw("--no-such-option")));
    assert!(matches!(&error, NvrtcError::OptionRefused { log, .. } if log.contains("--no-such-option")), "{error}");
    let error = refusal(program("").name_expression("nobody<int>").compile(&nvrtc, Target::Ptx));
    assert!(error.log().is_some_and(|log| log.contains("\"nobody\" is undefined")), "{error}");
    Ok(())
}

#[test]
#[ignore = "needs libnvrtc"]
fn it_takes_every_option_that_has_a_function() -> Result<()> {
    let nvrtc = Nvrtc::load()?;
    let all = [
        options().standard(CxxStandard::Cxx11),
        options().standard(CxxStandard::Cxx20),
        options().include("/").pre_include("given.h"),
        options().define("N", 1).undefine("N"),
        options().line_info(),
        options().debug().optimize_debug(),
        options().fast_math(),
        options().flush_to_zero(true).precise_division(false).precise_square_root(false).contract(false),
        options().max_registers(32),
        options().relocatable(),
        options().optimized_lto(),
        options().device_by_default().restrict().int128().vectorize_more(),
        options().extensible().brief_diagnostics().inlining_info().assembler("-O1"),
        options().builtin_move_forward(false).builtin_initializer_list(false).no_message_numbers().time_in_log(),
        options().no_compiler_cache(),
        CompileOptions::new(Architecture::sm(90).specific()),
    ];
    for options in all {
        for target in [Target::Ptx, Target::Cubin, Target::LtoIr] {
            let given =
                Program::new("k.cu", "__global__ void k(int *p) { *p = 1; }", options.clone()).header("given.h", "");
            let compiled =
                given.compile(&nvrtc, target).unwrap_or_else(|error| panic!("{options:?} to {target}: {error}"));
            assert!(!compiled.log.contains("error"), "{}", compiled.log);
        }
    }
    if nvrtc.version() >= (NvrtcVersion { major: 13, minor: 0 }) {
        let quick = options().minimal().random_seed("seed").fast_compile(FastCompile::Most);
        Program::new("k.cu", "__global__ void k() {}", quick).compile(&nvrtc, Target::Cubin)?;
    }
    if nvrtc.version() >= (NvrtcVersion { major: 13, minor: 4 }) {
        let numba = Program::new("k.cu", "__global__ void k() {}", options().debug().numba_debug());
        numba.compile(&nvrtc, Target::Ptx)?;
    }
    let verbose = Program::new("k.cu", "__global__ void k() {}", options().assembler("--verbose"));
    assert!(verbose.compile(&nvrtc, Target::Cubin)?.log.contains("Compiling entry function"));
    let virtually = Program::new("k.cu", "", CompileOptions::new(Architecture::compute(90)));
    virtually.compile(&nvrtc, Target::Ptx)?;
    virtually.compile(&nvrtc, Target::LtoIr)?;
    Program::new("k.cu", "", options().split_compile(2)).compile(&nvrtc, Target::Cubin)?;
    Ok(())
}

#[test]
#[ignore = "needs libnvrtc"]
fn the_parts_of_fast_mathematics_win_over_the_whole() -> Result<()> {
    let nvrtc = Nvrtc::load()?;
    let ptx = |options: CompileOptions| -> Result<String> {
        let source = "extern \"C\" __global__ void k(float *a) { a[0] = a[1] / a[2] + sqrtf(a[3]); }";
        let code = Program::new("k.cu", source, options).compile(&nvrtc, Target::Ptx)?.code;
        Ok(code.text().unwrap_or_default().to_owned())
    };
    let exact = ptx(options())?;
    assert!(exact.contains("div.rn.f32") && exact.contains("sqrt.rn.f32"), "{exact}");
    let fast = ptx(options().fast_math())?;
    assert!(fast.contains("div.approx.ftz.f32") && fast.contains("sqrt.approx.ftz.f32"), "{fast}");
    for mixed in [options().precise_division(true).fast_math(), options().fast_math().precise_division(true)] {
        let mixed = ptx(mixed)?;
        assert!(mixed.contains("div.rn.ftz.f32") && mixed.contains("sqrt.approx.ftz.f32"), "{mixed}");
    }
    Ok(())
}

#[test]
#[ignore = "needs libnvrtc"]
fn threads_compile_at_once_and_the_cache_gives_the_same() -> Result<()> {
    let (nvrtc, cache) = (Nvrtc::load()?, MemoryCache::new(1 << 20));
    let given = program(SCALE).name_expression("scale<double>");
    let codes = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..4).map(|_| scope.spawn(|| given.compile_cached(&nvrtc, Target::Cubin, &cache))).collect();
        threads.into_iter().map(|thread| thread.join().expect("it does not panic")).collect::<Result<Vec<_>>>()
    })?;
    let again = given.compile_cached(&nvrtc, Target::Cubin, &cache)?;
    assert_eq!(again.cached, Cached::Hit);
    assert!(codes.iter().all(|compiled| compiled.code == again.code));
    Ok(())
}

/// A folder of its own, which goes with it.
struct Folder(std::path::PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("warploom-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("there is a folder for it");
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

#[test]
#[ignore = "needs libnvrtc"]
fn times_go_to_files_and_to_the_log() -> Result<()> {
    let (nvrtc, folder) = (Nvrtc::load()?, Folder::new("times"));
    let (table, trace) = (folder.0.join("times.csv"), folder.0.join("trace.json"));
    let given = |options| Program::new("k.cu", "__global__ void k() {}", options).compile(&nvrtc, Target::Ptx);
    given(options().time(&table))?;
    let times = std::fs::read_to_string(&table).expect("it was written");
    assert!(times.contains("NVVM Optimizer"), "{times}");
    assert!(given(options().time_in_log())?.log.contains("NVVM Optimizer"));
    if nvrtc.version() >= (NvrtcVersion { major: 13, minor: 0 }) {
        given(options().time_trace(&trace))?;
        let written = std::fs::read_dir(&folder.0).expect("it is there").flatten();
        assert!(written.into_iter().any(|file| file.file_name().to_string_lossy().starts_with("trace.json")));
    }
    Ok(())
}

#[test]
#[ignore = "needs libnvrtc"]
fn syntax_is_checked_without_code() -> Result<()> {
    let nvrtc = Nvrtc::load()?;
    assert_eq!(program(SCALE).check_syntax(&nvrtc)?, "");
    assert!(program("__global__ void k() { int x; }").check_syntax(&nvrtc)?.contains("never referenced"));
    let error = refusal(program("__global__ void k() { int x = y; }").check_syntax(&nvrtc));
    assert!(error.log().is_some_and(|log| log.contains("identifier \"y\" is undefined")), "{error}");
    Ok(())
}

/// PRG-7: made although there is far too little memory at first, and used then.
#[test]
#[ignore = "needs libnvrtc"]
fn headers_are_precompiled_in_as_much_memory_as_that_takes() -> Result<()> {
    let (nvrtc, folder) = (Nvrtc::load()?, Folder::new("precompiled"));
    if nvrtc.version() < (NvrtcVersion { major: 12, minor: 8 }) {
        assert!(matches!(refusal(nvrtc.precompiled_heap()), NvrtcError::Lacks { .. }));
        return Ok(());
    }
    nvrtc.set_precompiled_heap(4096)?;
    let file = folder.0.join("k.pch");
    let source = "#include \"h.h\"\n#pragma nv_hdrstop\n__global__ void k(int *p) { *p = f(); }";
    let compile = |options| {
        let header = "__device__ inline int f() { return 1; }\n";
        Program::new("k.cu", source, options).header("h.h", header).compile(&nvrtc, Target::Ptx)
    };
    let made = compile(options().create_precompiled_header(&file))?;
    assert_eq!(made.precompiled_header, Some(PrecompiledHeader::Created), "{}", made.log);
    assert!(nvrtc.precompiled_heap()? > 4096 && file.is_file());
    assert!(made.log.contains("creating precompiled header file"), "{}", made.log);
    let used = compile(options().with_precompiled_header(&file))?;
    assert_eq!(used.precompiled_header, Some(PrecompiledHeader::NotAttempted));
    assert!(used.log.contains("using precompiled header file"), "{}", used.log);
    assert_eq!(used.code.bytes(), made.code.bytes());
    let quiet = options().with_precompiled_headers().precompiled_folder(&folder.0).precompiled_messages(false);
    assert_eq!(compile(quiet.precompiled_reasons(false).precompiled_templates(false))?.log, "");
    Ok(())
}

/// PRG-10: the file's path is in the code, and what lies beside it is not included.
#[test]
#[ignore = "needs libnvrtc"]
fn debuggers_are_told_the_file_of_the_source() -> Result<()> {
    let (nvrtc, folder) = (Nvrtc::load()?, Folder::new("beside"));
    for options in [options().line_info(), options().debug()] {
        let (given, file) = Program::new("k.cu", SCALE, options).name_expression("scale<int>").with_source_file()?;
        let code = given.compile(&nvrtc, Target::Ptx)?.code;
        let path = file.path().to_str().expect("tests are UTF-8");
        assert!(code.text().is_some_and(|ptx| ptx.contains(path)), "{:?}", code.text());
    }
    std::fs::write(folder.0.join("beside.h"), "").expect("there is a folder for it");
    let name = folder.0.join("k.cu").to_str().expect("tests are UTF-8").to_owned();
    let error = refusal(Program::new(name, "#include \"beside.h\"", options()).compile(&nvrtc, Target::Ptx));
    assert!(error.log().is_some_and(|log| log.contains("could not open source file \"beside.h\"")), "{error}");
    Ok(())
}

#[test]
#[ignore = "needs libnvrtc"]
fn headers_that_nvrtc_brings_along_are_found() -> Result<()> {
    let (nvrtc, folder) = (Nvrtc::load()?, Folder::new("bundled"));
    let source = "#include <cuda_fp16.h>\n__global__ void k(__half *p) { *p = __float2half(1.0f); }";
    let compile = |options| Program::new("k.cu", source, options).compile(&nvrtc, Target::Ptx);
    let error = refusal(compile(options()));
    assert!(error.log().is_some_and(|log| log.contains("\"cuda_fp16.h\"")), "{error}");
    let compiled = compile(options().bundled_headers(&folder.0));
    if nvrtc.version() < (NvrtcVersion { major: 13, minor: 4 }) && compiled.is_err() {
        assert!(matches!(refusal(compiled), NvrtcError::OptionRefused { .. }));
        return Ok(());
    }
    compiled?;
    assert!(folder.0.join("cuda_fp16.h").is_file());
    Ok(())
}
