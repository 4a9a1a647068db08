//! Copies that are awaited on tokio: no thread waits for the device, and nothing polls.
//!
//! ```sh
//! cargo run -p warploom --example async_tokio
//! ```
#![expect(clippy::print_stdout, reason = "an example says what it did")]

use std::error::Error;

use warploom::{Context, DevicePool, Driver, PinnedMemory};
use warploom_sim::Machine;

type Outcome = Result<(), Box<dyn Error>>;

#[cfg_attr(test, expect(dead_code, reason = "a test calls `run` itself"))]
fn main() -> Outcome {
    let driver = match Driver::load() {
        Ok(driver) => driver,
        Err(_) => Driver::open(&Machine::preset("h200")?)?, // no driver here: a simulated machine
    };
    run(&driver)
}

pub(crate) fn run(driver: &Driver) -> Outcome {
    let context = driver.device(0)?.context()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build()?;
    let sums = runtime.block_on(async {
        let requests: Vec<_> = (1..=8_u32).map(|number| tokio::spawn(answer(context.clone(), number))).collect();
        let mut sums = Vec::new();
        for request in requests {
            sums.push(request.await??);
        }
        Ok::<_, Box<dyn Error>>(sums)
    })?;
    assert_eq!(sums, [1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000]);
    println!("{} requests were answered at once: {sums:?}", sums.len());
    Ok(())
}

/// One request: to the device and back on a stream of its own, then a sum on the host.
async fn answer(context: Context, number: u32) -> warploom::Result<u32> {
    let (stream, memory) = (context.stream()?, PinnedMemory::new(&context));
    let mut device = DevicePool::new(&context)?.allocate::<u32>(1000, &stream)?;
    // A copy takes page-locked memory along and gives it back when it is done.
    let sent = device.as_slice_mut().copy_from_pinned(memory.buffer_of(&[number; 1000])?, &stream)?.await?;
    let back = device.as_slice().copy_to_pinned(sent, &stream)?.await?;
    Ok(back.as_slice().iter().sum())
}
