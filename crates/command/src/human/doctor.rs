//! Driver, libraries and folders of this system.

use super::Style;
use super::table::{Side, Table};
use crate::report::{DoctorReport, Health};

pub(crate) fn doctor(report: &DoctorReport, style: Style) -> String {
    let mut table = Table::new([("", Side::Left), ("subject", Side::Left), ("found", Side::Left)]);
    for subject in &report.subjects {
        let mark = match subject.health {
            Health::Good => "✓",
            Health::Absent => "–",
            Health::Bad => "✗",
        };
        table.row([mark.to_owned(), subject.name.clone(), subject.found.clone()]);
        if let Some(step) = &subject.next_step {
            table.row([String::new(), String::new(), format!("→ {step}")]);
        }
    }
    let verdict = match (report.can_run_on_gpu, report.can_simulate) {
        (true, true) => "Programs can run on a GPU, and on a simulated machine.",
        (true, false) => "Programs can run on a GPU; the simulated machine does not work.",
        (false, true) => "Programs can run on a simulated machine; there is no GPU to use.",
        (false, false) => "Nothing can run here.",
    };
    format!("{}{}\n", table.render(style), style.heading(verdict))
}
