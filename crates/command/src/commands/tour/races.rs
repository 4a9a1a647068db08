//! A program that waits too early, and the finding of a machine that checks.

use warploom::{DevicePool, Driver, Result};
use warploom_sim::topology::Topology;
use warploom_sim::{Checks, FindingKind, Machine};

use super::StepResult;
use crate::report::{Check, Findings};

const BYTES: usize = 4096;

pub(super) fn visit(topology: &Topology) -> StepResult {
    let checked = |records_late: bool| -> Result<(Vec<u8>, Machine), Box<dyn std::error::Error>> {
        let machine = Machine::builder().topology(topology.clone()).checks(Checks::report()).start()?;
        let bytes = run(&Driver::open(&machine)?, records_late)?;
        Ok((bytes, machine))
    };
    let (_, wrong) = checked(false)?;
    let (bytes, right) = checked(true)?;
    let findings = wrong.findings();
    let is_found = matches!(findings.as_slice(), [finding] if matches!(finding.kind, FindingKind::Race { .. }));
    let checks = vec![
        Check::new("the missing wait was found, however the run went", is_found),
        Check::new("the program that records its event in the right place has no finding", right.findings().is_empty()),
        Check::new("and gives the bytes that it should", bytes == [7; BYTES]),
    ];
    Ok((Findings::Races { findings }, checks))
}

/// One stream fills a buffer and another copies it. The event between them is recorded after the fill, or too
/// early.
fn run(driver: &Driver, records_late: bool) -> Result<Vec<u8>> {
    let context = driver.device(0)?.context()?;
    let pool = DevicePool::new(&context)?;
    let (first, second) = (context.stream()?, context.stream()?);
    let mut source = pool.zeroed(BYTES, &first)?;
    let mut copy = pool.zeroed(BYTES, &second)?;
    // The first use of a buffer on another stream is ordered by the library; from then on it is the program's
    // business.
    source.copy_to(&mut copy, &second)?;
    first.wait(&second.record()?)?;
    let early = first.record()?;
    source.fill(7, &first)?;
    let late = first.record()?;
    second.wait(if records_late { &late } else { &early })?;
    source.copy_to(&mut copy, &second)?;
    copy.download(&second)
}
