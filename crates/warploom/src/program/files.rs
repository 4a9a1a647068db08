//! Options that read or write files, which a cache cannot see.

use super::CompileOptions;

/// The files that an option reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Files {
    Read,
    Written,
}

/// Options that read or write files, without the value after `=`.
const FILES: &[(&str, Files)] = &[
    ("-I", Files::Read),
    ("--include-path", Files::Read),
    // It also writes, but nothing that a hit would miss.
    ("--use-bundled-headers", Files::Read),
    ("-include", Files::Read),
    ("--pre-include", Files::Read),
    ("-pch", Files::Written),
    ("--pch", Files::Written),
    ("-create-pch", Files::Written),
    ("--create-pch", Files::Written),
    ("-use-pch", Files::Read),
    ("--use-pch", Files::Read),
    ("-pch-dir", Files::Read),
    ("--pch-dir", Files::Read),
    ("-time", Files::Written),
    ("--time", Files::Written),
    ("-fdevice-time-trace", Files::Written),
    ("--fdevice-time-trace", Files::Written),
];

impl CompileOptions {
    /// The reason that the code cannot be cached, if there is one; `has_digest` if there is one of all files
    /// that are read.
    pub(super) fn refuse_files(&self, is_given: impl Fn(&str) -> bool, has_digest: bool) -> Result<(), String> {
        match self.files(is_given) {
            Some((option, Files::Written)) => {
                Err(format!("{option} writes files, which a hit would not; compile it without a cache"))
            }
            Some((option, Files::Read)) if !has_digest => {
                Err(format!("{option} reads files, which may change; give a files_digest, or headers with the program"))
            }
            _ => Ok(()),
        }
    }

    /// The first option that has to do with files; of a header that `is_given` with the program nothing needs
    /// to be read.
    fn files(&self, is_given: impl Fn(&str) -> bool) -> Option<(String, Files)> {
        let switches = self.switches.iter().map(|switch| (*switch).to_owned());
        let values = self.values.iter().map(|(name, value)| format!("{name}{}", value.display()));
        let options: Vec<String> = switches.chain(values).chain(self.extra.iter().cloned()).collect();
        let uses = || options.iter().filter_map(|option| Some((option.clone(), file_use(option)?)));
        // Writing is the stronger reason, and so comes first.
        if let Some(written) = uses().find(|(_, files)| *files == Files::Written) {
            return Some(written);
        }
        if let Some(folder) = self.includes.first() {
            return Some((format!("--include-path={}", folder.display()), Files::Read));
        }
        if let Some(header) = self.pre_includes.iter().find(|header| !is_given(header)) {
            return Some((format!("--pre-include={header}"), Files::Read));
        }
        uses().next()
    }
}

fn file_use(option: &str) -> Option<Files> {
    let option = option.trim_start();
    if matches!(option, "--time=-" | "-time=-") {
        return None;
    }
    let word = option.split(['=', ' ']).next().unwrap_or(option);
    let named = FILES.iter().find(|(name, _)| *name == word).map(|(_, files)| *files);
    // A folder may follow at once.
    named.or_else(|| option.starts_with("-I").then_some(Files::Read))
}

#[cfg(test)]
mod tests {
    use super::super::Architecture;
    use super::super::options::ReadPrecompiled as _;
    use super::*;

    fn options() -> CompileOptions {
        CompileOptions::new(Architecture::sm(90))
    }

    #[test]
    fn options_that_have_to_do_with_files_are_known() {
        let use_of = |options: CompileOptions| options.files(|name| name == "given.h").map(|(_, files)| files);
        assert_eq!(use_of(options().fast_math().raw("--fmad=true").raw("--Ink")), None);
        assert_eq!(use_of(options().pre_include("given.h")), None);
        assert_eq!(use_of(options().pre_include("other.h")), Some(Files::Read));
        assert_eq!(use_of(options().include("/folder")), Some(Files::Read));
        for raw in ["-I", "-I/folder", "-I /folder", "--include-path=/folder", "-include=x.h", "--use-pch=x"] {
            assert_eq!(use_of(options().raw(raw)), Some(Files::Read), "{raw}");
        }
        for typed in [options().reading("x"), options().precompiled_folder("x"), options().bundled_headers("x")] {
            assert_eq!(use_of(typed), Some(Files::Read));
        }
        assert_eq!(use_of(options().time_in_log().random_seed("x")), None);
        for typed in [
            options().reading_any(),
            options().create_precompiled_header("x"),
            options().time("x"),
            options().time_trace("x"),
        ] {
            assert_eq!(use_of(typed.include("/folder").reading("x")), Some(Files::Written));
        }
        for raw in ["--pch", "--create-pch=x", "--time=x", "-fdevice-time-trace=x", "-time"] {
            assert_eq!(use_of(options().raw("-I.").raw(raw)), Some(Files::Written), "{raw}");
        }
    }
}
