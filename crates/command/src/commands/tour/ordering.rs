//! Two streams, ordered by an event and by a word, which the host writes, too.

use warploom::{Comparison, Driver, StreamWord};

use super::{StepResult, first_device};
use crate::report::{Check, Findings};

const BYTES: usize = 16 << 20;

pub(super) fn visit(driver: &Driver, virtual_time: bool) -> StepResult {
    let (first, pool) = first_device(driver)?;
    let second = pool.context().stream()?;
    let mut source = pool.zeroed(BYTES, &first)?;
    let mut copy = pool.zeroed(BYTES, &second)?;

    let start = first.record_timed()?;
    source.fill(0x5a, &first)?;
    let filled = first.record_timed()?;
    second.wait(&filled)?;
    source.copy_to(&mut copy, &second)?;
    let end = second.record_timed()?;
    let bytes = copy.download(&second)?;

    let word = StreamWord::<u32>::new(pool.context(), 0)?;
    word.wait(Comparison::AtLeast(1), &first)?;
    source.fill(0xa5, &first)?;
    word.write(2, &first)?;
    word.wait(Comparison::AtLeast(2), &second)?;
    source.copy_to(&mut copy, &second)?;
    let was_held_up = !second.is_idle()?;
    word.store(1);
    let behind_word = copy.download(&second)?.iter().all(|byte| *byte == 0xa5);

    let fill_ms = filled.elapsed_ms(&start)?;
    let total_ms = end.elapsed_ms(&start)?;
    let checks = vec![
        Check::new("the second stream copied what the first had written", bytes.iter().all(|byte| *byte == 0x5a)),
        Check::new("the host held both streams up by a word, and released them", was_held_up && behind_word),
        Check::new("the copy ended after the fill", 0.0 < fill_ms && fill_ms < total_ms),
    ];
    Ok((Findings::Ordering { bytes: BYTES, fill_ms, total_ms, virtual_time }, checks))
}
