//! Registers that the assembler gives the kernels: `crates/ptx/tests/register_count/assembler.txt`.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{KERNELS, Texts, checked_in};
use crate::workspace::{at, root};

/// Bounds on registers that are asked, beside none.
const BOUNDS: [u32; 2] = [24, 32];

/// The file that the test compares with.
pub(super) fn path() -> Result<PathBuf, String> {
    Ok(root()?.join("crates/ptx/tests/register_count/assembler.txt"))
}

/// A line for each kernel and bound: its text, its name, the bound or 0, registers, bytes of the stack, bytes
/// that it spills.
pub(super) fn ask(assembler: &Path) -> Result<String, String> {
    let (folder, mut lines) = (root()?.join(KERNELS[0]), String::new());
    let texts: Texts = checked_in(&folder)?;
    for text in texts.keys() {
        for bound in std::iter::once(0).chain(BOUNDS) {
            let mut command = Command::new(assembler);
            command.args(["--verbose", "--gpu-name=sm_90", "--output-file", "/dev/null"]);
            if bound > 0 {
                command.arg(format!("--maxrregcount={bound}"));
            }
            let output = command.arg(folder.join(text)).output().map_err(at(assembler))?;
            let name = text.strip_prefix("ptx").unwrap_or(text).display().to_string();
            for (kernel, [registers, stack, spilled]) in properties(&String::from_utf8_lossy(&output.stderr)) {
                writeln!(lines, "{name} {kernel} {bound} {registers} {stack} {spilled}")
                    .map_err(|error| error.to_string())?;
            }
        }
    }
    Ok(lines)
}

/// Kernels with registers, bytes of the stack and bytes of spill stores, as the assembler tells them:
///
/// ```text
/// ptxas info    : Compiling entry function 'k' for 'sm_90'
/// ptxas info    : Function properties for k
///     8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
/// ptxas info    : Used 24 registers, used 0 barriers, 8 bytes cumulative stack size
/// ```
fn properties(said: &str) -> Vec<(String, [u32; 3])> {
    let mut all: Vec<(String, [u32; 3])> = Vec::new();
    let mut function = "";
    for line in said.lines() {
        let number = |word: &str| {
            let before = line.split(word).next()?;
            before.split_whitespace().next_back()?.parse::<u32>().ok()
        };
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            all.push((rest.split('\'').next().unwrap_or_default().to_owned(), [0; 3]));
        } else if let Some((_, name)) = line.split_once("Function properties for ") {
            function = name.trim();
        } else if let Some((name, values)) = all.last_mut() {
            if line.contains(" bytes stack frame") && name == function {
                (values[1], values[2]) =
                    (number(" bytes stack frame").unwrap_or(0), number(" bytes spill stores").unwrap_or(0));
            } else if line.contains("Used ") {
                values[0] = number(" registers").unwrap_or(0);
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_are_those_of_kernels() {
        let said = "ptxas info    : Compiling entry function 'k' for 'sm_90'\n\
                    ptxas info    : Function properties for k\n    8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads\n\
                    ptxas info    : Used 24 registers, used 0 barriers\n\
                    ptxas info    : Function properties for f\n    16 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n";
        assert_eq!(properties(said), [("k".to_owned(), [24, 8, 4])]);
    }
}
