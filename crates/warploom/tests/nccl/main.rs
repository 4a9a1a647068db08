//! NCCL: one rank on hardware with the real library; many ranks and failures with a stand-in.

mod alone;
mod ends;
mod fake;
#[path = "../gate/mod.rs"]
mod gate;
mod groups;
mod lifetimes;
mod ranks;
mod refusals;
mod sweep;

use fake::Fake;
use warploom::nccl::{Communicator, Nccl, NcclError, UniqueId};
use warploom::{Context, DevicePool, Driver, Error, Result, Stream};
use warploom_sim::topology::Topology;
use warploom_sim::{Machine, Mode};
use warploom_testkit::{ASYNCHRONOUS, TestResult, assert_sound, open};

/// The system's NCCL for the system's driver, and a stand-in for a simulated one.
struct Library {
    nccl: Nccl,
    fake: Option<Fake>,
}

impl Library {
    fn of(driver: &Driver) -> Result<Library> {
        if driver.is_library() {
            return Ok(Library { nccl: Nccl::load()?, fake: None });
        }
        let fake = Fake::on(driver);
        Ok(Library { nccl: fake.nccl()?, fake: Some(fake) })
    }
}

/// A communicator with one rank, and what its device needs.
struct Alone {
    communicator: Communicator,
    context: Context,
    stream: Stream,
    pool: DevicePool,
    library: Library,
}

impl Alone {
    fn on(driver: &Driver) -> Result<Alone> {
        let library = Library::of(driver)?;
        let context = driver.device(0)?.context()?;
        let communicator = library.nccl.join_local(&context, &library.nccl.local_id(1)?, 0)?;
        let (stream, pool) = (context.stream()?, DevicePool::new(&context)?);
        Ok(Alone { communicator, context, stream, pool, library })
    }
}

/// One device's part in what several do.
struct Rank {
    communicator: Communicator,
    stream: Stream,
    pool: DevicePool,
}

impl Rank {
    fn new(communicator: Communicator) -> Result<Rank> {
        let (stream, pool) = (communicator.context().stream()?, DevicePool::new(communicator.context())?);
        Ok(Rank { communicator, stream, pool })
    }
}

/// Runs a body with a communicator of all four devices of a machine, in every asynchronous mode.
fn with_four(body: impl Fn(&Fake, &[Rank]) -> TestResult) -> TestResult {
    for mode in ASYNCHRONOUS {
        let (machine, driver) = open(Topology::preset("hgx-a100-4")?, *mode)?;
        let fake = Fake::on(&driver);
        let ranks = four(&fake, &driver)?;
        body(&fake, &ranks).map_err(|error| format!("in mode {mode:?}: {error}"))?;
        ranks.into_iter().try_for_each(|rank| rank.communicator.close())?;
        assert_eq!(fake.alive(), 0);
        assert_sound(&machine);
    }
    Ok(())
}

fn four(fake: &Fake, driver: &Driver) -> Result<Vec<Rank>> {
    let contexts = driver.devices()?.iter().map(|device| device.context()).collect::<Result<Vec<_>>>()?;
    let communicators = fake.nccl()?.join_alone(&contexts)?;
    communicators.into_iter().map(Rank::new).collect()
}

/// A stand-in on a machine where nothing happens that a test does not ask for.
fn eager(preset: &str) -> TestResult<(Machine, Driver, Fake)> {
    let (machine, driver) = open(Topology::preset(preset)?, Mode::Deterministic(warploom_sim::Order::Eager))?;
    let fake = Fake::on(&driver);
    Ok((machine, driver, fake))
}

/// Joins as from another process.
fn join(nccl: &Nccl, context: &Context, id: &UniqueId, rank: u32, size: u32) -> Result<Communicator> {
    #[expect(unsafe_code, reason = "ranks of the tests do the same, or are refused")]
    // SAFETY: all ranks are in this process, which compares them.
    unsafe {
        nccl.join(context, id, rank, size)
    }
}

/// The same for several ranks.
fn join_all(nccl: &Nccl, id: &UniqueId, size: u32, ranks: &[(u32, &Context)]) -> Result<Vec<Communicator>> {
    #[expect(unsafe_code, reason = "ranks of the tests do the same, or are refused")]
    // SAFETY: as above.
    unsafe {
        nccl.join_all(id, size, ranks)
    }
}

#[track_caller]
fn nccl_error<T: std::fmt::Debug>(result: Result<T>) -> NcclError {
    match result {
        Err(Error::Nccl(error)) => *error,
        other => panic!("not an error of NCCL: {other:?}"),
    }
}
