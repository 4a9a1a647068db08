//! The command line of the tasks.

use std::process::{Command, Output};

fn xtask(words: &[&str]) -> std::io::Result<Output> {
    Command::new(env!("CARGO_BIN_EXE_xtask")).args(words).output()
}

#[test]
fn help_names_every_task() -> std::io::Result<()> {
    let help = xtask(&["help"])?;
    assert!(help.status.success());
    let text = String::from_utf8_lossy(&help.stdout).into_owned();
    let tasks =
        ["generate", "api", "layers", "ptx", "device-pack", "libcuda", "clients", "nvrtc", "sanitize", "targets"];
    for task in tasks {
        assert!(text.contains(&format!("\n  {task}")), "{task} is not in the help:\n{text}");
    }
    Ok(())
}

#[test]
fn an_unknown_task_is_refused_with_the_tasks_that_there_are() -> std::io::Result<()> {
    for words in [&["no-such-task"][..], &["api", "--no-such-option"], &[]] {
        let refused = xtask(words)?;
        assert_eq!(refused.status.code(), Some(2), "{words:?}");
        assert!(String::from_utf8_lossy(&refused.stderr).starts_with("usage: cargo xtask <task>"), "{words:?}");
    }
    Ok(())
}
