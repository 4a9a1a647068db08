//! The C program of `docs/testing-without-a-gpu.md`, compiled and run on the library.
#![cfg(target_os = "linux")]

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use warploom_cuda::CHECK_VARIABLE;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const GUIDE: &str = include_str!("../../../../docs/testing-without-a-gpu.md");

/// The first code block of the guide with this info string.
fn block(info: &str) -> Outcome<&'static str> {
    let (_, rest) = GUIDE.split_once(&format!("```{info}\n")).ok_or("the guide has no such block")?;
    Ok(rest.split("\n```").next().unwrap_or_default())
}

/// A new folder with the library under the driver's names.
fn installed() -> Outcome<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("guide-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let library = std::env::current_exe()?.with_file_name("libwarploom_cuda.so");
    for name in ["libcuda.so", "libcuda.so.1"] {
        fs::copy(&library, folder.join(name))?;
    }
    Ok(folder)
}

/// Words without line breaks and the command's name before each line, and numbers in base 16 without their digits.
fn words(text: &str) -> String {
    let plain = |word: &str| if word.starts_with("0x") { "0x…".to_owned() } else { word.to_owned() };
    text.split_whitespace().filter(|word| *word != "warploom:").map(plain).collect::<Vec<_>>().join(" ")
}

#[test]
fn the_program_of_the_guide_gets_the_finding_of_the_guide() -> Outcome {
    let folder = installed()?;
    fs::write(folder.join("race.c"), block("c")?)?;
    let headers = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guide");
    let built = Command::new("cc")
        .current_dir(&folder)
        .args(["race.c", "-o", "race", "-lcuda", "-L.", "-I"])
        .arg(headers)
        .output()?;
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));

    let run =
        Command::new(folder.join("race")).env("LD_LIBRARY_PATH", &folder).env(CHECK_VARIABLE, "report").output()?;
    let (printed, told) = (String::from_utf8(run.stdout)?, String::from_utf8(run.stderr)?);
    assert!(run.status.success() && matches!(&*printed, "0\n" | "7\n"), "{printed}{told}");
    let (_, finding) = block("text")?.split_once("race: ").ok_or("the guide has no finding")?;
    let finding = finding.split("\n\n").next().unwrap_or_default();
    assert!(words(&told).contains(&words(finding)), "the program gets:\n{told}\nthe guide has:\n{finding}");
    fs::remove_dir_all(folder)?;
    Ok(())
}
