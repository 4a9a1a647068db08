//! Signals to the command reach the program.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use crate::{program, sim};

/// Sends a signal to the command once the program waits; the command's exit code.
#[track_caller]
fn code_after(signal: &str, what: &str) -> Option<i32> {
    let mut command = sim(&["--", program(), what]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the command starts");
    let mut line = String::new();
    // Open until the end, since the program writes again.
    let mut output = BufReader::new(child.stdout.take().expect("it is piped"));
    output.read_line(&mut line).expect("it can be read");
    assert_eq!(line, "ready\n");
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().expect("there is kill");
    assert!(sent.success());
    let code = child.wait().expect("it can be waited for").code();
    drop(output);
    code
}

#[test]
fn a_program_handles_the_signal_that_was_sent_to_the_command() {
    assert_eq!(code_after("-TERM", "wait"), Some(42));
}

#[test]
fn a_program_that_a_signal_kills_gives_128_and_its_number() {
    for (signal, number) in [("-INT", 2), ("-HUP", 1), ("-USR1", 10), ("-TERM", 15)] {
        assert_eq!(code_after(signal, "wait, no handler"), Some(128 + number), "{signal}");
    }
}
