//! Lines of source files, around the places of findings.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{Read, Take};

use warploom_record::{Source, SourceLine};

/// Lines shown before and after a place.
const AROUND: usize = 2;

/// Bytes of the largest file that is read.
const LARGEST: u64 = 4 << 20;

/// Source files that have been read.
#[derive(Default)]
pub(super) struct Sources {
    lines: HashMap<String, Vec<String>>,
}

impl Sources {
    /// The lines around a place; none if the file cannot be read.
    pub(super) fn around(&mut self, file: &str, line: u32) -> Source {
        if !self.lines.contains_key(file) {
            self.lines.insert(file.to_owned(), read(file));
        }
        let all = &self.lines[file];
        let at = line as usize;
        let range = at.saturating_sub(AROUND).max(1)..=at.saturating_add(AROUND).min(all.len());
        let lines = range.map(|number| SourceLine { number: number as u32, text: all[number - 1].clone() });
        let lines = if at <= all.len() { lines.collect() } else { Vec::new() };
        Source { file: file.to_owned(), line, lines }
    }
}

/// The lines of a regular file of moderate size.
fn read(file: &str) -> Vec<String> {
    let is_plain = fs::metadata(file).is_ok_and(|facts| facts.is_file() && facts.len() <= LARGEST);
    let mut bytes = Vec::new();
    let reader = is_plain.then(|| File::open(file).ok()).flatten().map(|file| file.take(LARGEST));
    let is_read = reader.is_some_and(|mut reader: Take<File>| reader.read_to_end(&mut bytes).is_ok());
    if !is_read {
        return Vec::new();
    }
    String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_around_a_place_end_with_the_file() -> std::io::Result<()> {
        let path = std::env::temp_dir().join(format!("warploom-source-{}.c", std::process::id()));
        fs::write(&path, "one\ntwo\nthree\nfour\n")?;
        let name = path.to_string_lossy().into_owned();
        let mut sources = Sources::default();
        let numbers = |source: Source| source.lines.into_iter().map(|line| line.number).collect::<Vec<_>>();
        let middle = sources.around(&name, 2);
        assert_eq!(middle.lines[1], SourceLine { number: 2, text: "two".to_owned() });
        assert_eq!(numbers(middle), [1, 2, 3, 4]);
        assert_eq!(numbers(sources.around(&name, 4)), [2, 3, 4]);
        for beyond in [0, 5, u32::MAX] {
            let expected: &[u32] = if beyond == 0 { &[1, 2] } else { &[] };
            assert_eq!(numbers(sources.around(&name, beyond)), expected, "{beyond}");
        }
        fs::remove_file(&path)
    }

    #[test]
    fn files_that_cannot_be_read_have_no_lines() {
        let mut sources = Sources::default();
        for file in ["/absent/file.cu", "/dev/zero", "/"] {
            assert_eq!(sources.around(file, 1).lines, [], "{file}");
        }
    }
}
