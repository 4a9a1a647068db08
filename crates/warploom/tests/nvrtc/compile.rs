//! Compilations: results, and the calls of NVRTC.

use warploom::Result;
use warploom::program::{
    Architecture, Cached, CodeKind, CompileOptions, CxxStandard, Nvrtc, NvrtcVersion, Program, Target,
};

use crate::{fake, options, program};

#[test]
fn the_library_reports_its_version_and_architectures() -> Result<()> {
    let nvrtc: Nvrtc = fake::open_version(12, 6)?;
    assert_eq!(nvrtc.version(), NvrtcVersion { major: 12, minor: 6 });
    assert_eq!(nvrtc.architectures(), [80, 90]);
    assert_eq!(fake::calls(), ["nvrtcVersion", "nvrtcGetNumSupportedArchs", "nvrtcGetSupportedArchs"]);
    assert_eq!(format!("{nvrtc:?}"), "Nvrtc { version: 12.6, .. }");
    Ok(())
}

#[test]
fn each_target_is_asked_for_and_given() -> Result<()> {
    let nvrtc = fake::open();
    let words = "--gpu-architecture=sm_90 --no-source-include";
    for (target, kind, start) in [
        (Target::Ptx, CodeKind::Ptx, "PTX"),
        (Target::Cubin, CodeKind::Cubin, "\0cubin"),
        (Target::LtoIr, CodeKind::LtoIr, "LTO-IR"),
    ] {
        let compiled = program("int a;").compile(&nvrtc, target)?;
        let lto = if target == Target::LtoIr { " -dlto" } else { "" };
        assert_eq!((compiled.code.kind(), compiled.code.name()), (kind, "test.cu"));
        assert_eq!(compiled.code.bytes(), format!("{start} of int a; with {words}{lto}").as_bytes());
        assert_eq!(compiled.code.text().is_some(), target == Target::Ptx);
        assert_eq!((compiled.log.as_str(), &compiled.cached), ("", &Cached::No));
    }
    assert_eq!(fake::alive(), 0);
    Ok(())
}

#[test]
fn names_are_asked_for_before_and_read_after() -> Result<()> {
    let nvrtc = fake::open();
    let named = program("").name_expression("n::s<int>").name_expression("&g").name_expression("&g");
    let code = named.compile(&nvrtc, Target::Cubin)?.code;
    assert_eq!(code.lowered_names().collect::<Vec<_>>(), [("&g", "_Z&g"), ("n::s<int>", "_Zn::s<int>")]);
    assert_eq!((code.lowered_name("&g"), code.lowered_name("other")), (Some("_Z&g"), None));
    assert_eq!(
        fake::calls(),
        [
            "nvrtcCreateProgram",
            "nvrtcAddNameExpression",
            "nvrtcAddNameExpression",
            "nvrtcCompileProgram",
            "nvrtcGetProgramLogSize",
            "nvrtcGetProgramLog",
            "nvrtcGetCUBINSize",
            "nvrtcGetCUBIN",
            "nvrtcGetLoweredName",
            "nvrtcGetLoweredName",
            "nvrtcDestroyProgram",
        ]
    );
    Ok(())
}

#[test]
fn source_name_headers_and_options_arrive() -> Result<()> {
    let nvrtc = fake::open();
    // Programs that fail to be destroyed stay in the list.
    fake::change(|state| state.failing = Some(("nvrtcDestroyProgram", 4)));
    let options = CompileOptions::new(Architecture::compute(80)).standard(CxxStandard::Cxx17).define("N", "(1 + 2)");
    let given = Program::new("dir/a.cu", "#include \"b.h\"", options).header("b.h", "int b;").header("a.h", "old");
    given.header("a.h", "int a;").compile(&nvrtc, Target::Ptx)?;
    fake::change(|state| {
        let made = state.alive.values().next().expect("it was not destroyed");
        assert_eq!((made.name.as_str(), made.source.as_str()), ("dir/a.cu", "#include \"b.h\""));
        let headers = [("a.h", "int a;"), ("b.h", "int b;")].map(|(name, text)| (name.to_owned(), text.to_owned()));
        assert_eq!(made.headers, headers);
        let words = ["--gpu-architecture=compute_80", "--no-source-include", "--std=c++17", "--define-macro=N=(1 + 2)"];
        assert_eq!(made.options, words);
    });
    Ok(())
}

/// PRG-10.
#[test]
fn a_source_is_in_a_file_for_debuggers_until_it_is_dropped() -> Result<()> {
    let nvrtc = fake::open();
    fake::change(|state| state.failing = Some(("nvrtcDestroyProgram", 4)));
    let (given, file) = Program::new("dir/k.cu", "int a;", options().debug()).header("b.h", "").with_source_file()?;
    let path = file.path().to_owned();
    assert_eq!(std::fs::read_to_string(&path).expect("it is there"), "int a;");
    assert!(path.is_absolute() && path.to_string_lossy().ends_with("-k.cu"));
    assert_eq!(given.compile(&nvrtc, Target::Ptx)?.code.name(), given.name());
    fake::change(|state| {
        let made = state.alive.values().next().expect("it was not destroyed");
        assert_eq!((made.name.as_str(), made.headers.len()), (path.to_str().expect("tests are UTF-8"), 1));
    });
    // Two of the same are two files.
    let (_, other) = program("int b;").with_source_file()?;
    assert_ne!(other.path(), path);
    let kept = other.keep();
    drop(file);
    assert!(!path.exists() && kept.exists());
    std::fs::remove_file(kept).expect("it is there");
    Ok(())
}

#[test]
fn warnings_come_with_the_code() -> Result<()> {
    let compiled = program("#warning").compile(&fake::open(), Target::Ptx)?;
    assert_eq!(compiled.log, "test.cu(1): warning: it says so\n");
    assert!(!compiled.code.bytes().is_empty());
    Ok(())
}

#[test]
fn the_debug_form_of_a_program_hides_its_source() {
    let text = format!("{:?}", Program::new("a.cu", "secret", options()).header("h.h", "secret").name_expression("k"));
    assert!(
        text.contains("a.cu") && text.contains("6 bytes") && text.contains("h.h") && !text.contains("secret"),
        "{text}"
    );
}
