//! Shared libraries that are drivers, and files that are not.
#![expect(unsafe_code, reason = "loads libraries made for these tests")]

use std::error::Error as StdError;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use warploom_driver::{Driver, DriverVersion, Error, Function, LIBRARY_VARIABLE, NotADriver};

type Outcome = Result<(), Box<dyn StdError>>;

/// A path under cargo's folder for this test's files.
fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// `fixtures/driver.rs` as a shared library.
fn library(name: &str, options: &[&str]) -> Result<PathBuf, Box<dyn StdError>> {
    let path = scratch(name);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/driver.rs");
    let rustc = Path::new(env!("CARGO")).with_file_name("rustc");
    let status = Command::new(rustc)
        .args(["--edition=2024", "--crate-type=cdylib", "--crate-name=driver", "-o"])
        .arg(&path)
        .args(options)
        .arg(source)
        .status()?;
    assert!(status.success(), "{status}");
    Ok(path)
}

fn load_from(path: &Path) -> Result<Driver, Error> {
    // SAFETY: these tests load the fixture, which is a driver, the C library's mathematics, or nothing at
    // all.
    unsafe { Driver::load_from(path) }
}

fn stranger(result: Result<Driver, Error>) -> NotADriver {
    match result {
        Err(Error::NotADriver(stranger)) => *stranger,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_library_with_the_resolver_is_a_driver() -> Outcome {
    let path = library("libfake12.so", &[])?;
    let driver = load_from(&path)?;
    assert!(driver.is_library());
    assert_eq!(driver.version(), DriverVersion::new(12, 2));
    assert_eq!(Path::new(driver.description()), path);
    assert!(driver.supports(Function::cuInit) && !driver.supports(Function::cuMemAlloc_v2));
    Ok(())
}

#[test]
fn a_library_with_only_the_resolver_of_11_is_a_driver() -> Outcome {
    let driver = load_from(&library("libfake11.so", &["--cfg=old"])?)?;
    assert_eq!(driver.version(), DriverVersion::new(11, 4));
    assert!(driver.supports(Function::cuInit));
    Ok(())
}

#[test]
fn a_driver_stays_loaded_when_its_last_handle_goes() -> Outcome {
    let driver = load_from(&library("libfake-kept.so", &[])?)?;
    let init = driver.table().cuInit.ok_or("the fixture has cuInit")?;
    drop(driver);
    // SAFETY: the library is not unloaded, and `cuInit` asks nothing of its caller.
    assert_eq!(unsafe { init(0) }.0, 100);
    Ok(())
}

#[test]
fn a_text_file_is_not_a_driver() -> Outcome {
    let path = scratch("libtext.so");
    fs::write(&path, "not a library")?;
    let stranger = stranger(load_from(&path));
    assert_eq!((&stranger.path, stranger.missing), (&path, Function::cuGetProcAddress_v2));
    assert!(stranger.why.is_some_and(|why| !why.is_empty() && !why.contains("libtext")));
    Ok(())
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn a_library_without_the_resolver_is_not_a_driver() {
    let stranger = stranger(load_from(Path::new("libm.so.6")));
    assert_eq!(stranger.to_string(), "libm.so.6 is not a CUDA driver: it has no cuGetProcAddress_v2");
}

#[test]
fn a_file_that_is_not_there_is_a_driver_not_found() -> Outcome {
    let path = scratch("libabsent.so");
    for _ in 0..2 {
        match load_from(&path) {
            Err(Error::DriverNotFound(absent)) => assert_eq!(absent.tried[0].path, path),
            other => panic!("{other:?}"),
        }
    }
    // The failure was not remembered.
    fs::copy(library("libfake-late.so", &[])?, &path)?;
    let driver = load_from(&path);
    fs::remove_file(&path)?;
    assert_eq!(driver?.version(), DriverVersion::new(12, 2));
    Ok(())
}

#[test]
fn a_bare_name_is_not_a_file_in_the_current_folder() -> Outcome {
    // Tests run in the folder of the package.
    assert!(Path::new("Cargo.toml").is_file());
    assert!(matches!(load_from(Path::new("Cargo.toml")), Err(Error::DriverNotFound(_))));
    assert_eq!(stranger(load_from(Path::new("./Cargo.toml"))).path, Path::new("./Cargo.toml"));
    Ok(())
}

#[test]
fn the_environment_names_the_library() -> Outcome {
    const TEST: &str = "libraries::the_environment_names_the_library";
    let name = scratch("libfake-named.so");
    if std::env::var_os(LIBRARY_VARIABLE).is_some_and(|named| Path::new(&named) == name) {
        assert_eq!(Path::new(Driver::load()?.description()), name);
        return Ok(());
    }
    // Setting a variable in a process with threads is unsound, so this test runs itself in another one.
    library("libfake-named.so", &[])?;
    let child = Command::new(std::env::current_exe()?).args(["--exact", TEST]).env(LIBRARY_VARIABLE, &name).output()?;
    let output = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success() && output.contains("1 passed"), "{output}");
    Ok(())
}
