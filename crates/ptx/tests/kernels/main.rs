//! Our kernels, as NVRTC compiled them, on the interpreter alone.

mod bodies;
mod engine;
mod machine;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use warploom_ptx::Program;
use warploom_ptx::syntax::{Kind, Module};

use bodies::{for_each_body, for_each_body_of_hardware, texts};
use machine::Machine;

macro_rules! tests {
    ($($module:ident { $($body:ident)* })*) => {
        $(mod $module {
            $(#[test]
            fn $body() {
                for watches in [false, true] {
                    crate::bodies::$module::$body(&crate::machine::Machine { watches, ..Default::default() });
                }
            })*
        })*

        /// The bodies that run here.
        const BODIES: &[fn(&Machine)] = &[$($(bodies::$module::$body),*),*];
    };
}
for_each_body!(tests);

macro_rules! of_hardware {
    ($($module:ident { $($body:ident: $text:literal, $kernel:literal)* })*) => {
        /// The kernels of bodies that run elsewhere.
        const OF_HARDWARE: &[(&str, &str)] = &[$($(($text, $kernel)),*),*];
    };
}
for_each_body_of_hardware!(of_hardware);

/// Every kernel has a body that tests it.
#[test]
fn every_kernel_of_every_text_is_run_by_a_body() {
    let machine = Machine::default();
    BODIES.iter().for_each(|body| body(&machine));
    let mut run = machine.launched.into_inner();
    for (text, kernel) in OF_HARDWARE {
        assert!(run.insert(((*text).to_owned(), (*kernel).to_owned())), "{kernel} of {text} runs here, too");
    }
    let mut all = BTreeSet::new();
    for (name, text) in texts::TEXTS {
        let module = Module::parse(text).unwrap_or_else(|error| panic!("{name}:{error}"));
        let kernels = module.functions.iter().filter(|function| function.kind == Kind::Entry);
        all.extend(kernels.map(|kernel| ((*name).to_owned(), kernel.name.to_owned())));
    }
    assert_eq!(run, all, "what bodies run, and what there is");
}

#[test]
fn every_text_is_in_the_list() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels/ptx");
    let mut found = BTreeSet::new();
    for part in fs::read_dir(folder).expect("the folder of texts") {
        let part = part.expect("a folder").path();
        for file in fs::read_dir(&part).expect("a folder of texts") {
            let path = file.expect("a text").path().with_extension("");
            let name = |path: &Path| path.file_name().expect("a name").to_string_lossy().into_owned();
            found.insert(format!("{}/{}", name(&part), name(&path)));
        }
    }
    assert_eq!(found, texts::TEXTS.iter().map(|(name, _)| (*name).to_owned()).collect());
}

#[test]
fn kernels_that_only_hardware_runs_are_refused() {
    for (text, kernel) in OF_HARDWARE {
        assert!(Program::from_text(&texts::only(text, kernel)).is_err(), "{kernel} of {text} could run here");
    }
}
