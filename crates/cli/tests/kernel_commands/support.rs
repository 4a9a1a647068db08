//! The command in a folder of its own, with the kernels of `tests/kernels` in it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

/// A folder for one test, removed with it.
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// A folder with a copy of each kernel.
    pub(crate) fn new() -> Folder {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("warploom-cli-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).expect("the folder for temporary files can be written");
        let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels");
        for file in std::fs::read_dir(kernels).expect("there are kernels") {
            let file = file.expect("the folder can be read");
            std::fs::copy(file.path(), path.join(file.file_name())).expect("files can be copied");
        }
        Folder(path)
    }

    pub(crate) fn write(&self, name: &str, contents: impl AsRef<[u8]>) {
        std::fs::write(self.0.join(name), contents).expect("the folder can be written");
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.0.join(name)).expect("the file is there")
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_warploom"));
        command.current_dir(&self.0).args(arguments).env_remove("COLUMNS").env_remove("NO_COLOR");
        command.stdin(Stdio::null());
        command
    }

    /// Exit code, standard output and standard error.
    pub(crate) fn run(&self, arguments: &[&str]) -> (Option<i32>, String, String) {
        let Output { status, stdout, stderr } = self.command(arguments).output().expect("the command starts");
        let text = |bytes| String::from_utf8(bytes).expect("output is UTF-8");
        (status.code(), text(stdout), text(stderr))
    }

    /// Standard output of a command that ends with this code, and writes nothing to standard error.
    #[track_caller]
    pub(crate) fn prints(&self, code: i32, arguments: &[&str]) -> String {
        let (found, text, said) = self.run(arguments);
        assert_eq!((found, said.as_str()), (Some(code), ""), "{arguments:?}: {text}");
        text
    }

    /// Standard error of a command that ends with this code, and prints nothing.
    #[track_caller]
    pub(crate) fn complains(&self, code: i32, arguments: &[&str]) -> String {
        let (found, text, said) = self.run(arguments);
        assert_eq!((found, text.as_str()), (Some(code), ""), "{arguments:?}: {said}");
        said
    }

    #[track_caller]
    pub(crate) fn json(&self, code: i32, arguments: &[&str]) -> Value {
        let text = self.prints(code, &[arguments, &["--json"]].concat());
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error} in {text}"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// The words of a command line, of which some are in single quotes.
pub(crate) fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (index, part) in line.split('\'').enumerate() {
        match index % 2 {
            0 => words.extend(part.split_whitespace().map(str::to_owned)),
            _ => words.push(part.to_owned()),
        }
    }
    words
}

/// The examples in the help of a command, without the word `warploom` and the remark behind two spaces.
pub(crate) fn examples(folder: &Folder, command: &str) -> Vec<String> {
    let help = folder.prints(0, &["help", command]);
    let examples = help.split("Examples:\n").nth(1).expect("the help has examples");
    let lines = examples.lines().take_while(|line| !line.is_empty());
    let lines = lines.map(|line| line.trim_start().split("  ").next().unwrap_or_default().to_owned());
    lines.filter_map(|line| line.strip_prefix("warploom ").map(str::to_owned)).collect()
}

/// The guide to the commands.
pub(crate) const GUIDE: &str = include_str!("../../../../docs/run.md");

/// The console blocks of a guide with this command: command lines without `$ warploom`, and the output below
/// each.
pub(crate) fn console_blocks(guide: &str, command: &str) -> Vec<(String, String)> {
    let mut blocks = Vec::new();
    for block in guide.split("```console\n").skip(1) {
        let block = block.split("```").next().unwrap_or_default();
        for part in block.split("$ warploom ").skip(1) {
            // A line that ends in a backslash goes on in the next.
            let part = part.replace("\\\n", " ");
            let (line, output) = part.split_once('\n').unwrap_or((&part, ""));
            if line.split_whitespace().next() == Some(command) {
                blocks.push((line.to_owned(), output.to_owned()));
            }
        }
    }
    blocks
}

/// Output without the numbers of driver calls, times and registers, which differ between versions of the library,
/// its model of time and its estimates.
pub(crate) fn without_estimates(text: &str) -> String {
    let is_digit = |character: char| character.is_ascii_digit() || character == '.';
    let mut plain = String::new();
    for (index, part) in text.split("(call ").enumerate() {
        let part = if index > 0 { part.trim_start_matches(is_digit) } else { part };
        plain += if index > 0 { "(call N" } else { "" };
        plain += part;
    }
    for unit in [" ms", " registers"] {
        let parts: Vec<&str> = plain.split(unit).collect();
        let last = parts.len() - 1;
        let cut = parts.iter().enumerate().map(|(index, part)| {
            if index == last { (*part).to_owned() } else { format!("{}N", part.trim_end_matches(is_digit)) }
        });
        plain = cut.collect::<Vec<_>>().join(unit);
    }
    plain
}

#[test]
fn estimates_are_left_out_of_a_comparison() {
    assert_eq!(
        without_estimates("0.5 ms, 12 registers; f (call 7) and g (call 8)"),
        "N ms, N registers; f (call N) and g (call N)"
    );
    assert_eq!(without_estimates("registers: 3"), "registers: 3");
}
