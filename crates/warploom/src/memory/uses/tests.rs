use warploom_driver::sys::Function;
use warploom_sim::Machine;

use super::{Access, order};
use crate::{Buffer, Context, DevicePool, Driver, Stream};

const READ: Access = Access::Read;
const WRITE: Access = Access::Write;

fn context() -> Context {
    let machine = Machine::preset("h200").expect("a machine");
    let driver = Driver::open(&machine).expect("a driver");
    driver.device(0).and_then(|device| device.context()).expect("a context")
}

fn buffer(context: &Context, home: &Stream) -> Buffer {
    DevicePool::new(context).and_then(|pool| pool.zeroed(64, home)).expect("a buffer")
}

/// The number of streams that `stream` waits for before an access, which it then makes.
fn waits<const N: usize>(stream: &Stream, operands: &[(&Buffer, Access); N]) -> u64 {
    let counter = stream.driver().count_calls();
    let held = operands.map(|(buffer, access)| (buffer.allocation(), access));
    order(stream, &held).expect("it can be ordered");
    held.iter().for_each(|(allocation, access)| allocation.did(stream, *access));
    assert_eq!(counter.count(Function::cuStreamWaitEvent), counter.count(Function::cuEventRecord));
    counter.count(Function::cuStreamWaitEvent)
}

#[test]
fn a_stream_does_not_wait_for_itself() {
    let context = context();
    let home = context.stream().expect("a stream");
    let buffer = buffer(&context, &home);
    assert_eq!([waits(&home, &[(&buffer, WRITE)]), waits(&home, &[(&buffer, READ)])], [0, 0]);
}

#[test]
fn a_stream_waits_for_the_home_once() {
    let context = context();
    let (home, other) = (context.stream().expect("a stream"), context.stream().expect("a stream"));
    let buffer = buffer(&context, &home);
    assert_eq!([waits(&other, &[(&buffer, READ)]), waits(&other, &[(&buffer, READ)])], [1, 0]);
    assert_eq!(waits(&other, &[(&buffer, WRITE)]), 0);
}

#[test]
fn a_read_waits_for_writes_and_not_for_reads() {
    let context = context();
    let [home, one, two] = [(); 3].map(|()| context.stream().expect("a stream"));
    let buffer = buffer(&context, &home);
    waits(&one, &[(&buffer, READ)]);
    assert_eq!(waits(&two, &[(&buffer, READ)]), 1, "the home");
    waits(&one, &[(&buffer, WRITE)]);
    assert_eq!(waits(&two, &[(&buffer, READ)]), 1, "the write");
    waits(&one, &[(&buffer, READ)]);
    assert_eq!(waits(&two, &[(&buffer, READ)]), 0);
}

#[test]
fn a_write_waits_for_reads() {
    let context = context();
    let [home, one, two] = [(); 3].map(|()| context.stream().expect("a stream"));
    let buffer = buffer(&context, &home);
    waits(&one, &[(&buffer, READ)]);
    waits(&two, &[(&buffer, READ)]);
    assert_eq!(waits(&home, &[(&buffer, WRITE)]), 2);
    assert_eq!(waits(&home, &[(&buffer, WRITE)]), 0);
}

#[test]
fn waiting_for_a_stream_covers_the_waits_of_that_stream() {
    let context = context();
    let [home, one, two] = [(); 3].map(|()| context.stream().expect("a stream"));
    let buffer = buffer(&context, &home);
    assert_eq!(waits(&one, &[(&buffer, WRITE)]), 1, "the home");
    assert_eq!(waits(&two, &[(&buffer, WRITE)]), 1, "the other, which has waited for the home");
}

#[test]
fn streams_that_waited_for_each_other_are_not_both_left_out() {
    let context = context();
    let [home, one, two, three] = [(); 4].map(|()| context.stream().expect("a stream"));
    let buffer = buffer(&context, &home);
    waits(&one, &[(&buffer, WRITE)]);
    waits(&two, &[(&buffer, WRITE)]);
    // It gets ready, and then enqueues nothing.
    order(&one, &[(buffer.allocation(), WRITE)]).expect("it can be ordered");
    assert_eq!(waits(&three, &[(&buffer, WRITE)]), 1);
}

#[test]
fn a_stream_that_conflicts_twice_is_waited_for_once() {
    let context = context();
    let [home, other] = [(); 2].map(|()| context.stream().expect("a stream"));
    let (from, to) = (buffer(&context, &home), buffer(&context, &home));
    assert_eq!(waits(&other, &[(&from, READ), (&to, WRITE)]), 1);
}

#[test]
fn ordinary_work_counts() {
    let context = context();
    let [home, other] = [(); 2].map(|()| context.stream().expect("a stream"));
    let mut buffer = buffer(&context, &home);
    waits(&other, &[(&buffer, READ)]);
    buffer.fill(1, &home).expect("a fill");
    assert_eq!(waits(&other, &[(&buffer, READ)]), 1);
    buffer.fill(2, &other).expect("a fill");
    assert_eq!(waits(&home, &[(&buffer, READ)]), 1);
}

#[test]
fn the_last_reference_to_an_allocation_frees_it() {
    let context = context();
    let home = context.stream().expect("a stream");
    let pool = DevicePool::new(&context).expect("a pool");
    for _ in 0..200 {
        let held = pool.allocate::<u8>(64, &home).expect("a buffer").allocation().clone();
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let held = held.clone();
                std::thread::spawn(move || drop((held.clone(), held)))
            })
            .collect();
        drop(held);
        threads.into_iter().for_each(|thread| thread.join().expect("it does not panic"));
        home.synchronize().expect("it is done");
        assert_eq!(pool.statistics().expect("statistics").used, 0);
    }
}

#[test]
fn a_stream_that_launches_graphs_is_waited_for_every_time() {
    let context = context();
    let [home, one, two] = [(); 3].map(|()| context.stream().expect("a stream"));
    let buffer = buffer(&context, &home);
    buffer.allocation().meet_launches(&one).expect("it can be launched");
    assert_eq!(waits(&two, &[(&buffer, WRITE)]), 1, "the launches, which come after the home");
    assert_eq!([waits(&two, &[(&buffer, WRITE)]), waits(&two, &[(&buffer, READ)])], [1, 1], "later launches");
}

#[test]
fn a_home_that_launches_graphs_is_waited_for_every_time() {
    let context = context();
    let [home, one] = [(); 2].map(|()| context.stream().expect("a stream"));
    let buffer = buffer(&context, &home);
    buffer.allocation().meet_launches(&home).expect("it can be launched");
    assert_eq!([waits(&one, &[(&buffer, READ)]), waits(&one, &[(&buffer, READ)])], [1, 1]);
}

#[test]
fn settled_memory_still_knows_the_streams_that_launch_graphs() {
    let context = context();
    let [home, one, two] = [(); 3].map(|()| context.stream().expect("a stream"));
    let buffer = buffer(&context, &home);
    buffer.allocation().meet_launches(&one).expect("it can be launched");
    waits(&two, &[(&buffer, WRITE)]);
    buffer.allocation().settle().expect("it is waited for");
    assert_eq!(waits(&two, &[(&buffer, WRITE)]), 1, "launches to come");
    assert_eq!(waits(&home, &[(&buffer, WRITE)]), 2, "both of the others");
}
