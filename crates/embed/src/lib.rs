//! A macro for the shared library that cargo built from a dependency.
//!
//! A dependency with the crate types `cdylib` and `rlib` is compiled once, and both files lie side by side in
//! cargo's folder. A program is compiled when its dependencies are complete, and rustc is told where the
//! `rlib` is: `--extern NAME=PATH/libNAME.rlib`. The shared library has the same path with the ending `.so`.
//! So `cargo install` needs nothing but the program's package.
//!
//! ```text
//! cargo ─▶ rustc libcuda ─▶ libwarploom_cuda.rlib, libwarploom_cuda.so
//!       └▶ rustc program --extern warploom_cuda=…/libwarploom_cuda.rlib ─▶ shared_library!(warploom_cuda)
//! ```

use std::path::{Path, PathBuf};

use proc_macro::{Literal, TokenStream};

/// The shared library of a dependency, as `Option<(&str, &[u8])>`: its path where cargo built it, and its
/// bytes.
///
/// The bytes are empty in a build with debug assertions, which would otherwise carry hundreds of megabytes.
/// It is `None` where there is no library: `cargo check` does not build any.
///
/// The dependency need not be named in the code; one that is not named is not linked into the program.
///
/// ```
/// const LIBRARY: Option<(&str, &[u8])> = warploom_embed::shared_library!(a_crate_that_is_no_dependency);
/// assert!(LIBRARY.is_none());
/// ```
#[proc_macro]
pub fn shared_library(name: TokenStream) -> TokenStream {
    let library = library(&name.to_string(), std::env::args());
    let Some(path) = library.as_deref().filter(|path| path.is_file()).and_then(Path::to_str) else {
        return parse("::core::option::Option::None");
    };
    let path = Literal::string(path);
    parse(&format!(
        "{{
            #[cfg(debug_assertions)]
            const BYTES: &[u8] = &[];
            #[cfg(not(debug_assertions))]
            const BYTES: &[u8] = ::core::include_bytes!({path});
            ::core::option::Option::Some(({path}, BYTES))
        }}"
    ))
}

fn parse(code: &str) -> TokenStream {
    match code.parse() {
        Ok(tokens) => tokens,
        Err(error) => unreachable!("{error}: the code above is Rust, with one literal in it"),
    }
}

/// The path of the shared library, by the arguments of rustc.
fn library(name: &str, mut arguments: impl Iterator<Item = String>) -> Option<PathBuf> {
    while let Some(argument) = arguments.next() {
        let value = match argument.strip_prefix("--extern") {
            Some("") => arguments.next()?,
            Some(value) => value.trim_start_matches('=').to_owned(),
            None => continue,
        };
        // Options of the crate may stand before its name: `priv,noprelude:name=path`.
        let Some((crate_name, path)) = value.split_once('=') else { continue };
        let crate_name = crate_name.rsplit(':').next().unwrap_or(crate_name);
        // `cargo check` has the ending `rmeta`; a library beside it would be of another build.
        if crate_name == name && path.ends_with(".rlib") {
            return Some(Path::new(path).with_extension("so"));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(arguments: &[&str]) -> Option<PathBuf> {
        library("warploom_cuda", arguments.iter().map(|argument| (*argument).to_owned()))
    }

    #[test]
    fn the_library_lies_beside_the_rlib_of_the_crate() {
        let other = ["rustc", "--extern", "serde=/deps/libserde-1.rlib", "--extern"];
        let expected = Some(PathBuf::from("/deps/libwarploom_cuda-7.so"));
        for option in
            ["warploom_cuda=/deps/libwarploom_cuda-7.rlib", "priv:warploom_cuda=/deps/libwarploom_cuda-7.rlib"]
        {
            assert_eq!(found(&[&other[..], &[option]].concat()), expected);
        }
        assert_eq!(found(&["--extern=warploom_cuda=/deps/libwarploom_cuda-7.rlib"]), expected);
    }

    #[test]
    fn a_crate_that_was_only_checked_has_no_library() {
        assert_eq!(found(&["--extern", "warploom_cuda=/deps/libwarploom_cuda-7.rmeta"]), None);
        assert_eq!(found(&["--extern", "serde=/deps/libserde.rlib", "--extern"]), None);
        assert_eq!(found(&["--extern", "warploom_cuda"]), None);
    }
}
