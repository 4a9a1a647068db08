//! `warploom man`: manual pages, one for the command and one for each subcommand.

use std::path::{Path, PathBuf};

use clap::CommandFactory as _;
use clap_mangen::Man;
use serde::Serialize;

use super::Run;
use crate::command_line::CommandLine;
use crate::failure::Failure;
use crate::session::{Output, Session};

const EXAMPLES: &str = "\
Examples:
  warploom man | man -l -              the page of the command
  warploom man graph | man -l -        the page of a subcommand
  warploom man --folder ~/.local/share/man/man1";

/// Arguments of `warploom man`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The subcommand; without it, `warploom` itself
    command: Option<String>,
    /// Write all pages into a folder, which must be there
    #[arg(long, value_name = "FOLDER", conflicts_with = "command")]
    folder: Option<PathBuf>,
}

/// A manual page.
#[derive(Serialize)]
struct Page {
    name: String,
    /// The page in roff; left out if it was written into a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    page: Option<String>,
    /// The file.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<PathBuf>,
}

impl Run for Args {
    fn run(&self, session: &Session) -> Result<Output, Failure> {
        let mut command = CommandLine::command();
        command.build();
        if let Some(folder) = &self.folder {
            let written = write_all(&command, folder)?;
            return session.show(&written, |_| {
                let files = written.iter().filter_map(|page| page.file.as_ref());
                files.map(|file| format!("{}\n", file.display())).collect()
            });
        }
        let page = match &self.command {
            None => command,
            Some(name) => command.find_subcommand(name).cloned().ok_or_else(|| {
                let names: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
                Failure::misuse(format_args!("there is no command {name:?}"))
                    .hint(format!("there are {}", names.join(", ")))
            })?,
        };
        let (name, text) = render(page)?;
        let report = Page { name, page: Some(text), file: None };
        session.show(&report, |_| report.page.clone().unwrap_or_default())
    }
}

/// Writes the page of the command and of each subcommand.
fn write_all(command: &clap::Command, folder: &Path) -> Result<Vec<Page>, Failure> {
    let commands = std::iter::once(command).chain(command.get_subcommands());
    commands
        .filter(|command| !command.is_hide_set())
        .map(|command| {
            let (name, text) = render(command.clone())?;
            let file = folder.join(format!("{name}.1"));
            std::fs::write(&file, text).map_err(|error| Failure::file(&file, error))?;
            Ok(Page { name, page: None, file: Some(file) })
        })
        .collect()
}

/// The name of a page and its text.
fn render(command: clap::Command) -> Result<(String, String), Failure> {
    // `warploom graph` has the page warploom-graph(1).
    let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
    let mut page = Vec::new();
    Man::new(command).render(&mut page)?;
    Ok((name, String::from_utf8(page)?))
}
