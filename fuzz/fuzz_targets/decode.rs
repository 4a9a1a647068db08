//! Any bytes as a PTX text: a program, or refused; alone, and as a part of a larger one.
#![no_main]

use libfuzzer_sys::fuzz_target;
use warploom_ptx::Program;
use warploom_ptx::link::{Part, link};

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let program = Program::from_text(&text);
    let part = Part::new("part", &text);
    if let Ok(program) = &program {
        assert!(part.is_ok(), "a program is a part of one");
        assert!(program.kernels().all(|kernel| kernel.parameter_bytes() < 1 << 20));
    }
    // Twice the same: what it keeps to itself must not meet, what it shows must be refused.
    let Ok(part) = part else { return };
    if let Ok(linked) = link(std::slice::from_ref(&part), 90) {
        Part::new("linked", &linked).expect("what was linked is PTX");
    }
    if let Ok(linked) = link(&[part.clone(), part], 90) {
        Part::new("linked", &linked).expect("what was linked is PTX");
    }
});
