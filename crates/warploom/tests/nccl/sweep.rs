//! NCCL with each driver call failing, the stand-in's own included.

use warploom::nccl::Reduction;
use warploom::{Context, Driver, Result};
use warploom_sim::fault::Calls;
use warploom_sim::topology::Topology;
use warploom_sim::{Mode, Order};
use warploom_testkit::TestResult;
use warploom_testkit::sweep::Sweep;

use super::{Alone, Fake};

/// Every failure is reported, and nothing is left over. The current context is restored in a `drop`, so that
/// may fail; `more` names other calls that may fail and do no harm.
fn everywhere(preset: &str, more: &[&str], scenario: fn(&Driver) -> Result<()>) -> TestResult {
    for mode in [Mode::Deterministic(Order::Eager), Mode::Deterministic(Order::Lazy)] {
        let mut sweep = Sweep::new(Topology::preset(preset)?).mode(mode).after_effect(true);
        for name in ["cuCtxSetCurrent"].iter().chain(more) {
            sweep = sweep.tolerates(Calls::named(name)?);
        }
        sweep.run(|_, driver| scenario(driver));
    }
    Ok(())
}

#[test]
fn operations_leave_nothing_behind() -> TestResult {
    everywhere("h200", &[], |driver| {
        let Alone { communicator, stream, pool, library, .. } = Alone::on(driver)?;
        let sent = pool.upload(&[1_u32, 2, 3, 4], &stream)?;
        let mut received = pool.zeroed::<u32>(4, &stream)?;
        communicator.broadcast_to(&sent, &mut received, 0, &stream)?;
        communicator.all_reduce(&sent, &mut received, Reduction::Sum, &stream)?;
        communicator.reduce(&sent, Some(received.as_slice_mut()), Reduction::Max, 0, &stream)?;
        communicator.reduce_scatter(&sent, &mut received, Reduction::Min, &stream)?;
        let mut other = pool.zeroed::<u32>(4, &stream)?;
        let mut group = library.nccl.group();
        group.all_gather(&communicator, &sent, &mut received, &stream)?;
        group.broadcast(&communicator, &mut other, 0, &stream)?;
        group.run()?;
        communicator.check()?;
        communicator.close()?;
        sent.close()?;
        received.close()?;
        other.close()
    })
}

#[test]
fn communicators_that_are_joined_leave_nothing_behind() -> TestResult {
    everywhere("pcie-pair", &[], |driver| {
        let fake = Fake::on(driver);
        let nccl = fake.nccl()?;
        let contexts = driver.devices()?.iter().map(|device| device.context()).collect::<Result<Vec<_>>>()?;
        let mut joined = nccl.join_alone(&contexts)?;
        joined.remove(0).abort()?;
        joined.remove(0).close()?;
        contexts.into_iter().try_for_each(Context::close)
    })
}

/// The host waits, if a stream cannot be made to wait for another when memory is freed.
#[test]
fn operations_with_memory_of_other_streams_leave_nothing_behind() -> TestResult {
    everywhere("h200", &["cuEventRecord", "cuStreamWaitEvent"], |driver| {
        let Alone { communicator, context, stream, pool, .. } = Alone::on(driver)?;
        let home = context.stream()?;
        let sent = pool.upload(&[1_u32, 2, 3, 4], &home)?;
        let mut received = pool.allocate::<u32>(4, &home)?;
        communicator.all_reduce(&sent, &mut received, Reduction::Sum, &stream)?;
        communicator.close()?;
        sent.close()?;
        received.close()
    })
}
