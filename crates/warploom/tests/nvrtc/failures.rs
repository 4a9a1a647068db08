//! Errors of NVRTC, and checks before it is called.

use std::sync::{Arc, Mutex};

use warploom::diagnostics::{self, Subject};
use warploom::program::{Architecture, CompileOptions, NvrtcCode, NvrtcError, NvrtcVersion, Program, Target};

use crate::{fake, options, program, refusal};

#[test]
fn an_nvrtc_that_is_too_old_is_not_taken() {
    let have = NvrtcVersion { major: 11, minor: 8 };
    let error = refusal(fake::open_version(11, 8));
    assert_eq!(error, NvrtcError::TooOld { have });
    assert_eq!(error.to_string(), "NVRTC 11.8 is too old; install 12.0 or newer");
    assert!(fake::open_version(12, 0).is_ok());
}

#[test]
fn a_wrong_program_is_an_error_with_the_log() {
    let nvrtc = fake::open();
    let error = refusal(program("#error").compile(&nvrtc, Target::Ptx));
    assert_eq!(error.log(), Some("test.cu(1): error: it says so\n"));
    assert_eq!(error.code(), Some(NvrtcCode::COMPILATION));
    assert_eq!(error.to_string(), "test.cu does not compile:\ntest.cu(1): error: it says so");
    assert_eq!(fake::alive(), 0);
}

#[test]
fn a_refused_option_is_an_error_with_the_log_and_all_options() {
    let nvrtc = fake::open();
    let given = Program::new("a.cu", "", options().raw("--refused"));
    let error = refusal(given.compile(&nvrtc, Target::Ptx));
    assert_eq!(
        error.to_string(),
        "NVRTC 13.4 refused an option for a.cu: nvrtc: error: --refused is; the options were --gpu-architecture=sm_90 \
         --no-source-include --refused"
    );
    assert_eq!((error.code(), fake::alive()), (Some(NvrtcCode::INVALID_OPTION), 0));
}

#[test]
fn whichever_call_fails_is_named_and_leaves_no_program_behind() {
    for target in [Target::Ptx, Target::Cubin, Target::LtoIr] {
        let nvrtc = fake::open();
        let given = program("").name_expression("k<int>").header("h.h", "");
        given.compile(&nvrtc, target).expect("nothing fails yet");
        let calls = fake::calls();
        assert_eq!(calls.last(), Some(&"nvrtcDestroyProgram"));
        for function in &calls[..calls.len() - 1] {
            fake::change(|state| state.failing = Some((*function, 11)));
            let error = refusal(given.compile(&nvrtc, target));
            let NvrtcError::Call { function: named, code, .. } = &error else { panic!("{error:?}") };
            assert_eq!((*named, *code), (*function, NvrtcCode::INTERNAL_ERROR));
            assert!(
                error.to_string().starts_with(&format!("{function} failed: NVRTC_ERROR_INTERNAL_ERROR (11)")),
                "{error}"
            );
            assert_eq!(fake::alive(), 0, "{function}");
        }
    }
}

#[test]
fn a_library_whose_first_calls_fail_is_not_taken() {
    for function in ["nvrtcVersion", "nvrtcGetNumSupportedArchs", "nvrtcGetSupportedArchs"] {
        fake::open();
        fake::change(|state| state.failing = Some((function, 11)));
        // SAFETY: the functions belong to this thread, as before.
        #[expect(unsafe_code, reason = "a table of functions")]
        let error = refusal(unsafe { warploom::program::Nvrtc::from_table(fake::TABLE) });
        assert!(matches!(error, NvrtcError::Call { function: named, .. } if named == function), "{error:?}");
    }
}

#[test]
fn a_program_that_cannot_be_destroyed_is_reported_and_its_code_given() -> warploom::Result<()> {
    let nvrtc = fake::open();
    let reports = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&reports);
    diagnostics::set_hook(move |report| {
        if report.subject == Subject::Program {
            seen.lock().unwrap().push(report.to_string());
        }
    });
    fake::change(|state| state.failing = Some(("nvrtcDestroyProgram", 11)));
    let compiled = program("").compile(&nvrtc, Target::Ptx);
    diagnostics::reset_hook();
    assert!(!compiled?.code.bytes().is_empty());
    let expected =
        "while dropping a program of a compiler's: nvrtcDestroyProgram failed: NVRTC_ERROR_INTERNAL_ERROR (11)";
    assert!(reports.lock().unwrap().iter().any(|report| report == expected), "{reports:?}");
    Ok(())
}

#[test]
fn nothing_instead_of_code_is_an_error() {
    let nvrtc = fake::open();
    fake::change(|state| state.empty = true);
    for target in [Target::Ptx, Target::Cubin, Target::LtoIr] {
        let error = refusal(program("").compile(&nvrtc, target));
        assert_eq!(error, NvrtcError::NoOutput { program: "test.cu".to_owned(), target });
        assert_eq!(fake::alive(), 0);
    }
}

#[test]
fn invalid_options_are_refused_before_nvrtc_is_called() {
    let nvrtc = fake::open();
    let zero = |what: &str, position| NvrtcError::Zero { what: what.to_owned(), position };
    let unsupported = NvrtcError::UnsupportedArchitecture {
        architecture: Architecture::sm(50),
        version: NvrtcVersion { major: 13, minor: 4 },
        supported: vec![80, 90],
    };
    assert_eq!(unsupported.to_string(), "NVRTC 13.4 does not compile for sm_50; it does for 80, 90");
    let architecture = Architecture::compute(90);
    let wrong = [
        (program("ab\0"), zero("the source", 2)),
        (Program::new("\0", "", options()), zero("the program's name", 0)),
        (program("").header("a\0", ""), zero("a header's name", 1)),
        (program("").header("a.h", "\0"), zero("the header \"a.h\"", 0)),
        (program("").name_expression("k\0"), zero("a name expression", 1)),
        (Program::new("", "", options().raw("\0")), zero("an option", 0)),
        (Program::new("", "", options().define("1", 1)), NvrtcError::MacroName { name: "1".to_owned() }),
        (Program::new("", "", options().max_registers(256)), NvrtcError::Registers { registers: 256 }),
        (Program::new("", "", CompileOptions::new(Architecture::sm(50))), unsupported),
        (Program::new("", "", CompileOptions::new(architecture)), NvrtcError::VirtualArchitecture { architecture }),
    ];
    for (program, expected) in wrong {
        assert_eq!(refusal(program.compile(&nvrtc, Target::Cubin)), expected);
    }
    assert_eq!(fake::calls(), Vec::<&str>::new());
}
