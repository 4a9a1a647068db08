//! Functions of the CUDA device runtime, which programs link in from `libcudadevrt.a`.
//!
//! The archive has machine code alone, so the simulator has functions of its own in their place, as PTX. They
//! are linked where the archive was: into a cubin that was linked with it, and into a link that it is added
//! to. PTX that is loaded without it is refused, as by an H200.
//!
//! | functions | |
//! |---|---|
//! | `cudaCG…` | the grid of a cooperative launch; there is one grid, and no group of several |
//! | `cudaGetDevice`, `cudaGetDeviceCount`, `cudaDeviceGetAttribute`, `cudaDeviceGetLimit`, `cudaDeviceGetCacheConfig`, `cudaDeviceGetSharedMemConfig` | values of the machine |
//! | `cudaRuntimeGetVersion` | 6000, as on an H200 with any driver |
//! | `cudaGetLastError`, `cudaPeekAtLastError` | the last error of the thread |
//! | `cudaGetErrorName`, `cudaGetErrorString` | texts of an H200's driver |
//! | `cudaMalloc`, `cudaFree` | the device heap |
//!
//! Newer compilers call them by names with `__cudaCDP2` instead of `cuda`.

use std::fmt::Write;

use warploom_ptx::link::Part;

mod errors;

/// Groups of threads.
const GROUPS: &str = include_str!("functions.ptx");

/// The member of `libcudadevrt.a`.
pub(crate) const MEMBER: &[u8] = b"cuda_device_runtime.o";

/// The kinds of values that a kernel may ask its machine for, by number.
pub(crate) const ORDINAL: u32 = 0;
pub(crate) const COUNT: u32 = 1;
pub(crate) const ATTRIBUTE: u32 = 2;
pub(crate) const LIMIT: u32 = 3;

/// Functions with a pointer for one value of the machine: name, the kind of value, true if the value has a
/// number, bytes of the result.
const VALUES: [(&str, u32, bool, u32); 4] = [
    ("GetDevice", ORDINAL, false, 4),
    ("GetDeviceCount", COUNT, false, 4),
    ("DeviceGetAttribute", ATTRIBUTE, true, 4),
    ("DeviceGetLimit", LIMIT, true, 8),
];

/// Functions with a pointer for a constant.
const CONSTANTS: [(&str, u32); 3] =
    [("DeviceGetCacheConfig", 0), ("DeviceGetSharedMemConfig", 1), ("RuntimeGetVersion", 6000)];

/// Functions for the last error of the thread, and the error that they leave; the highest bit leaves it as it
/// is.
const ERRORS: [(&str, u32); 2] = [("GetLastError", 0), ("PeekAtLastError", 1 << 31)];

const PREFIXES: [&str; 2] = ["cuda", "__cudaCDP2"];

/// `true` if the runtime has a function, under either of its names.
pub(crate) fn has(name: &str) -> bool {
    if name.starts_with("cudaCG") {
        return GROUPS.contains(&format!(" {name}("));
    }
    let known = |prefix: &&str| {
        name.strip_prefix(*prefix).is_some_and(|rest| {
            VALUES.iter().any(|(value, ..)| *value == rest)
                || CONSTANTS.iter().any(|(value, _)| *value == rest)
                || ERRORS.iter().any(|(error, _)| *error == rest)
                || errors::has(rest)
                || matches!(rest, "Malloc" | "Free")
        })
    };
    PREFIXES.iter().any(known)
}

/// The reason for which a function of CUDA's device libraries is missing, and the remedy.
pub(crate) fn advice(name: &str) -> Option<&'static str> {
    let rest = PREFIXES.iter().rev().find_map(|prefix| name.strip_prefix(prefix));
    Some(match rest {
        Some(rest) if rest.starts_with("LaunchDevice") || rest.starts_with("GetParameterBuffer") => {
            "kernels that launch kernels are not simulated; launch it from the host, or from a graph"
        }
        Some(_) if has(name) => "it is in the device runtime: link libcudadevrt.a",
        Some(_) => "it is in the device runtime, and not simulated",
        None if name.starts_with("__nv_") => {
            "it is in libdevice, which compilers link in: compile with NVRTC or nvcc, or add libdevice.10.bc to the program of \
             libNVVM"
        }
        None => return None,
    })
}

/// All functions of the runtime, as a piece to link.
pub(crate) fn part() -> Option<Part> {
    Part::new("libcudadevrt.a", &text()).ok()
}

fn text() -> String {
    let mut text = GROUPS.to_owned();
    errors::variables(&mut text);
    for prefix in PREFIXES {
        for (name, kind, is_numbered, bytes) in VALUES {
            value(&mut text, &format!("{prefix}{name}"), kind, is_numbered, bytes);
        }
        for (name, constant) in CONSTANTS {
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                ".weak .func (.param .b32 status) {prefix}{name}(.param .b64 into) {{ .reg .b64 %into;\n\
                 ld.param.u64 %into, [into]; st.u32 [%into], {constant}; st.param.b32 [status], 0; ret; }}"
            );
        }
        for (name, next) in ERRORS {
            let _ = writeln!(
                text,
                ".weak .func (.param .b32 status) {prefix}{name}() {{ .reg .b32 %error;\n\
                 {{ .param .b32 next; .param .b32 before; st.param.b32 [next], {next};\n\
                 call (before), warploom_last_error, (next); ld.param.b32 %error, [before]; }}\n\
                 st.param.b32 [status], %error; ret; }}"
            );
        }
        errors::functions(&mut text, prefix);
        heap(&mut text, prefix);
    }
    text
}

