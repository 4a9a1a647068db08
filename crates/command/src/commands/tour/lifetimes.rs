//! Buffers that are dropped while another stream still uses them or in a host function, and one that is
//! leaked.
#![expect(unsafe_code, reason = "fills memory by its address")]

use warploom::graph::reclaim;
use warploom::leaks::{Kind, Leaks};
use warploom::{Driver, Function};

use super::{StepResult, first_device};
use crate::report::{Alive, Check, Findings};

const BYTES: usize = 4 << 20;

pub(super) fn visit(driver: &Driver) -> StepResult {
    let leaks = Leaks::track(driver);
    let (first, pool) = first_device(driver)?;
    let second = pool.context().stream()?;
    let mut kept = pool.allocate::<u8>(BYTES, &second)?;

    let mut dropped = pool.allocate::<u8>(BYTES, &first)?;
    dropped.fill(0x5a, &second)?;
    dropped.copy_to(&mut kept, &second)?;
    let calls = driver.count_calls();
    drop(dropped); // freed in the order of `first`, after what `second` does with it
    let drop_calls: Vec<&str> =
        calls.by_function().into_iter().filter(|(_, count)| *count > 0).map(|(function, _)| function.name()).collect();
    let host_waited = calls.count(Function::cuStreamSynchronize) + calls.count(Function::cuEventSynchronize) > 0;
    drop(calls);
    let survived = kept.download(&second)?.iter().all(|byte| *byte == 0x5a);

    // A use by the raw address, which only the program knows of.
    let by_address = pool.allocate::<u8>(BYTES, &first)?;
    by_address.used_by(&second)?;
    // SAFETY: there are as many bytes, which nothing else uses, until `second` is done with them.
    second.with_raw(|raw| unsafe { driver.cuMemsetD8Async(by_address.as_raw(), 0xa5, BYTES, raw) })??;
    by_address.copy_to(&mut kept, &second)?;
    drop(by_address); // after what `second` does with it
    let was_there = kept.download(&second)?.iter().all(|byte| *byte == 0xa5);
    // CUDA must not be called in a host function: the buffer is freed a little later.
    let in_function = pool.zeroed::<u8>(BYTES, &first)?;
    first.host(move || drop(in_function))?.wait()?;
    reclaim();

    let report = leaks.report();
    let lost = (report.count(Kind::is_memory), report.bytes()) == (1, BYTES);
    let alive = report.totals().iter().map(Alive::of).collect();
    drop((kept, pool, first, second));
    let checks = vec![
        Check::new("the other stream could use it to the end", survived),
        Check::new("so it could by the address, once that was declared", was_there),
        Check::new("the host waited for nobody when it was dropped", !host_waited),
        Check::new("the one buffer that was kept is in the report", lost),
        Check::new("nothing is alive in the end", leaks.report().is_empty()),
    ];
    Ok((Findings::Lifetimes { drop_calls, alive }, checks))
}
