//! Progress of a long command, on a terminal.

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

/// A command that takes less shows none.
const PATIENCE: Duration = Duration::from_millis(500);
/// Cells of the bar.
const CELLS: usize = 24;

/// A bar on standard error, if that is a terminal.
#[derive(Debug)]
pub(crate) struct Progress {
    is_terminal: bool,
    began: Instant,
    stage: &'static str,
    done: usize,
    total: usize,
    is_shown: bool,
}

impl Progress {
    pub(crate) fn new() -> Progress {
        let is_terminal = std::io::stderr().is_terminal();
        Progress { is_terminal, began: Instant::now(), stage: "", done: 0, total: 0, is_shown: false }
    }

    /// Begins a stage of so many steps.
    pub(crate) fn start(&mut self, stage: &'static str, total: usize) {
        *self = Progress { stage, done: 0, total, ..*self };
        self.show();
    }

    /// One step is done.
    pub(crate) fn step(&mut self) {
        self.done += 1;
        self.show();
    }

    /// Takes the bar away.
    pub(crate) fn clear(&mut self) {
        if std::mem::take(&mut self.is_shown) {
            print("\r\x1b[K");
        }
    }

    fn show(&mut self) {
        if self.is_terminal && self.began.elapsed() >= PATIENCE {
            self.is_shown = true;
            print(&format!("\r\x1b[K{}", bar(self.stage, self.done, self.total)));
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

fn bar(stage: &str, done: usize, total: usize) -> String {
    let full = (done * CELLS).checked_div(total).unwrap_or(0).min(CELLS);
    format!("{stage} {}{} {done} of {total}", "█".repeat(full), "░".repeat(CELLS - full))
}

/// A terminal that is gone is no failure.
fn print(text: &str) {
    let mut stderr = std::io::stderr().lock();
    drop(stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush()));
}

#[cfg(test)]
mod tests {
    use super::bar;

    #[test]
    fn a_bar_fills_from_the_left() {
        assert_eq!(bar("calls", 0, 8), format!("calls {} 0 of 8", "░".repeat(24)));
        assert_eq!(bar("calls", 4, 8), format!("calls {}{} 4 of 8", "█".repeat(12), "░".repeat(12)));
        assert_eq!(bar("calls", 9, 0), format!("calls {} 9 of 0", "░".repeat(24)));
    }
}
