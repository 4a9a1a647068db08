//! Random graph programs on two drivers, whose answers are compared step by step.
//!
//! The real driver and a simulated H200 are open in the same process. Without a GPU, two simulated machines
//! in different modes are compared. A program is made again from its seed, which the report names.

mod captures;
mod definitions;
mod executables;
mod memory;
mod pairs;
mod program;
mod queries;
mod rig;

use warploom_testkit::driver::Driver;
use warploom_testkit::sim::topology::Topology;
use warploom_testkit::sim::{Mode, Order};
use warploom_testkit::{MACHINE, TestResult, on_cuda, open, random_programs};

use crate::program::{Answer, run};
use crate::rig::Rig;

/// Steps of a program.
const STEPS: usize = 80;
/// Answers before the different one that a report shows.
const SHOWN: usize = 20;
/// Different programs after which a comparison ends.
const REPORTS: usize = 5;

/// The first different answer of two drivers, with the last steps of the graphs that it concerns.
fn difference(seed: u64, names: [&str; 2], one: &[Answer], other: &[Answer]) -> Option<String> {
    let step = (0..one.len().max(other.len())).find(|step| one.get(*step) != other.get(*step))?;
    let text = |answers: &[Answer]| answers.get(step).map_or("no step".to_owned(), |answer| answer.text.clone());
    let concerned: Vec<usize> =
        [one, other].iter().filter_map(|answers| answers.get(step)).flat_map(|answer| answer.graphs.clone()).collect();
    let is_about = |answer: &&Answer| answer.graphs.iter().any(|graph| concerned.contains(graph));
    let mut before: Vec<&Answer> = one[..step].iter().rev().filter(is_about).take(SHOWN).collect();
    before.reverse();
    let before: Vec<String> = before.iter().map(|answer| format!("  {}", answer.text)).collect();
    let [first, second] = names;
    Some(format!(
        "seed {seed}, step {step}: after\n{}\n{first} answers\n  {}\n{second} answers\n  {}",
        before.join("\n"),
        text(one),
        text(other),
    ))
}

/// Runs `programs` programs and as many times `pairs` pairs of graphs on the first driver and on the others,
/// and compares.
fn compare(drivers: &[(&str, &Driver)], programs: u32, pairs: u32) -> TestResult {
    let mut rigs = Vec::new();
    for (name, driver) in drivers {
        rigs.push((*name, Rig::new(driver)?));
    }
    let (mut reports, mut can_go_on) = (Vec::new(), true);
    'all: for seed in 0..u64::from(programs) {
        let mut first: Option<(&str, Vec<Answer>)> = None;
        for (name, rig) in &rigs {
            let expected = first.as_ref().map(|(_, answers)| &answers[..]);
            let answers = match run(rig, seed, STEPS, expected) {
                Ok(answers) => answers,
                Err(error) => {
                    reports.push(format!("seed {seed}: {name} cannot go on: {error}"));
                    can_go_on = false;
                    break 'all;
                }
            };
            match &first {
                None => first = Some((*name, answers)),
                Some((other, expected)) => {
                    reports.extend(difference(seed, [*other, *name], expected, &answers));
                }
            }
            if reports.len() >= REPORTS {
                break 'all;
            }
        }
    }
    for seed in (0..u64::from(pairs)).take_while(|_| can_go_on) {
        let answers: Vec<String> = rigs.iter().map(|(_, rig)| pairs::answer(rig, seed)).collect::<TestResult<_>>()?;
        if reports.len() < REPORTS && answers.iter().any(|answer| *answer != answers[0]) {
            let named: Vec<String> =
                rigs.iter().zip(&answers).map(|((name, _), answer)| format!("{name}: {answer}")).collect();
            reports.push(format!("pair {seed}:\n  {}", named.join("\n  ")));
        }
    }
    assert!(reports.is_empty(), "{}", reports.join("\n\n"));
    for (_, rig) in rigs {
        rig.close()?;
    }
    Ok(())
}

const THREADS: Mode = Mode::Threads;
const SEEDED: Mode = Mode::Deterministic(Order::Seeded(1));

#[test]
fn two_simulated_drivers_answer_random_graph_programs_alike() -> TestResult {
    let (_one, threads) = open(Topology::preset(MACHINE)?, THREADS)?;
    let (_other, seeded) = open(Topology::preset(MACHINE)?, SEEDED)?;
    compare(&[("the machine with threads", &threads), ("the seeded machine", &seeded)], random_programs(100), 200)
}

mod the_simulated_driver_answers_random_graph_programs_as_the_real_one_does {
    use super::*;

    #[test]
    #[ignore = "needs an NVIDIA GPU and its driver"]
    fn cuda() -> TestResult {
        on_cuda(|real: &Driver| {
            let (_one, threads) = open(Topology::preset(MACHINE)?, THREADS)?;
            let (_other, seeded) = open(Topology::preset(MACHINE)?, SEEDED)?;
            let drivers = [
                ("the simulated driver with threads", &threads),
                ("the real driver", real),
                ("the seeded simulated driver", &seeded),
            ];
            let programs = random_programs(300);
            compare(&drivers, programs, programs.saturating_mul(20) / 3)
        })
    }
}