/// A function that stores a value of the machine: `cudaGetDevice(int*)`,
/// `cudaDeviceGetAttribute(int*, attribute, device)`.
fn value(text: &mut String, name: &str, kind: u32, is_numbered: bool, bytes: u32) {
    let device = is_numbered && kind == ATTRIBUTE;
    let parameters = match (is_numbered, device) {
        (false, _) => "",
        (true, false) => ", .param .b32 number",
        (true, true) => ", .param .b32 number, .param .b32 device",
    };
    let number = if is_numbered { "ld.param.u32 %number, [number];" } else { "mov.u32 %number, 0;" };
    // An H200 answers zero for other devices.
    let other = if device {
        format!(
            "ld.param.u32 %device, [device]; {} cvt.u32.u64 %own, %value; setp.ne.u32 %p, %own, %device; @%p bra DEVICE;",
            ask(ORDINAL)
        )
    } else {
        String::new()
    };
    let _ = writeln!(
        text,
        ".weak .func (.param .b32 status) {name}(.param .b64 into{parameters}) {{\n\
         .reg .pred %p; .reg .b32 %number, %device, %own; .reg .b64 %into, %value;\n\
         ld.param.u64 %into, [into]; {number}\n{other}\n{}\n\
         setp.eq.s64 %p, %value, 0x8000000000000000; @%p bra NONE;\n\
         st.u{} [%into], %value; st.param.b32 [status], 0; ret;\n\
         NONE: {} st.param.b32 [status], 1; ret;\n\
         DEVICE: st.u{} [%into], 0; st.param.b32 [status], 0; ret; }}",
        ask(kind),
        bytes * 8,
        record("1"),
        bytes * 8
    );
}

/// Records an error as the thread's last.
fn record(error: &str) -> String {
    format!(
        "{{ .param .b32 next; .param .b32 before; st.param.b32 [next], {error};\ncall (before), warploom_last_error, (next); }}"
    )
}

/// Asks the machine for a value.
fn ask(kind: u32) -> String {
    format!(
        "{{ .param .b32 kind; .param .b32 which; .param .b64 out; st.param.b32 [kind], {kind}; st.param.b32 [which], %number;\n\
         call (out), warploom_device_value, (kind, which); ld.param.b64 %value, [out]; }}"
    )
}

/// Memory of the device heap.
fn heap(text: &mut String, prefix: &str) {
    let _ = writeln!(
        text,
        ".weak .func (.param .b32 status) {prefix}Malloc(.param .b64 into, .param .b64 bytes) {{\n\
         .reg .pred %p; .reg .b64 %into, %bytes, %block;\n\
         ld.param.u64 %into, [into]; ld.param.u64 %bytes, [bytes];\n\
         {{ .param .b64 size; .param .b64 out; st.param.b64 [size], %bytes; call (out), malloc, (size); ld.param.b64 %block, [out]; }}\n\
         setp.eq.u64 %p, %block, 0; @%p bra NONE;\n\
         st.u64 [%into], %block; st.param.b32 [status], 0; ret;\n\
         NONE: {} st.param.b32 [status], 2; ret; }}\n\
         .weak .func (.param .b32 status) {prefix}Free(.param .b64 block) {{ .reg .b64 %block; ld.param.u64 %block, [block];\n\
         {{ .param .b64 what; st.param.b64 [what], %block; call free, (what); }} st.param.b32 [status], 0; ret; }}",
        record("2")
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_a_piece_to_link() {
        assert!(Part::new("runtime", &text()).is_ok(), "{}", Part::new("runtime", &text()).expect_err("it is not"));
        for name in
            ["cudaCGGetIntrinsicHandle", "cudaCGGetRank", "cudaGetDevice", "__cudaCDP2Malloc", "__cudaCDP2GetErrorName"]
        {
            assert!(has(name) && text().contains(&format!(" {name}(")), "{name}");
        }
        for name in ["cudaLaunchDevice", "cudaCGNothing", "__nv_sinf", "bar"] {
            assert!(!has(name), "{name}");
        }
    }

    #[test]
    fn functions_that_are_not_there_have_a_remedy() {
        assert!(advice("__cudaCDP2LaunchDeviceV2").is_some_and(|advice| advice.contains("from the host")));
        assert!(advice("cudaCGGetSize").is_some_and(|advice| advice.contains("libcudadevrt.a")));
        assert!(advice("__nv_sinf").is_some_and(|advice| advice.contains("libdevice.10.bc")));
        assert_eq!(advice("bar"), None);
    }
}
