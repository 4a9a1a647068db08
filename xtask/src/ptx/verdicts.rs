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

/// Versions of PTX and architectures that are asked about: an older version, and the newest one for each
/// architecture that has more than those before it. The last one has them all.
const TARGETS: [(&str, &str); 7] = [
    ("8.7", "sm_90"),
    ("9.4", "sm_75"),
    ("9.4", "sm_80"),
    ("9.4", "sm_86"),
    ("9.4", "sm_89"),
    ("9.4", "sm_90"),
    ("9.4", "sm_90a"),
];

/// Has the candidates written, and asks the assembler which of them it takes for each target. The first line
/// of the answer names the targets; each line behind it has a bit for each target that takes the candidate,
/// as a hexadecimal number, and the candidate.
pub(super) fn ask(assembler: &Path) -> Result<String, String> {
    let folder = root()?.join("target/ptx/candidates");
    fs::create_dir_all(&folder).map_err(at(&folder))?;
    super::written(&folder, "assembler", "candidates_are_written")?;
    let path = folder.join("candidates.ptx");
    let text = fs::read_to_string(&path).map_err(at(&path))?;
    let [others @ .., widest] = &TARGETS;
    let all = judge(assembler, &path, &text, widest)?;
    let mut sets: Vec<HashSet<String>> = Vec::new();
    for target in others {
        sets.push(lines(&judge(assembler, &path, &all, target)?).map(str::to_owned).collect());
    }
    let mut answer: String =
        TARGETS.iter().map(|(version, architecture)| format!("{version}/{architecture} ")).collect();
    answer = format!("{}\n", answer.trim_end());
    for line in lines(&all) {
        let bits = sets
            .iter()
            .zip(0..)
            .fold(1 << others.len(), |bits, (set, bit)| bits | u32::from(set.contains(line)) << bit);
        answer.push_str(&format!("{bits:02x} {line}\n"));
    }
    Ok(answer)
}

/// The text without the lines that the assembler refuses for a target: it names the line of each. It looks at
/// some mistakes only where there are no others, so it is asked again without those lines, until it takes the
/// rest.
fn judge(assembler: &Path, path: &Path, text: &str, (version, architecture): &(&str, &str)) -> Result<String, String> {
    let body = text.lines().skip(2).collect::<Vec<_>>().join("\n");
    let mut text = format!(".version {version}\n.target {architecture}\n{body}\n");
    loop {
        fs::write(path, &text).map_err(at(path))?;
        let mut command = Command::new(assembler);
        command.arg(format!("--gpu-name={architecture}"));
        command.args(["--compile-only", "--opt-level=0", "--output-file", "/dev/null"]).arg(path);
        let output = command.output().map_err(at(assembler))?;
        if output.status.success() {
            return Ok(text);
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let refused = refused(&said);
        if refused.is_empty() {
            return Err(format!("ptxas names no line of {}:\n{said}", path.display()));
        }
        text = without(&text, &refused);
    }
}

/// The text with nothing on some lines.
fn without(text: &str, refused: &HashSet<usize>) -> String {
    let lines = text.lines().zip(1..);
    lines.map(|(line, number)| if refused.contains(&number) { "\n".to_owned() } else { format!("{line}\n") }).collect()
}

/// The lines behind the kernel's first that are left.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().skip_while(|line| !line.contains(".entry")).skip(1);
    lines.take_while(|line| !line.starts_with("ret;")).filter(|line| !line.is_empty())
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
        assert_eq!(lines(&without(text, &refused(said))).collect::<Vec<_>>(), ["add.u32 a;"]);
    }
}
