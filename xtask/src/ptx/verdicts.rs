//! Verdicts of the assembler on made-up instructions: `crates/ptx/tests/assembler/taken.txt`.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::workspace::{at, root};

/// The file that lists the accepted candidates, beside the test that generates them.
pub(super) fn path() -> Result<PathBuf, String> {
    Ok(root()?.join("crates/ptx/tests/assembler/taken.txt"))
}

/// Has them written, and asks the assembler for all of them at once: it names the line of each that it
/// refuses. It looks at some mistakes only where there are no others, so it is asked again without those
/// lines, until it takes the rest.
pub(super) fn ask(assembler: &Path) -> Result<String, String> {
    let folder = root()?.join("target/ptx/candidates");
    fs::create_dir_all(&folder).map_err(at(&folder))?;
    super::written(&folder, "warploom-ptx", "assembler", "candidates_are_written")?;
    let path = folder.join("candidates.ptx");
    let mut text = fs::read_to_string(&path).map_err(at(&path))?;
    loop {
        let mut command = Command::new(assembler);
        command.args(["--gpu-name=sm_90", "--compile-only", "--opt-level=0", "--output-file", "/dev/null"]).arg(&path);
        let output = command.output().map_err(at(assembler))?;
        if output.status.success() {
            return Ok(taken(&text));
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let refused = refused(&said);
        if refused.is_empty() {
            return Err(format!("ptxas names no line of {}:\n{said}", path.display()));
        }
        text = without(&text, &refused);
        fs::write(&path, &text).map_err(at(&path))?;
    }
}

/// The text with nothing on some lines.
fn without(text: &str, refused: &HashSet<usize>) -> String {
    let lines = text.lines().zip(1..);
    lines.map(|(line, number)| if refused.contains(&number) { "\n".to_owned() } else { format!("{line}\n") }).collect()
}

/// The lines behind the kernel's first that are left.
fn taken(text: &str) -> String {
    let lines = text.lines().skip_while(|line| !line.contains(".entry")).skip(1);
    let lines = lines.take_while(|line| !line.starts_with("ret;")).filter(|line| !line.is_empty());
    lines.map(|line| format!("{line}\n")).collect()
}

/// `ptxas candidates.ptx, line 17; error   : …`
fn refused(said: &str) -> HashSet<usize> {
    let number = |line: &str| {
        let (number, rest) = line.split_once(", line ")?.1.split_once(';')?;
        rest.trim_start().starts_with("error").then(|| number.parse().ok())?
    };
    said.lines().filter_map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_with_an_error_are_left_out() {
        let said = "ptxas a.ptx, line 3; error   : Illegal\nptxas a.ptx, line 4; warning : Old\nptxas fatal   : Stop\n";
        let text = ".version 8.7\n.visible .entry k() {\nadd.b8 a;\nadd.u32 a;\nret; }\n";
        assert_eq!(taken(&without(text, &refused(said))), "add.u32 a;\n");
    }
}
