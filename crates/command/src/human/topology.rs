//! A topology as tables and islands.

use warploom::Topology;

use super::Style;
use super::devices::driver;
use super::quantity::count;
use crate::report::TopologyReport;

pub(crate) fn topology(report: &TopologyReport, topology: &Topology, style: Style) -> String {
    let heading = style.heading(&count(topology.devices().len(), "device"));
    let mut text = format!("{heading} on {}\n\n", driver(&report.driver));
    for line in topology.to_string().lines() {
        text += &if line.is_empty() { "\n".to_owned() } else { format!("  {line}\n") };
    }
    text += &format!("\n  {}: {}\n", count(report.islands.len(), "island"), sets(&report.islands));
    if report.mutual_islands != report.islands {
        text += &format!("  in both directions: {}\n", sets(&report.mutual_islands));
    }
    text
}

/// `{0, 1} {2}`
fn sets(islands: &[Vec<u32>]) -> String {
    let set = |island: &Vec<u32>| format!("{{{}}}", island.iter().map(u32::to_string).collect::<Vec<_>>().join(", "));
    islands.iter().map(set).collect::<Vec<_>>().join(" ")
}
