//! Single instructions, on the simulator and on hardware, with the same operands.
//!
//! Every instruction that computes is asked in every variant: type, rounding, clamp. What an H200 answered is
//! kept in `answers`, so that `…::sim` proves on any machine that the simulator still gives the same, and
//! `…::cuda` proves that the answers are what hardware says. To ask again, on a machine with a GPU:
//!
//! ```sh
//! WARPLOOM_ANSWERS=crates/sim/tests/instructions/answers cargo test -p warploom-sim --test instructions -- --ignored cuda
//! ```
//!
//! `ptxas` decides which variants are valid PTX: `cargo xtask ptx --check` has it read all of them; this test
//! writes them to the folder in `WARPLOOM_TEXTS`.

mod answers;
mod device;
mod distance;
mod kernel;
mod kind;
mod operands;
mod stream;
mod variant;
mod variants;

use std::fmt::Write;
use std::path::PathBuf;

use warploom_testkit::driver::Driver;
use warploom_testkit::sim::Mode;
use warploom_testkit::{TestResult, on_cuda, on_sim_in};

use crate::answers::Answers;
use crate::operands::operands;
use crate::variant::Variant;

/// Differences that are shown of one variant.
const CASES: usize = 3;
/// Variants of which differences are shown.
const VARIANTS: usize = 20;

/// Compares what a driver gives with what hardware answered.
fn agrees(driver: &Driver, variants: &[Variant], bytes: &[u8]) -> TestResult {
    let answers = Answers::read(bytes, variants)?;
    let results = device::run(driver, variants)?;
    let (mut text, mut wrong) = (String::new(), 0);
    for (variant, ours) in variants.iter().zip(&results) {
        let theirs = answers.of(variant);
        let cases = match &theirs {
            Some(theirs) => differences(variant, ours, theirs),
            None => (0..variant.cases).collect(),
        };
        wrong += usize::from(!cases.is_empty());
        if cases.is_empty() || wrong > VARIANTS {
            continue;
        }
        writeln!(text, "{} ({} of {} cases)", variant.text, cases.len(), variant.cases)?;
        match theirs {
            Some(theirs) => describe(&mut text, variant, &cases[..cases.len().min(CASES)], ours, &theirs)?,
            None => writeln!(text, "  hardware has not been asked")?,
        }
    }
    assert!(wrong == 0, "{wrong} of {} variants differ:\n{text}", variants.len());
    Ok(())
}

/// The cases in which a result is too far from hardware's.
fn differences(variant: &Variant, ours: &[Vec<u64>], theirs: &[Vec<u64>]) -> Vec<usize> {
    let admitted = |case: usize| ours.iter().zip(theirs).all(|(x, y)| variant.bound.admits(x[case], y[case]));
    (0..variant.cases).filter(|case| !admitted(*case)).collect()
}

fn describe(
    text: &mut String,
    variant: &Variant,
    cases: &[usize],
    ours: &[Vec<u64>],
    theirs: &[Vec<u64>],
) -> std::fmt::Result {
    let entered = operands(variant);
    let row = |columns: &[Vec<u64>], case: usize| {
        columns.iter().map(|column| format!("{:x}", column[case])).collect::<Vec<_>>().join(" ")
    };
    for case in cases {
        let (ours, theirs) = (row(ours, *case), row(theirs, *case));
        writeln!(text, "  case {case}: {} gives {ours}, hardware gave {theirs}", row(&entered, *case))?;
    }
    Ok(())
}

/// Asks hardware, and keeps what it answers.
fn ask(driver: &Driver, variants: &[Variant], folder: PathBuf, name: &str) -> TestResult {
    let results = device::run(driver, variants)?;
    Ok(std::fs::write(folder.join(format!("{name}.zst")), answers::written(variants, &results))?)
}

macro_rules! families {
    ($($name:ident)*) => {
        $(
            mod $name {
                use super::*;

                const ANSWERS: &[u8] = include_bytes!(concat!("answers/", stringify!($name), ".zst"));

                #[test]
                fn sim() -> TestResult {
                    on_sim_in(&[Mode::Threads], |driver| agrees(driver, &variants::$name::variants(), ANSWERS))
                }

                #[test]
                #[ignore = "needs an NVIDIA GPU and its driver"]
                fn cuda() -> TestResult {
                    on_cuda(|driver| match std::env::var_os("WARPLOOM_ANSWERS") {
                        Some(folder) => ask(driver, &variants::$name::variants(), folder.into(), stringify!($name)),
                        None => agrees(driver, &variants::$name::variants(), ANSWERS),
                    })
                }
            }
        )*

        #[test]
        #[ignore = "writes to the folder in WARPLOOM_TEXTS, for `cargo xtask ptx --check`"]
        fn texts_are_written_where_they_are_wanted() -> TestResult {
            let folder = PathBuf::from(std::env::var_os("WARPLOOM_TEXTS").ok_or("no folder in WARPLOOM_TEXTS")?);
            $(
                let text = kernel::module(&variants::$name::variants());
                std::fs::write(folder.join(concat!(stringify!($name), ".ptx")), text)?;
            )*
            Ok(())
        }

        #[test]
        fn more_than_four_hundred_thousand_cases_are_asked() {
            let all = [$(variants::$name::variants()),*].concat();
            let cases: usize = all.iter().map(|variant| variant.cases).sum();
            assert!(all.len() > 2000 && cases > 400_000, "{} variants, {cases} cases", all.len());
            let mut keys: Vec<u64> = all.iter().map(Variant::key).collect();
            keys.sort_unstable();
            keys.dedup();
            assert_eq!(keys.len(), all.len(), "two variants are the same, or their keys are");
        }
    };
}

families!(approximate atomic bits compare convert float half integer matrix product sparse video video_parts warp wmma);
