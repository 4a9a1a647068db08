//! Contents of a file with PTX.

use std::collections::BTreeMap;

use serde::Serialize;

#[derive(Debug, Serialize)]
pub(crate) struct PtxReport {
    pub(crate) file: String,
    /// `ptx`, `cubin`, `fatbin`, `lto-ir` or `host object`.
    pub(crate) format: &'static str,
    /// The machine whose first device is asked.
    pub(crate) machine: String,
    pub(crate) texts: Vec<PtxText>,
    /// Parts of the file without usable PTX, and the reason for each.
    pub(crate) unusable: Vec<String>,
    /// The answer of a load on that device, if it is a refusal.
    pub(crate) refusal: Option<RefusalReport>,
    /// `true` if the device accepts the file.
    pub(crate) accepted: bool,
}

/// The refusal of a whole file.
#[derive(Debug, Serialize)]
pub(crate) struct RefusalReport {
    /// The driver's status, such as `CUDA_ERROR_INVALID_PTX`.
    pub(crate) code: String,
    pub(crate) reason: String,
}

/// One PTX text of the file.
#[derive(Debug, Serialize)]
pub(crate) struct PtxText {
    /// The architecture of the cubin that it is in.
    pub(crate) cubin: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) target: Option<String>,
    pub(crate) kernels: Vec<KernelReport>,
    /// Number of functions that kernels call.
    pub(crate) functions: usize,
    /// Number of instructions, by opcode.
    pub(crate) opcodes: BTreeMap<String, usize>,
    /// Number of instructions, by opcode and modifiers.
    pub(crate) instructions: BTreeMap<String, usize>,
    /// Mistakes, and instructions that are not simulated.
    pub(crate) problems: Vec<ProblemReport>,
    /// Remarks that keep nothing from running.
    pub(crate) warnings: Vec<String>,
}

/// A kernel. Registers, shared and local memory are unknown if the text has a problem.
#[derive(Debug, Serialize)]
pub(crate) struct KernelReport {
    pub(crate) name: String,
    pub(crate) parameters: Vec<ParameterReport>,
    /// An estimate.
    pub(crate) registers: Option<u32>,
    pub(crate) shared_bytes: Option<usize>,
    pub(crate) local_bytes: Option<usize>,
    pub(crate) max_threads: Option<[u32; 3]>,
    pub(crate) instructions: usize,
}

/// A parameter of a kernel.
#[derive(Debug, Serialize)]
pub(crate) struct ParameterReport {
    pub(crate) name: String,
    /// As PTX declares it: `.u64`, `.align 8 .b8[24]`.
    #[serde(rename = "type")]
    pub(crate) declared: String,
    pub(crate) bytes: u64,
}

/// A mistake in a text, or an instruction that is not simulated.
#[derive(Debug, Serialize)]
pub(crate) struct ProblemReport {
    pub(crate) line: u32,
    pub(crate) column: u32,
    pub(crate) problem: String,
    /// The line with a mark under the wrong part.
    #[serde(skip)]
    pub(crate) shown: String,
}
