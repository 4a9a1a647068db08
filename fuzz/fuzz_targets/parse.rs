//! Any bytes as a PTX text: parsed, or refused with a position inside of the text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use warploom_ptx::Header;
use warploom_ptx::syntax::Module;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    match Module::parse(&text) {
        Ok(module) => assert_eq!(Header::read(&text).as_ref(), Ok(&module.header)),
        Err(error) => {
            let line = text.split('\n').nth(error.place.line as usize - 1);
            let length = line.expect("the line is in the text").chars().count();
            assert!((1..=length + 1).contains(&(error.place.column as usize)), "{error:?}");
            assert!(error.to_string().len() < 4000);
        }
    }
});
