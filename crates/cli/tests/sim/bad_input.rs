//! Programs and files that cannot be used, refused before anything runs.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};

use crate::{Ended, program, run, scratch, sim};

/// Exit code and message for a program that does not run.
#[track_caller]
fn refused(program: &str) -> (Option<i32>, String) {
    let ended = Ended::of(sim(&["--", program]).output().expect("the command starts"));
    assert!(ended.stdout.is_empty() && ended.stderr.contains("\nwarploom: hint: "), "{program}: {}", ended.stderr);
    (ended.code, ended.stderr)
}

/// An executable file.
#[track_caller]
fn executable(name: &str, bytes: &[u8]) -> PathBuf {
    let path = scratch(name);
    fs::write(&path, bytes).expect("the folder is there");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it is ours");
    path
}

fn text(path: &Path) -> &str {
    path.to_str().expect("plain")
}

#[track_caller]
fn assert_refused(program: &str, code: i32, part: &str) {
    let (found, said) = refused(program);
    assert!(found == Some(code) && said.contains(part), "{program}: {found:?}: {said}");
}

/// The bytes of a real program, for changes.
fn bytes() -> Vec<u8> {
    fs::read(program()).expect("it was built")
}

/// The file with every segment of a type made one that means nothing.
fn without_segment(mut file: Vec<u8>, kind: u32) -> Vec<u8> {
    let at = |file: &[u8], at: usize, size: usize| {
        file[at..at + size].iter().rev().fold(0_usize, |value, byte| value << 8 | usize::from(*byte))
    };
    let (offset, size, number) = (at(&file, 0x20, 8), at(&file, 0x36, 2), at(&file, 0x38, 2));
    for segment in (0..number).map(|index| offset + index * size) {
        if file[segment..segment + 4] == kind.to_le_bytes() {
            file[segment..segment + 4].fill(0);
        }
    }
    file
}

const PT_INTERP: u32 = 3;

#[test]
fn a_program_that_is_not_there_is_named() {
    assert_refused("warploom-no-such-program", 127, "there is no program \"warploom-no-such-program\" in PATH");
    assert_refused("./absent/program", 127, "./absent/program: No such file");
    let file = executable("here", b"#!/bin/sh\n");
    let mut command = sim(&["--", file.file_name().and_then(|name| name.to_str()).expect("plain")]);
    let ended = Ended::of(command.current_dir(file.parent().expect("it has one")).output().expect("it starts"));
    assert!(ended.code == Some(127) && ended.stderr.contains("hint: write ./"), "{}", ended.stderr);
}

#[test]
fn a_folder_and_a_file_that_is_not_executable_are_named() {
    assert_refused("/tmp", 126, "it is a folder");
    let file = executable("plain", b"#!/bin/sh\n");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).expect("it is ours");
    assert_refused(text(&file), 126, "it is not executable");
}

#[test]
fn binaries_that_the_loader_cannot_serve_are_named() {
    let made_static = executable("static", &without_segment(bytes(), PT_INTERP));
    assert_refused(text(&made_static), 126, "it is linked statically");
    let mut narrow = bytes();
    narrow[4] = 1;
    assert_refused(text(&executable("narrow", &narrow)), 126, "it is a 32-bit program");
    let mut foreign = bytes();
    foreign[18..20].copy_from_slice(&[243, 0]);
    assert_refused(text(&executable("foreign", &foreign)), 126, "for another processor (ELF machine 243)");
    let mut object = bytes();
    object[16..18].copy_from_slice(&[1, 0]);
    assert_refused(text(&executable("object", &object)), 126, "no program");
    assert_refused(text(&executable("text", b"echo\n")), 126, "neither an ELF program nor a script");
    assert_refused(text(&executable("empty", b"")), 126, "neither an ELF program nor a script");
}

