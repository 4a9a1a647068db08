//! Eight processes that import and drop buffers of a ninth, and are killed at random.

use std::time::{Duration, Instant};

use warploom::leaks::{Kind, Leaks};
use warploom::{Buffer, Driver};
use warploom_testkit::process::{Channel, Child};
use warploom_testkit::{Random, TestResult, below, driver_tests};

use crate::support::{import, open, receive_descriptor, receive_pool, send_pool, shareable, start};

const PROCESSES: usize = 8;
const BUFFERS: u32 = 12;
const LEN: usize = 5000;
/// The long soak.
const LONG: Duration = Duration::from_secs(60);

/// Imports, reads and drops buffers of the parent, each of which is full of its number, as often as it is
/// told.
pub(crate) fn churn(driver: &below::driver::Driver, parent: &Channel) -> TestResult {
    let (driver, context, stream) = open(driver)?;
    let (leaks, other) = (Leaks::track(&driver), context.stream()?);
    let pool = receive_pool(parent, &context)?;
    let descriptors = (0..BUFFERS).map(|_| receive_descriptor(parent)).collect::<TestResult<Vec<_>>>()?;
    let turns = u32::from_le_bytes(parent.receive_array()?);
    let (mut random, mut held) = (Random::new(u64::from(std::process::id())), Vec::new());
    for _ in 0..turns {
        let number = random.below(BUFFERS as usize);
        let buffer: Buffer<u32> = import(&pool, &descriptors[number], random.pick(&[&stream, &other]))?;
        let at = random.below(LEN);
        assert_eq!(buffer.slice(at..)?.slice(..1)?.download(&stream)?, [number as u32]);
        held.push(buffer);
        if held.len() > 5 {
            drop(held.swap_remove(random.below(5)));
        }
    }
    drop((held, pool));
    stream.synchronize()?;
    other.synchronize()?;
    assert_eq!(leaks.report().count(|kind| kind.is_memory() || kind == Kind::Pool), 0, "{}", leaks.report());
    parent.signal()
}

fn soak(driver: &Driver, duration: Duration, turns: u32) -> TestResult {
    let context = driver.device(0)?.context()?;
    let (stream, pool) = (context.stream()?, shareable(&context)?);
    let buffers = (0..BUFFERS).map(|number| pool.upload(&vec![number; LEN], &stream));
    let buffers = buffers.collect::<warploom::Result<Vec<_>>>()?;
    stream.synchronize()?;
    let used = pool.statistics()?.used;
    let hire = || -> TestResult<Child> {
        let child = start(driver, "churn")?;
        send_pool(child.channel(), &pool.export()?)?;
        for buffer in &buffers {
            child.channel().send(&buffer.descriptor()?.to_bytes(), &[])?;
        }
        child.channel().send(&turns.to_le_bytes(), &[])?;
        Ok(child)
    };
    let (mut random, end) = (Random::new(7), Instant::now() + duration);
    let mut children = (0..PROCESSES).map(|_| hire()).collect::<TestResult<Vec<_>>>()?;
    while Instant::now() < end {
        std::thread::sleep(Duration::from_millis(random.below(60) as u64));
        let child = children.swap_remove(random.below(PROCESSES));
        if random.below(2) == 0 {
            child.kill()?;
        } else {
            child.channel().wait()?;
            child.join()?;
        }
        children.push(hire()?);
    }
    for child in children {
        child.channel().wait()?;
        child.join()?;
    }
    for (number, buffer) in (0..).zip(&buffers) {
        assert_eq!(buffer.download(&stream)?, vec![number; LEN]);
    }
    assert_eq!(pool.statistics()?.used, used);
    drop(buffers);
    stream.synchronize()?;
    assert_eq!(pool.statistics()?.used, 0);
    Ok(())
}

driver_tests! {
    threads fn processes_that_are_killed_at_random_leave_nothing(driver) {
        soak(driver, Duration::from_secs(2), 30)?;
    }
}

/// The same for a minute, by `cargo test -p warploom --test processes -- --ignored a_minute`.
#[test]
#[ignore = "takes a minute"]
fn a_minute_of_processes_that_are_killed_at_random() -> TestResult {
    let topology = warploom_testkit::sim::topology::Topology::preset(warploom_testkit::MACHINE)?;
    let (_machine, driver) = warploom_testkit::open(topology, warploom_testkit::sim::Mode::Threads)?;
    soak(&driver, LONG, 200)
}
