//! `warploom tour`: the library in use, with every result checked.
//!
//! A step that fails is reported, and the tour goes on: the next one may well work.

mod barrier;
mod cache;
mod capture;
mod copies;
mod fault;
mod graphs;
mod journey;
mod kernels;
mod lifetimes;
mod managed;
mod memory;
mod ordering;
mod orders;
mod pool;
#[cfg(unix)]
mod processes;
mod races;
mod resources;
mod what_if;

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use warploom::{DevicePool, Driver, Result, Stream};
use warploom_sim::Machine;

use super::{Run, devices, graph};
use crate::choice::{Choice, DriverArgs, Opened};
use crate::dot::Document;
use crate::failure::Failure;
use crate::human;
use crate::report::{Check, DriverKind, Findings, Step, Tour};
use crate::session::{Output, Session};

const EXAMPLES: &str = "\
Examples:
  warploom tour                                            on your GPU, or on a simulated machine with four
  warploom tour --machine dgx-h100 --timeline tour.json    with a timeline for https://ui.perfetto.dev
  warploom tour --html tour.html                           with a page of all that the machine did
  warploom tour --svg graph.svg                            with a picture of its graph";

/// Arguments of `warploom tour`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) driver: DriverArgs,
    /// Write a timeline of the tour on a simulated machine, for ui.perfetto.dev or chrome://tracing
    #[arg(long, value_name = "FILE")]
    pub(crate) timeline: Option<PathBuf>,
    /// Write an HTML page of the tour on a simulated machine: timeline, links, memory, kernels, calls
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Write a picture of the graph of the tour
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
}

impl Run for Args {
    fn driver(&self) -> Option<&DriverArgs> {
        Some(&self.driver)
    }

    fn run(&self, session: &Session) -> Result<Output, Failure> {
        let choice = session.choice(&self.driver);
        let recording =
            [("--timeline", &self.timeline), ("--html", &self.html)].into_iter().find(|(_, file)| file.is_some());
        if let (Some((option, _)), Choice::System) = (recording, &choice) {
            return Err(Failure::misuse(format!("{option} is only for a tour on a simulated machine"))
                .hint("leave --system out, or use Nsight Systems"));
        }
        // A file that cannot be written is an error before the tour begins.
        let page = self.html.as_ref().map(|path| File::create(path).map_err(|error| Failure::file(path, error)));
        let page = page.transpose()?;
        let opened = if recording.is_some() { choice.open_recording()? } else { choice.open()? };
        if let Some(worked) = work(&opened) {
            return worked.map(|()| Output::text(String::new())).map_err(Failure::new);
        }
        let tour = report(&opened);
        if let Some(path) = &self.timeline {
            write_timeline(&opened, path).map_err(|error| Failure::file(path, error))?;
        }
        if let Some(page) = page {
            write_page(&opened, page).map_err(Failure::new)?;
        }
        if let (Some(path), Some(dot)) = (&self.svg, tour.dot()) {
            graph::write_picture(&Document::parse(dot)?, path)?;
        }
        Ok(session.show(&tour, |style| human::tour(&tour, style))?.succeeded(tour.passed))
    }
}

fn write_timeline(opened: &Opened, path: &Path) -> io::Result<()> {
    let recorded = opened.machine.as_ref().and_then(Machine::timeline);
    recorded.unwrap_or_default().write_chrome(BufWriter::new(File::create(path)?))
}

/// Writes the page of a machine that records.
fn write_page(opened: &Opened, file: File) -> Result<(), Box<dyn std::error::Error>> {
    let mut record = opened.machine.as_ref().and_then(Machine::record).ok_or("the machine records nothing")?;
    if let DriverKind::Simulated { machine } = &opened.report.kind {
        record.machine.name.clone_from(machine);
    }
    Ok(warploom_page::write(&[record], &mut BufWriter::new(file))?)
}

/// The findings of a step and its checks.
type StepResult = Result<(Findings, Vec<Check>), Box<dyn std::error::Error>>;

fn report(opened: &Opened) -> Tour {
    let driver = &opened.driver;
    let calls = driver.count_calls();
    let devices = step("Devices", list(opened));
    let several = matches!(&devices.findings, Some(Findings::Devices(report)) if report.devices.len() > 1);
    let mut steps = vec![
        devices,
        step("Memory", memory::visit(driver)),
        step("Streams and events", ordering::visit(driver, opened.machine.is_some())),
        step("Copies", copies::visit(driver)),
        step("Memory pools", pool::visit(driver)),
        step("A budget, and who keeps the books", resources::visit(driver)),
        step("A cache of memory", cache::visit(driver)),
        step("Dropped too early, kept too long", lifetimes::visit(driver)),
    ];
    if managed::is_shared(driver).unwrap_or(false) {
        steps.push(step("Managed memory", managed::visit(driver)));
    }
    if several {
        steps.push(step("Several devices", journey::visit(driver)));
    }
    #[cfg(unix)]
    if processes::are_possible(driver) {
        steps.push(step("Several processes", processes::visit(driver)));
    }
    steps.push(step("A kernel on every device", kernels::visit(driver)));
    steps.push(step("Captured, and kept", capture::visit(driver)));
    if graphs::has_conditions(driver) {
        steps.push(step("Graphs", graphs::visit(driver)));
    }
    steps.push(step("Errors are values", fault::visit(driver)));
    if let Some(machine) = &opened.machine {
        steps.push(step("The same program in any order", orders::visit(machine.topology())));
        steps.push(step("A forgotten wait", races::visit(machine.topology())));
        steps.push(step("A forgotten barrier", barrier::visit(machine.topology())));
        steps.push(step("What if a call fails?", what_if::visit(machine.topology())));
    }
    let passed = steps.iter().all(Step::passed);
    Tour { driver: opened.report.clone(), steps, driver_calls: calls.total(), passed }
}

/// The part of a worker of the tour, if this process is one: its success.
#[cfg(unix)]
fn work(opened: &Opened) -> Option<Result<(), Box<dyn std::error::Error>>> {
    processes::work(&opened.driver)
}

/// There are no workers.
#[cfg(not(unix))]
fn work(_opened: &Opened) -> Option<Result<(), Box<dyn std::error::Error>>> {
    None
}

fn step(name: &'static str, result: StepResult) -> Step {
    match result {
        Ok((findings, checks)) => Step { name, findings: Some(findings), checks, error: None },
        Err(error) => Step { name, findings: None, checks: Vec::new(), error: Some(error.to_string()) },
    }
}

fn list(opened: &Opened) -> StepResult {
    Ok((Findings::Devices(devices::report(opened)?), Vec::new()))
}

/// The first device in use, with a stream and a pool.
fn first_device(driver: &Driver) -> Result<(Stream, DevicePool)> {
    let context = driver.device(0)?.context()?;
    Ok((context.stream()?, DevicePool::new(&context)?))
}

/// Bytes without a pattern that a mistake could hide in.
fn noise(len: usize) -> Vec<u8> {
    let mut state = 0x2545_f491_u32;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state.to_le_bytes()[0]
    };
    (0..len).map(|_| next()).collect()
}
