//! Rules of all driver functions, one row each, in the order of the list of functions; comments name its families.
//!
//! Each file has the rows of some families, as a macro that hands them to the next one, behind those it got.
//! The last is `rows`, which makes one exhaustive match of all.

#[macro_use]
mod code;
#[macro_use]
mod contexts;
#[macro_use]
mod graphs;
#[macro_use]
mod interop;
#[macro_use]
mod memory;

use warploom_sys::Function;

use super::{Class, Classes, Rule};

macro_rules! yes_or_no {
    (yes) => {
        true
    };
    (no) => {
        false
    };
}

macro_rules! rows {
    (; $($function:ident $before_init:ident $in_host_function:ident $in_capture:ident $finds_functions:ident
        $on_current_context:ident [$($class:ident)*])*) => {
        /// The row of a function. No row stands for all others, so a function of the list without one does
        /// not compile.
        pub(super) const fn row(function: Function) -> Rule {
            match function {
                $(Function::$function => Rule {
                    before_init: yes_or_no!($before_init),
                    in_host_function: yes_or_no!($in_host_function),
                    in_capture: yes_or_no!($in_capture),
                    finds_functions: yes_or_no!($finds_functions),
                    on_current_context: yes_or_no!($on_current_context),
                    classes: Classes::of(&[$(Class::$class),*]),
                },)*
            }
        }
    };
}

contexts! { memory code graphs interop rows; }
