//! The names that the headers declare, as the driver's library exports them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::workspace::at;

/// The headers that declare functions.
const HEADERS: &[&str] = &["cuda.h", "cudaGL.h", "cudaEGL.h", "cudaVDPAU.h"];

/// An inline function of `cuda.h`, one that the driver for embedded devices alone has, and one of Windows.
const NOT_EXPORTED: &[&str] = &["cuGetProcAddress_v2_ptsz", "cuEventCreateFromEGLSync", "cuWGLGetDevice"];

/// A sorted list: every declared name, every name that a macro stands for, and the variants for per-thread
/// default streams.
pub(crate) fn render(include: &Path) -> Result<String, String> {
    let mut names = BTreeSet::new();
    for header in HEADERS {
        let path = include.join(header);
        let text = fs::read_to_string(&path).map_err(at(&path))?;
        names.extend(text.split("CUDAAPI").skip(1).filter_map(declared).map(str::to_owned));
        names.extend(text.lines().filter_map(alias));
    }
    names.retain(|name| !NOT_EXPORTED.contains(&name.as_str()));
    match names.len() {
        0 => Err("the headers declare no functions".to_owned()),
        _ => Ok(names.into_iter().fold(String::new(), |list, name| list + &name + "\n")),
    }
}

/// The name that follows `CUDAAPI`: `cuInit(unsigned int Flags);` → `cuInit`.
fn declared(rest: &str) -> Option<&str> {
    let (name, _) = rest.trim_start().split_once('(')?;
    is_function(name).then_some(name)
}

/// `#define cuMemcpy __CUDA_API_PTDS(cuMemcpy)` → `cuMemcpy_ptds`; `#define cuMemAlloc cuMemAlloc_v2` →
/// `cuMemAlloc_v2`.
fn alias(line: &str) -> Option<String> {
    let mut words = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("define ")?.split_whitespace();
    let (from, to) = (words.next()?, words.next()?);
    if !is_function(from) {
        return None;
    }
    let macros = [("__CUDA_API_PTDS(", "_ptds"), ("__CUDA_API_PTSZ(", "_ptsz")];
    let variant = macros.iter().find_map(|(name, suffix)| Some((to.strip_prefix(name)?.strip_suffix(')')?, *suffix)));
    let (name, suffix) = variant.unwrap_or((to, ""));
    is_function(name).then(|| format!("{name}{suffix}"))
}

/// True for names such as `cuInit`: those of types and of the runtime library begin otherwise.
fn is_function(name: &str) -> bool {
    let rest = name.strip_prefix("cu").unwrap_or_default();
    rest.starts_with(|first: char| first.is_ascii_uppercase())
        && rest.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
