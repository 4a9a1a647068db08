//! Log lines of a mesh: access enabled and disabled, contexts rebuilt (S3.27).
#![expect(unsafe_code, reason = "resets devices, and answers for their contexts")]

use std::sync::{Arc, Mutex, PoisonError};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};
use warploom::Function;
use warploom::sys::types::CUresult;
use warploom_testkit::{TestResult, alone};

use super::{Site, fail_nth};

/// Lines of this crate about meshes: level, message and fields.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[derive(Default)]
struct Line {
    message: String,
    fields: String,
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        match field.name() {
            "message" => self.message = format!("{value:?}"),
            "error" => self.fields += " with its error",
            name => self.fields += &format!(" {name}={value:?}"),
        }
    }
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "warploom::mesh"
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line::default();
        event.record(&mut line);
        let text = format!("{} {}{}", event.metadata().level(), line.message, line.fields);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// In a process of its own: `tracing` asks the subscriber of the thread that comes to a line first whether anybody
/// wants it, and other tests have none.
#[test]
fn enabling_rebuilding_and_disabling_are_logged() -> TestResult {
    if !alone("logs::enabling_rebuilding_and_disabling_are_logged")? {
        return Ok(());
    }
    let site = Site::preset("pcie-pair")?;
    let log = Log::default();
    tracing::subscriber::with_default(log.clone(), || -> TestResult {
        let scope = site.machine.inject(fail_nth(Function::cuCtxEnablePeerAccess, 2, CUresult::CUDA_ERROR_UNKNOWN))?;
        let mesh = site.mesh()?;
        drop(scope);
        let enabled = "INFO peer access enabled accessor=0 owner=1";
        assert_eq!(log.take(), [enabled, "WARN peer access not enabled accessor=1 owner=0 with its error"]);
        mesh.refresh()?;
        assert_eq!(log.take(), ["INFO peer access enabled accessor=1 owner=0"]);
        mesh.refresh()?;
        assert_eq!(log.take(), Vec::<String>::new());
        // SAFETY: nothing but the context was made on the device.
        unsafe { site.driver.device(1)?.reset_context() }?;
        mesh.refresh()?;
        let again =
            ["INFO context rebuilt device=1 generation=1", enabled, "INFO peer access enabled accessor=1 owner=0"];
        assert_eq!(log.take(), again);
        let scope = site.machine.inject(fail_nth(Function::cuCtxDisablePeerAccess, 2, CUresult::CUDA_ERROR_UNKNOWN))?;
        mesh.disable().expect_err("the plan says so");
        drop(scope);
        let disabled = "INFO peer access disabled accessor=0 owner=1";
        assert_eq!(log.take(), [disabled, "WARN peer access not disabled accessor=1 owner=0 with its error"]);
        mesh.disable()?;
        assert_eq!(log.take(), ["INFO peer access disabled accessor=1 owner=0"]);
        Ok(())
    })
}
