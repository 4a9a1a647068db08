//! Any bytes as a PTX text: decoded or refused, alone and linked with itself.
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
    // Linked twice: internal symbols must get two names, visible ones must conflict.
    let Ok(part) = part else { return };
    if let Ok(linked) = link(std::slice::from_ref(&part), 90) {
        Part::new("linked", &linked).expect("linked text is PTX");
    }
    if let Ok(linked) = link(&[part.clone(), part], 90) {
        Part::new("linked", &linked).expect("linked text is PTX");
    }
});
