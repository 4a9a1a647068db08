//! The attribute macro of `warploom-test`; use it through that crate.

mod arguments;
mod expansion;

use proc_macro2::TokenStream;
use syn::{Error, ItemFn, parse_macro_input};

use crate::arguments::Arguments;

/// Makes a test of a function that takes a driver: it runs on simulated machines, and findings of the
/// machine's checks and leaks fail it.
///
/// ```text
/// #[warploom_test::test(machine = "hgx-a100-4", seeds = 8)]
/// fn halves_are_summed(driver: &warploom::Driver) -> Result<(), Box<dyn std::error::Error>> { … }
/// ```
///
/// The function takes `&warploom::Driver`, `&warploom_driver::Driver` or another type that is made from the
/// latter; or first a `&warploom_sim::Machine`, then the driver. It returns `()` or `Result<(), E>`, and may be
/// `async`. `#[should_panic]` and `#[ignore]` mean what they mean for `#[test]`.
///
/// | argument | values | without it |
/// |---|---|---|
/// | `machine` | the name of a preset, or the path of a topology file (`.toml`), from the package's folder | `"h200"` |
/// | `seeds` | the number of random orders of work | 4 |
/// | `orders` | `"all"`: eager, lazy, the random ones, threads; `"threads"`; `"deterministic"`: all but threads | `"all"` |
/// | `check` | `"fail"`: findings fail the test; `"report"`: they are printed; `"off"` | `"fail"` |
/// | `leaks` | the same for objects and memory that are left over | `"fail"` |
/// | `faults` | `"sweep"`: each driver call fails in turn; or an expression, which is a `fault::Plan` | none |
/// | `tolerates` | a call, or a list of calls, whose failure the test may ignore in a sweep: `["cuEvent*"]` | none |
/// | `hardware` | `"ignore"`: makes two tests, `name::sim` and `name::cuda`; the latter runs on a GPU and is ignored | one test |
/// | `case` | an expression, which is a `Case` to begin with | `Case::new()` |
/// | `crate` | the path of `warploom_test`, if it has another name | `::warploom_test` |
#[proc_macro_attribute]
pub fn test(arguments: proc_macro::TokenStream, function: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let function = parse_macro_input!(function as ItemFn);
    expand(arguments.into(), &function).unwrap_or_else(|error| with_body(&error, &function)).into()
}

fn expand(arguments: TokenStream, function: &ItemFn) -> Result<TokenStream, Error> {
    expansion::of(&Arguments::parse(arguments)?, function)
}

/// The errors, and the function as it is, so that the compiler finds its other errors and none because it is
/// missing.
fn with_body(error: &Error, function: &ItemFn) -> TokenStream {
    let error = error.to_compile_error();
    quote::quote! {
        #error
        #[expect(dead_code, reason = "no test could be made of it")]
        #function
    }
}
