//! The warning where host and device cannot use managed memory at the same time. It is given once per
//! process, so each way to hear it is a process of its own.

use std::cell::RefCell;
use std::process::Command;
use std::rc::Rc;

use warploom::{Context, ManagedMemory, ManagedPool};
use warploom_sim::fault::{Calls, Plan, Rule};
use warploom_sim::topology::Topology;
use warploom_sim::{Machine, Mode};
use warploom_testkit::events::{self, SeenEvent};
use warploom_testkit::sys::types::CUresult;
use warploom_testkit::{TestResult, open};

const NAME: &str = "managed_memory_that_is_not_shared_is_warned_of_once";
const CASE: &str = "EXCLUSIVE_ACCESS_CASE";

/// S1.35: making a managed pool, or managed memory without one, warns of it once.
#[test]
fn managed_memory_that_is_not_shared_is_warned_of_once() -> TestResult {
    if let Ok(case) = std::env::var(CASE) {
        return warned(&case);
    }
    for case in ["memory", "pool", "default pool"] {
        let child = Command::new(std::env::current_exe()?).args(["--exact", NAME]).env(CASE, case).output()?;
        assert!(child.status.success(), "{case}: {}", String::from_utf8_lossy(&child.stdout));
    }
    Ok(())
}

fn warned(case: &str) -> TestResult {
    let text = "[[device]]\nmodel = \"h200\"\nattributes = { concurrent_managed_access = 0 }\n";
    let (_machine, alone) = open(Topology::from_toml(text)?, Mode::Threads)?;
    let (machine, sharing) = open(Topology::preset("h200")?, Mode::Threads)?;
    let (alone, sharing) = (alone.device(0)?.context()?, sharing.device(0)?.context()?);
    let warnings = Rc::new(RefCell::new(Vec::new()));
    let seen = Rc::clone(&warnings);
    let observer = move |event: &SeenEvent| {
        if event.target == "warploom" {
            seen.borrow_mut().push(event.message.clone());
        }
    };
    events::observe(observer, || -> TestResult {
        ManagedPool::new(&sharing)?;
        ManagedMemory::new(&sharing)?;
        expect(&warnings, 0);
        for _ in 0..2 {
            match case {
                "memory" => drop(ManagedMemory::new(&alone)?),
                case => pool(case, &machine, &sharing)?,
            }
            expect(&warnings, 1);
        }
        Ok(())
    })
}

/// A pool of a driver that makes it and knows nothing of sharing: one that makes no pool for such a device
/// gives no warning.
fn pool(case: &str, machine: &Machine, context: &Context) -> TestResult {
    let rule = Rule::on(Calls::named("cuDeviceGetAttribute")?).fail(CUresult::CUDA_ERROR_INVALID_VALUE);
    let _scope = machine.inject(Plan::new().rule(rule))?;
    match case {
        "pool" => ManagedPool::new(context)?,
        _ => ManagedPool::default_of(context, None)?,
    };
    Ok(())
}

#[track_caller]
fn expect(warnings: &RefCell<Vec<String>>, count: usize) {
    let text = "the host must not touch managed memory while any kernel runs: device 0 does not share it";
    assert_eq!(*warnings.borrow(), vec![text; count]);
}
