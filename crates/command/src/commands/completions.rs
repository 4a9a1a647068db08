//! `warploom completions`: completion scripts for shells.

use clap::CommandFactory as _;
use clap_complete::Shell;
use serde::Serialize;

use super::Run;
use crate::command_line::CommandLine;
use crate::failure::Failure;
use crate::session::{Output, Session};

const EXAMPLES: &str = "\
Examples:
  warploom completions bash > ~/.local/share/bash-completion/completions/warploom
  warploom completions zsh > ~/.zfunc/_warploom    ~/.zfunc must be in fpath
  warploom completions fish > ~/.config/fish/completions/warploom.fish";

/// Arguments of `warploom completions`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

/// A completion script.
#[derive(Serialize)]
struct Report {
    shell: String,
    script: String,
}

impl Run for Args {
    fn run(&self, session: &Session) -> Result<Output, Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut CommandLine::command(), "warploom", &mut script);
        let report = Report { shell: self.shell.to_string(), script: String::from_utf8(script)? };
        session.show(&report, |_| report.script.clone())
    }
}
