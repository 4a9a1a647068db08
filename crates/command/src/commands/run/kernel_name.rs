//! Kernels by name: exact, or by the name in the source of C++.

use warploom::{Kernel, Library};

use crate::failure::Failure;

/// The kernel of a library that a name selects; without a name, the only one.
pub(crate) fn find(library: &Library, name: Option<&str>) -> Result<Kernel, Failure> {
    let kernels = library.kernels()?;
    let list = || {
        let mut names: Vec<String> = kernels.iter().map(|kernel| shown(kernel.name())).collect();
        names.sort_unstable();
        names.join(", ")
    };
    let Some(name) = name else {
        return match kernels.as_slice() {
            [only] => Ok(only.clone()),
            [] => Err(Failure::new("the file has no kernel").hint("a kernel is __global__ in CUDA C++, .entry in PTX")),
            [_, _, ..] => Err(Failure::misuse(format_args!("the file has {} kernels: {}", kernels.len(), list()))
                .hint("name one with --kernel")),
        };
    };
    if let Ok(exact) = library.kernel(name) {
        return Ok(exact);
    }
    let same: Vec<&Kernel> =
        kernels.iter().filter(|kernel| source_name(kernel.name()).as_deref() == Some(name)).collect();
    match same.as_slice() {
        [only] => Ok((*only).clone()),
        [] if kernels.is_empty() => Err(Failure::new(format_args!("there is no kernel {name:?}, the file has none"))),
        [] => Err(Failure::misuse(format_args!("there is no kernel {name:?}; the file has {}", list()))),
        [_, _, ..] => {
            let names: Vec<&str> = same.iter().map(|kernel| kernel.name()).collect();
            Err(Failure::misuse(format_args!("{} kernels are called {name:?}: {}", same.len(), names.join(", ")))
                .hint("name one with --kernel, as it is listed here"))
        }
    }
}

/// The name with that of the source in front, if it is mangled.
fn shown(name: &str) -> String {
    source_name(name).map_or_else(|| name.to_owned(), |source| format!("{source} ({name})"))
}

/// The qualified name at the start of a mangled one: `space::scale` of `_ZN5space5scaleEPf`. Parameters and
/// template arguments are left out.
pub(crate) fn source_name(mangled: &str) -> Option<String> {
    let rest = mangled.strip_prefix("_Z")?;
    let (mut rest, is_nested) = rest.strip_prefix('N').map_or((rest, false), |rest| (rest, true));
    let mut names = Vec::new();
    while rest.starts_with(|first: char| first.is_ascii_digit()) && (is_nested || names.is_empty()) {
        let digits = rest.len() - rest.trim_start_matches(|character: char| character.is_ascii_digit()).len();
        let length: usize = rest[..digits].parse().ok()?;
        let end = digits.checked_add(length)?;
        names.push(rest.get(digits..end)?);
        rest = &rest[end..];
    }
    (!names.is_empty()).then(|| names.join("::"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mangled_names_begin_with_the_name_in_the_source() {
        for (mangled, name) in [
            ("_Z5saxpyfPKfPfj", Some("saxpy")),
            ("_Z5scaleIfEvPT_S0_", Some("scale")),
            ("_ZN5space5inner1kEPf", Some("space::inner::k")),
            ("saxpy", None),
            ("_Z", None),
            ("_Z9short", None),
            ("_Z99999999999999999999999x", None),
        ] {
            assert_eq!(source_name(mangled).as_deref(), name, "{mangled}");
        }
    }
}
