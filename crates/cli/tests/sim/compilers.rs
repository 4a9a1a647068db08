//! NVRTC and nvJitLink get the option that keeps PTX in cubins.

use std::path::Path;

use crate::{Ended, build, folder, run, sim};

#[test]
fn compilers_that_are_found_by_dlsym_keep_the_ptx() {
    let library = build("compiler.c", "libcompiler.so", &["-shared", "-fPIC"]);
    let library = library.to_str().expect("plain");
    for function in ["nvrtcCompileProgram", "nvJitLinkCreate", "__nvJitLinkCreate_13_0"] {
        let ended = run(&[], &["compile", library, function, "-arch=sm_90", "-std=c++17"]);
        assert_eq!(
            (ended.code, ended.stdout.as_str()),
            (Some(3), "-arch=sm_90\n-std=c++17\n-lineinfo\n"),
            "{function}"
        );
        let ended = run(&[], &["compile", library, function, "-lineinfo", "-arch=sm_90"]);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), "-lineinfo\n-arch=sm_90\n"), "{function}");
    }
    let ended = run(&[], &["compile", library, "nvrtcCompileProgram", "-arch=compute_90"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), "-arch=compute_90\n"), "PTX needs nothing");
    let ended = run(&[], &["compile", library, "nvrtcCompileProgram"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), ""));
}

#[test]
fn other_look_ups_have_the_scope_of_their_caller() {
    let library = build("compiler.c", "liblook.so", &["-shared", "-fPIC"]);
    assert_eq!(run(&[], &["look", library.to_str().expect("plain")]).code, Some(0));
}

#[test]
fn programs_that_are_linked_to_nvrtc_keep_the_ptx() {
    let library = build("compiler.c", "libnvrtc.so.13", &["-shared", "-fPIC"]);
    let path = format!("-Wl,-rpath,{}", folder().display());
    let linked = build("linked.c", "linked", &[library.to_str().expect("plain"), &path]);
    let ended = Ended::of(sim(&["--"]).arg(&linked).arg("-arch=sm_90").output().expect("it starts"));
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), "-arch=sm_90\n-lineinfo\n"), "{}", ended.stderr);
    assert!(Path::new(&linked).is_file());
}