#[test]
fn a_script_runs_and_its_interpreter_is_checked() {
    let script = executable("script", format!("#!/usr/bin/env sh\nexec '{}' exit 5\n", program()).as_bytes());
    assert_eq!(Ended::of(sim(&["--", text(&script)]).output().expect("it starts")).code, Some(5));
    let made_static = executable("interpreter", &without_segment(bytes(), PT_INTERP));
    let script = executable("script-of-static", format!("#!{}\n", made_static.display()).as_bytes());
    assert_refused(text(&script), 126, "the interpreter of a script: ");
    assert_refused(text(&executable("no-interpreter", b"#!\n")), 126, "names no interpreter");
    assert_refused(text(&executable("absent-interpreter", b"#!/absent/sh\n")), 126, "/absent/sh is not there");
    let own = scratch("endless");
    executable("endless", format!("#!{}\n", own.display()).as_bytes());
    assert_refused(text(&own), 126, "more than 5 deep");
}

#[test]
fn a_program_that_changes_its_user_is_named() {
    let file = executable("setuid", &bytes());
    // Only root can give a file away; another user has root's programs to try.
    let path = match chown(&file, Some(12345), None) {
        Ok(()) => {
            fs::set_permissions(&file, fs::Permissions::from_mode(0o4755)).expect("root may");
            file
        }
        Err(_) => PathBuf::from("/usr/bin/passwd"),
    };
    assert_refused(text(&path), 126, "the loader ignores LD_LIBRARY_PATH");
}

#[test]
fn files_that_cannot_be_written_are_named_before_the_program_runs() {
    for option in ["--report", "--timeline", "--html"] {
        for path in ["/absent/file.json", "/tmp", "/dev/full"] {
            let ended = run(&[option, path], &["devices"]);
            assert_eq!((ended.code, ended.stdout.as_str()), (Some(125), ""), "{option} {path}: {}", ended.stderr);
            assert!(ended.stderr.starts_with(&format!("warploom: {path}: the file cannot be written: ")));
        }
    }
}

#[test]
fn a_file_keeps_its_contents_if_nothing_runs() {
    let file = scratch("kept.json");
    fs::write(&file, "kept").expect("the folder is there");
    let ended = run(&["--report", text(&file), "--timeline", "/absent/file"], &["devices"]);
    assert_eq!((ended.code, fs::read_to_string(&file).expect("it is there")), (Some(125), "kept".to_owned()));
    let new = scratch("new.html");
    assert_eq!((run(&["--html", text(&new)], &["nothing"]).code, new.exists()), (Some(0), false), "no call, no page");
}

#[test]
fn machines_and_plans_that_cannot_be_read_are_named() {
    let ended = run(&["--machine", "dgx-h1000"], &["devices"]);
    assert!(ended.code == Some(125) && ended.stderr.contains("did you mean \"dgx-h100\""), "{}", ended.stderr);
    let ended = run(&["--faults", "/absent/plan.toml"], &["devices"]);
    assert!(ended.code == Some(125) && ended.stderr.contains("/absent/plan.toml"), "{}", ended.stderr);
}

#[test]
fn a_wrong_command_line_is_refused_with_code_2() {
    for arguments in [&[][..], &["--check=loud", "--", "true"], &["--seed", "x", "--", "true"], &["--chek", "true"]] {
        let ended = Ended::of(sim(arguments).output().expect("the command starts"));
        assert_eq!(ended.code, Some(2), "{arguments:?}: {}", ended.stderr);
    }
}

#[test]
fn a_cache_folder_that_others_can_write_is_not_used() {
    let home = scratch("home");
    fs::create_dir_all(home.join("cache/warploom")).expect("the folder is there");
    fs::set_permissions(home.join("cache/warploom"), fs::Permissions::from_mode(0o777)).expect("it is ours");
    let mut command = sim(&["--explain"]);
    command.env("XDG_CACHE_HOME", home.join("cache")).env("HOME", &home);
    let ended = Ended::of(command.output().expect("it starts"));
    assert!(ended.stdout.contains(text(&home.join(".cache/warploom/libraries-"))), "{}", ended.stdout);
}
