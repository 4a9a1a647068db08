//! The warning where host and device cannot use managed memory at the same time. It is given once per
//! process, so each way to hear it is a process of its own.

use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};
use warploom::{Context, ManagedMemory, ManagedPool};
use warploom_sim::fault::{Calls, Plan, Rule};
use warploom_sim::topology::Topology;
use warploom_sim::{Machine, Mode};
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
    let log = Log::default();
    tracing::subscriber::with_default(log.clone(), || -> TestResult {
        ManagedPool::new(&sharing)?;
        ManagedMemory::new(&sharing)?;
        log.expects(0);
        for _ in 0..2 {
            match case {
                "memory" => drop(ManagedMemory::new(&alone)?),
                case => pool(case, &machine, &sharing)?,
            }
            log.expects(1);
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

/// The library's warnings.
#[derive(Clone, Default)]
struct Log {
    messages: Arc<Mutex<Vec<String>>>,
}

impl Log {
    #[track_caller]
    fn expects(&self, count: usize) {
        let messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        let text = "the host must not touch managed memory while any kernel runs: device 0 does not share it";
        assert_eq!(*messages, vec![text; count]);
    }
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "warploom"
    }

    fn event(&self, event: &Event<'_>) {
        event.record(&mut Message(&self.messages));
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

struct Message<'a>(&'a Mutex<Vec<String>>);

impl Visit for Message<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        if field.name() == "message" {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(format!("{value:?}"));
        }
    }
}
