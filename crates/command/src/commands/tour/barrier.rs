//! Kernels that read their neighbours' writes and the bytes of a bulk copy, without the barrier in between and
//! with it.
#![expect(unsafe_code, reason = "launches a kernel")]

use warploom::{DevicePool, Driver, LaunchConfig, Library, Result, TypedKernel};
use warploom_sim::topology::Topology;
use warploom_sim::{Checks, FindingKind, Machine};

use super::StepResult;
use crate::report::{Check, Findings};

const THREADS: u32 = 256;

/// Every thread puts its number into shared memory, and gives what one of the next warp has put there.
const NEIGHBOURS: &str = "
.version 7.0
.target sm_70
.address_size 64
.visible .entry neighbours(.param .u64 out)
{
    .shared .align 4 .b8 row[1024];
    .reg .b32 %r<7>;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [out];
    cvta.to.global.u64 %rd2, %rd1;
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, row;
    mad.lo.u32 %r3, %r1, 4, %r2;
    st.shared.u32 [%r3], %r1;
    bar.sync 0;
    add.u32 %r4, %r1, 32;
    and.b32 %r4, %r4, 255;
    mad.lo.u32 %r5, %r4, 4, %r2;
    ld.shared.u32 %r6, [%r5];
    mul.wide.u32 %rd3, %r1, 4;
    add.u64 %rd4, %rd2, %rd3;
    st.global.u32 [%rd4], %r6;
    ret;
}
";

/// A wait for the bulk copy.
const WAIT: &str = "mbarrier.try_wait.parity.shared.b64 %p2, [counted], 0;
    @!%p2 bra WAIT;";

/// One thread fetches 256 words by a bulk copy, whose bytes a barrier counts; each thread adds its number to
/// one of them.
const FETCHED: &str = "
.version 8.0
.target sm_90
.address_size 64
.visible .entry neighbours(.param .u64 out)
{
    .shared .align 128 .b8 row[1024];
    .shared .align 8 .b64 counted;
    .reg .pred %p<3>;
    .reg .b32 %r<5>;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [out];
    cvta.to.global.u64 %rd2, %rd1;
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, row;
    setp.eq.u32 %p1, %r1, 0;
    @%p1 mbarrier.init.shared.b64 [counted], 1;
    bar.sync 0;
    @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [counted], 1024;
    @%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [row], [%rd2], 1024, [counted];
WAIT:
    mbarrier.try_wait.parity.shared.b64 %p2, [counted], 0;
    @!%p2 bra WAIT;
    mad.lo.u32 %r3, %r1, 4, %r2;
    ld.shared.u32 %r4, [%r3];
    add.u32 %r4, %r4, %r1;
    mul.wide.u32 %rd3, %r1, 4;
    add.u64 %rd4, %rd2, %rd3;
    st.global.u32 [%rd4], %r4;
    ret;
}
";

pub(super) fn visit(topology: &Topology) -> StepResult {
    let checked = |text: &str| -> Result<(Vec<u32>, Machine), Box<dyn std::error::Error>> {
        let machine = Machine::builder().topology(topology.clone()).checks(Checks::report()).start()?;
        let numbers = run(&Driver::open(&machine)?, text)?;
        Ok((numbers, machine))
    };
    let (_, wrong) = checked(&NEIGHBOURS.replace("bar.sync 0;", ""))?;
    let (numbers, right) = checked(NEIGHBOURS)?;
    let mut findings: Vec<_> = wrong.findings().into_iter().take(1).collect();
    let is_found = matches!(findings.as_slice(), [finding] if matches!(finding.kind, FindingKind::KernelRace { .. }));
    let expected: Vec<u32> = (0..THREADS).map(|thread| (thread + 32) % THREADS).collect();
    let mut checks = vec![
        Check::new("the missing barrier was found, with both threads and both instructions", is_found),
        Check::new("the kernel that has it has no finding", right.findings().is_empty()),
        Check::new("and gives what it should", numbers == expected),
    ];
    if has_bulk_copies(&right)? {
        let (_, wrong) = checked(&FETCHED.replace(WAIT, "bar.sync 0;"))?;
        let (numbers, right) = checked(FETCHED)?;
        let first = wrong.findings().into_iter().next();
        let is_found = first.as_ref().is_some_and(|found| matches!(found.kind, FindingKind::UnfinishedCopy { .. }));
        findings.extend(first);
        checks.push(Check::new("a bulk copy that was not waited for was found", is_found));
        let is_right = right.findings().is_empty() && numbers == (0..THREADS).collect::<Vec<_>>();
        checks.push(Check::new("with a wait for its mbarrier it has no finding", is_right));
    }
    Ok((Findings::Barrier { findings }, checks))
}

/// `true` if the first device of a machine has bulk copies.
fn has_bulk_copies(machine: &Machine) -> Result<bool> {
    Ok(Driver::open(machine)?.device(0)?.compute_capability()?.major >= 9)
}

fn run(driver: &Driver, text: &str) -> Result<Vec<u32>> {
    let kernel: TypedKernel<(&'static mut [u32],)> = Library::from_ptx(driver, text)?.kernel("neighbours")?.typed()?;
    let context = driver.device(0)?.context()?;
    let (stream, pool) = (context.stream()?, DevicePool::new(&context)?);
    let mut out = pool.zeroed(THREADS as usize, &stream)?;
    // SAFETY: one block, each thread of which writes its own word.
    unsafe { kernel.launch(&stream, &LaunchConfig::new(1, THREADS), (&mut out,)) }?;
    out.download(&stream)
}
