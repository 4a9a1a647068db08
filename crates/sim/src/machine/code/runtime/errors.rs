//! Names and descriptions of runtime errors for kernels: `cudaGetErrorName`, `cudaGetErrorString`.
//!
//! The texts lie in variables of the module. Runtime and driver share most codes, and then the description.

use std::fmt::Write;

use warploom_sys::types::CUresult;

use crate::ffi::codes::status_text;

/// Code and name of each error, and its description if the driver does not have the code.
const TEXTS: &str = include_str!("errors.txt");

/// Name and description of every other code.
const UNKNOWN: &str = "unrecognized error code";

/// Codes below this one have a row in the table of texts, the others its last row.
const CODES: usize = 1000;

/// Functions, and the place of their text in a row.
const FUNCTIONS: [(&str, u32); 2] = [("GetErrorName", 0), ("GetErrorString", 1)];

/// `true` if a name without its prefix is that of a function here.
pub(super) fn has(name: &str) -> bool {
    FUNCTIONS.iter().any(|(function, _)| *function == name)
}

/// The variables: the texts, and for each code the offsets of two of them.
pub(super) fn variables(text: &mut String) {
    let mut bytes = format!("{UNKNOWN}\0").into_bytes();
    let mut offsets = vec![[0_u16; 2]; CODES + 1];
    for (code, texts) in errors() {
        let Some(places) = offsets.get_mut(code as usize) else { continue };
        for (place, text) in places.iter_mut().zip(texts) {
            // A test holds that all offsets fit.
            *place = bytes.len() as u16;
            bytes.extend(text.bytes().chain([0]));
        }
    }
    variable(text, "warploom_error_texts", &bytes);
    let offsets: Vec<u8> = offsets.concat().into_iter().flat_map(u16::to_le_bytes).collect();
    variable(text, "warploom_error_offsets", &offsets);
}

/// Code, name and description of each error.
fn errors() -> impl Iterator<Item = (u32, [&'static str; 2])> {
    TEXTS.lines().filter_map(|row| {
        let mut fields = row.splitn(3, ' ');
        let (code, name) = (fields.next()?.parse().ok()?, fields.next()?);
        let of_driver = || status_text(CUresult(code)).and_then(|text| text.to_str().ok());
        Some((code, [name, fields.next().or_else(of_driver)?]))
    })
}

/// A variable with bytes in it, written as few and large numbers.
fn variable(text: &mut String, name: &str, bytes: &[u8]) {
    let long = |chunk: &[u8]| chunk.iter().rev().fold(0, |long, byte| long << 8 | u64::from(*byte));
    let longs: Vec<String> = bytes.chunks(8).map(|chunk| format!("{:#x}", long(chunk))).collect();
    // Writing to a string cannot fail.
    let _ = writeln!(text, ".global .align 8 .b64 {name}[{}] = {{{}}};", longs.len(), longs.join(","));
}

/// The functions, under names with a prefix.
pub(super) fn functions(text: &mut String, prefix: &str) {
    for (name, place) in FUNCTIONS {
        let _ = writeln!(
            text,
            ".weak .func (.param .b64 text) {prefix}{name}(.param .b32 error) {{ .reg .b32 %error; .reg .b64 %at, %base;\n\
             ld.param.u32 %error, [error]; min.u32 %error, %error, {CODES}; mul.wide.u32 %at, %error, 4;\n\
             mov.u64 %base, warploom_error_offsets; add.s64 %at, %at, %base; ld.global.u16 %at, [%at+{}];\n\
             mov.u64 %base, warploom_error_texts; add.s64 %at, %at, %base; cvta.global.u64 %at, %at;\n\
             st.param.b64 [text], %at; ret; }}",
            2 * place
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_a_code_below_the_last_a_name_and_one_description() {
        assert_eq!(errors().count(), TEXTS.lines().count());
        assert!(errors().is_sorted_by_key(|(code, _)| code) && errors().all(|(code, _)| (code as usize) < CODES));
        for (code, [name, description]) in errors() {
            assert!(name.starts_with("cuda") && !description.is_empty(), "{code}");
            let of_driver = status_text(CUresult(code)).map(|text| text.to_string_lossy());
            assert!(of_driver.is_none_or(|text| text == description), "{code} is described twice");
        }
        // Offsets are of sixteen bits.
        let bytes: usize = errors().flat_map(|(_, texts)| texts).map(|text| text.len() + 1).sum();
        assert!(bytes + UNKNOWN.len() < usize::from(u16::MAX));
    }
}
