//! A kernel that reads its neighbours' writes, without the barrier in between and with it.
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

pub(super) fn visit(topology: &Topology) -> StepResult {
    let checked = |text: &str| -> Result<(Vec<u32>, Machine), Box<dyn std::error::Error>> {
        let machine = Machine::builder().topology(topology.clone()).checks(Checks::report()).start()?;
        let numbers = run(&Driver::open(&machine)?, text)?;
        Ok((numbers, machine))
    };
    let (_, wrong) = checked(&NEIGHBOURS.replace("bar.sync 0;", ""))?;
    let (numbers, right) = checked(NEIGHBOURS)?;
    let findings: Vec<_> = wrong.findings().into_iter().take(1).collect();
    let is_found = matches!(findings.as_slice(), [finding] if matches!(finding.kind, FindingKind::KernelRace { .. }));
    let expected: Vec<u32> = (0..THREADS).map(|thread| (thread + 32) % THREADS).collect();
    let checks = vec![
        Check::new("the missing barrier was found, with both threads and both instructions", is_found),
        Check::new("the kernel that has it has no finding", right.findings().is_empty()),
        Check::new("and gives what it should", numbers == expected),
    ];
    Ok((Findings::Barrier { findings }, checks))
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
