//! Times things that are to be compared: in turns, so that what disturbs one disturbs the others, and by the
//! median of many rounds.

use std::time::Instant;

pub(crate) type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// Does something so many times.
pub(crate) type Work<'a> = Box<dyn FnMut(u32) -> Outcome + 'a>;

/// One operation, as each contender does it, if it does; the first is what the others are measured by.
pub(crate) struct Row<'a> {
    pub(crate) name: &'static str,
    pub(crate) works: Vec<Option<Work<'a>>>,
    /// The operations of a round: fewer for those that take long.
    pub(crate) times: u32,
}

impl<'a> Row<'a> {
    /// An operation through the bare table, and with warploom.
    pub(crate) fn new(name: &'static str, raw: Work<'a>, ours: Work<'a>) -> Row<'a> {
        Row { name, works: vec![Some(raw), Some(ours)], times: TIMES }
    }
}

/// A work that repeats `once`. The loop is compiled together with it, as in a program that calls it.
pub(crate) fn repeat<'a, E: Into<Box<dyn std::error::Error>>>(
    mut once: impl FnMut() -> Result<(), E> + 'a,
) -> Work<'a> {
    Box::new(move |times| {
        for _ in 0..times {
            once().map_err(Into::into)?;
        }
        Ok(())
    })
}

const ROUNDS: usize = 151;
/// Few enough that a device's queue never fills up: then a call would wait for the device.
const TIMES: u32 = 200;

/// The part of a name that the program was started with, if only such rows are meant.
fn meant() -> String {
    std::env::args().skip(1).find(|argument| !argument.starts_with('-')).unwrap_or_default()
}

/// Prints what each row costs each contender, and how much of the first that is. Between rounds, `settle`
/// waits for the device.
pub(crate) fn compare(contenders: &[&str], rows: Vec<Row<'_>>, mut settle: impl FnMut() -> Outcome) -> Outcome {
    let part = meant();
    print!("{:<36}", "ns per operation");
    for (index, contender) in contenders.iter().enumerate() {
        print!("{contender:>11}{}", if index == 0 { "" } else { "        " });
    }
    println!();
    for Row { name, mut works, times } in rows.into_iter().filter(|row| row.name.contains(&part)) {
        let mut rounds = vec![Vec::with_capacity(ROUNDS); works.len()];
        for round in 0..ROUNDS + 1 {
            for turn in 0..works.len() {
                let index = (turn + round) % works.len();
                let Some(work) = &mut works[index] else { continue };
                let started = Instant::now();
                work(times)?;
                let nanoseconds = started.elapsed().as_secs_f64() * 1e9 / f64::from(times);
                settle()?;
                // The first round warms up.
                if round > 0 {
                    rounds[index].push(nanoseconds);
                }
            }
        }
        let medians: Vec<Option<f64>> = rounds.into_iter().map(median).collect();
        print!("{name:<36}");
        for (index, found) in medians.iter().enumerate() {
            match (found, medians[0]) {
                (None, _) => print!("{:>11}{}", "-", if index == 0 { "" } else { "        " }),
                (Some(found), Some(first)) if index > 0 => print!("{found:>11.1} ({:>5.3})", found / first),
                (Some(found), _) => print!("{found:>11.1}"),
            }
        }
        println!();
    }
    Ok(())
}

fn median(mut rounds: Vec<f64>) -> Option<f64> {
    rounds.sort_by(f64::total_cmp);
    rounds.get(rounds.len() / 2).copied()
}
