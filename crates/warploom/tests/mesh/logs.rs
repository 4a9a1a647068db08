//! Log lines of a mesh: access enabled and disabled, contexts rebuilt (S3.27).
#![expect(unsafe_code, reason = "resets devices, and answers for their contexts")]

use std::cell::RefCell;
use std::rc::Rc;

use warploom::Function;
use warploom::sys::types::CUresult;
use warploom_testkit::TestResult;
use warploom_testkit::events::{self, SeenEvent};

use super::{Site, fail_nth};

/// Lines of this crate about meshes: level, message and fields.
#[derive(Clone, Default)]
struct Log(Rc<RefCell<Vec<String>>>);

impl Log {
    fn take(&self) -> Vec<String> {
        self.0.take()
    }

    fn add(&self, event: &SeenEvent) {
        if event.target != "warploom::mesh" {
            return;
        }
        let mut line = format!("{} {}", event.level, event.message);
        for (name, value) in &event.fields {
            match *name {
                "error" => line += " with its error",
                name => line += &format!(" {name}={value}"),
            }
        }
        self.0.borrow_mut().push(line);
    }
}

#[test]
fn enabling_rebuilding_and_disabling_are_logged() -> TestResult {
    let site = Site::preset("pcie-pair")?;
    let log = Log::default();
    let observed = log.clone();
    let observer = move |event: &SeenEvent| observed.add(event);
    events::observe(observer, || -> TestResult {
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
