//! `warploom topology`: peer access between devices, and the links it goes over.

use warploom::{Device, PeerAtomics, Result, Topology};

use super::Run;
use crate::choice::{DriverArgs, Opened};
use crate::failure::Failure;
use crate::human;
use crate::report::{PairReport, TopologyReport};
use crate::session::{Output, Session};

const EXAMPLES: &str = "\
Examples:
  warploom topology --machine dgx-h100                         tables of access, rank and atomics
  warploom topology --machine dgx-h100 --svg > topology.svg    a picture
  warploom topology --machine asymmetric --dot | dot -Tpng     with Graphviz";

/// Arguments of `warploom topology`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    driver: DriverArgs,
    /// Print a graph for Graphviz
    #[arg(long)]
    dot: bool,
    /// Print a picture
    #[arg(long, conflicts_with = "dot")]
    svg: bool,
}

impl Run for Args {
    fn driver(&self) -> Option<&DriverArgs> {
        Some(&self.driver)
    }

    fn run(&self, session: &Session) -> Result<Output, Failure> {
        session.no_json_with("--dot", self.dot)?;
        session.no_json_with("--svg", self.svg)?;
        let opened = session.choice(&self.driver).open()?;
        let topology = probe(&opened)?;
        if self.dot {
            return Ok(Output::text(topology.to_dot()));
        }
        if self.svg {
            return Ok(Output::text(topology.to_svg()));
        }
        let report = report(&opened, &topology);
        session.show(&report, |style| human::topology(&report, &topology, style))
    }
}

/// The topology of all devices, links included.
fn probe(opened: &Opened) -> Result<Topology> {
    let topology = Topology::probe(&opened.driver.devices()?)?;
    topology.probe_links()?;
    Ok(topology)
}

fn report(opened: &Opened, topology: &Topology) -> TopologyReport {
    let ordinals =
        |islands: Vec<Vec<Device>>| islands.iter().map(|island| island.iter().map(Device::ordinal).collect()).collect();
    let pair = |pair: warploom::Pair<'_>| PairReport {
        accessor: pair.accessor.ordinal(),
        owner: pair.owner.ordinal(),
        can_access: pair.can_access.ok(),
        error: pair.can_access.err().map(ToString::to_string),
        performance_rank: pair.link.map(|link| link.performance_rank),
        atomics: pair.link.map(|link| match link.atomics {
            PeerAtomics::None => "none",
            PeerAtomics::Partial => "partial",
            PeerAtomics::Native => "native",
        }),
        array_access: pair.link.map(|link| link.array_access),
    };
    TopologyReport {
        driver: opened.report.clone(),
        islands: ordinals(topology.islands()),
        mutual_islands: ordinals(topology.mutual_islands()),
        pairs: topology.pairs().map(pair).collect(),
    }
}
