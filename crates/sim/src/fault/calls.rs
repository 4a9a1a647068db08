//! The functions that a rule selects.

use std::fmt;
use std::str::FromStr;

use warploom_sys::Function;

use super::error::FaultError;
use super::glob;
use crate::rules::{self, Class};
use crate::topology::nearest;

/// A set of functions, one bit each.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct FunctionSet([u64; WORDS]);

const WORDS: usize = Function::ALL.len().div_ceil(64);

impl FunctionSet {
    pub(crate) const NONE: FunctionSet = FunctionSet([0; WORDS]);

    fn of(includes: impl Fn(Function) -> bool) -> Self {
        let mut set = Self::NONE;
        for function in Function::ALL.iter().copied().filter(|function| includes(*function)) {
            set.0[function.index() / 64] |= 1 << (function.index() % 64);
        }
        set
    }

    pub(crate) fn contains(&self, function: Function) -> bool {
        self.0[function.index() / 64] & (1 << (function.index() % 64)) != 0
    }

    pub(crate) fn join(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine |= theirs;
        }
    }
}

/// The functions that a [`Rule`](super::Rule) is about.
///
/// ```
/// use warploom_sim::fault::{Calls, Class};
/// use warploom_sys::Function;
///
/// # fn main() -> Result<(), warploom_sim::fault::FaultError> {
/// let one = Calls::from(Function::cuCtxCreate_v4);      // this ABI
/// let all_abis = Calls::named("cuCtxCreate")?;          // _v2, _v3 and _v4
/// let glob = Calls::named("cuMemcpy*Async")?;
/// let kind = Calls::from(Class::Alloc);
/// assert!(all_abis.contains(Function::cuCtxCreate_v4) && glob.contains(Function::cuMemcpyHtoDAsync_v2));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Calls {
    text: String,
    set: FunctionSet,
}

impl Calls {
    /// Every function but `cuGetProcAddress` and `cuGetExportTable`: loaders make hundreds of such calls
    /// before a program's first, so they are met only by rules that name them.
    #[must_use]
    pub fn all() -> Calls {
        Calls { text: "every call".to_owned(), set: FunctionSet::of(|function| !rules::of(function).finds_functions) }
    }

    /// The functions of a name. A name without a version suffix is all its ABIs, and one with a suffix is
    /// that ABI: so `cuMemAlloc` is `cuMemAlloc_v2`, and `cuCtxCreate` is three functions. With `*` for any
    /// characters and `?` for one, it is every function whose name, with its suffix or without, has that
    /// form.
    ///
    /// # Errors
    ///
    /// [`FaultError::UnknownCall`] if there is no such function.
    pub fn named(name: &str) -> Result<Calls, FaultError> {
        let includes = |function: Function| {
            let names = [function.base_name(), function.name()];
            if glob::is_pattern(name) {
                names.iter().any(|known| glob::matches(name, known))
            } else {
                names.contains(&name)
            }
        };
        let set = FunctionSet::of(includes);
        if set == FunctionSet::NONE {
            let nearest = nearest(name, Function::ALL.iter().map(|function| function.base_name()));
            return Err(FaultError::UnknownCall { name: name.to_owned(), nearest });
        }
        Ok(Calls { text: name.to_owned(), set })
    }

    /// `true` if a function is among them.
    #[must_use]
    pub fn contains(&self, function: Function) -> bool {
        self.set.contains(function)
    }

    pub(super) fn set(&self) -> &FunctionSet {
        &self.set
    }
}

impl From<Function> for Calls {
    fn from(function: Function) -> Calls {
        Calls { text: function.name().to_owned(), set: FunctionSet::of(|known| known == function) }
    }
}

impl From<Class> for Calls {
    fn from(class: Class) -> Calls {
        Calls { text: format!("class {class}"), set: FunctionSet::of(|function| class.contains(function)) }
    }
}

impl FromStr for Calls {
    type Err = FaultError;

    fn from_str(name: &str) -> Result<Calls, FaultError> {
        Calls::named(name)
    }
}

impl fmt::Display for Calls {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl fmt::Debug for Calls {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Calls({})", self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn functions(name: &str) -> Vec<Function> {
        let calls = Calls::named(name).expect("there are such functions");
        Function::ALL.iter().copied().filter(|function| calls.contains(*function)).collect()
    }

    #[test]
    fn a_base_name_is_all_abis_and_an_exact_name_is_one() {
        use Function::*;
        assert_eq!(functions("cuCtxCreate"), [cuCtxCreate, cuCtxCreate_v2, cuCtxCreate_v3, cuCtxCreate_v4]);
        assert_eq!(functions("cuCtxCreate_v3"), [cuCtxCreate_v3]);
        assert_eq!(functions("cuMemAlloc"), [cuMemAlloc, cuMemAlloc_v2]);
        let exact = Calls::from(cuGetProcAddress);
        assert!(exact.contains(cuGetProcAddress) && !exact.contains(cuGetProcAddress_v2));
        assert_eq!(functions("cuGetProcAddress"), [cuGetProcAddress, cuGetProcAddress_v2]);
    }

    #[test]
    fn a_glob_is_everything_of_its_form() {
        let family: Vec<_> = Function::ALL.iter().copied().filter(|function| function.family() == "copy").collect();
        assert_eq!(functions("cuMemcpy*"), family);
        assert_eq!(functions("*").len(), Function::ALL.len());
    }

    #[test]
    fn every_call_does_not_mean_finding_functions() {
        let all = Calls::all();
        let left_out: Vec<_> = Function::ALL.iter().filter(|function| !all.contains(**function)).collect();
        assert_eq!(
            left_out,
            [&Function::cuGetExportTable, &Function::cuGetProcAddress, &Function::cuGetProcAddress_v2]
        );
    }

    #[test]
    fn a_name_of_nothing_is_refused_with_the_nearest() {
        let error = Calls::named("cuMemAlocAsync").expect_err("there is no such function").to_string();
        assert!(error.contains("did you mean \"cuMemAllocAsync\"?"), "{error}");
        assert!(Calls::named("cuda*").is_err() && Calls::named("").is_err());
    }
}
