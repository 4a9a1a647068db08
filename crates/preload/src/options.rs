//! Options of a compiler.

use std::ffi::CStr;

/// The option that keeps PTX in a cubin.
pub(crate) const LINE_INFO: &CStr = c"-lineinfo";

/// Options with which a cubin has its PTX already.
const PRESENT: [&[u8]; 5] = [b"-lineinfo", b"--generate-line-info", b"-g", b"-G", b"--device-debug"];

/// `true` if these options make a cubin (`-arch=sm_90`; `compute_90` makes PTX) and none keeps the PTX in it.
pub(crate) fn lack_line_info<'a>(options: impl Iterator<Item = &'a CStr>) -> bool {
    let mut makes_cubin = false;
    for option in options {
        let option = option.to_bytes().trim_ascii();
        if PRESENT.contains(&option) {
            return false;
        }
        makes_cubin |= option.windows(3).any(|part| part == b"sm_");
    }
    makes_cubin
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_cubins_without_line_information_lack_it() {
        let lacking = |options: &[&CStr]| lack_line_info(options.iter().copied());
        assert!(lacking(&[c"-arch=sm_90"]) && lacking(&[c"-std=c++17", c"--gpu-architecture=sm_80"]));
        assert!(lacking(&[c"--gpu-architecture", c"sm_80"]));
        assert!(!lacking(&[]) && !lacking(&[c"-arch=compute_90"]));
        for present in [c"-lineinfo", c"--generate-line-info", c"-G", c"--device-debug", c"-g"] {
            assert!(!lacking(&[c"-arch=sm_90", present]) && !lacking(&[present, c"-arch=sm_90"]), "{present:?}");
        }
    }
}
