//! Actions of fault plans before and after the body of a call.

use warploom_engine::Mode;
use warploom_sys::types::CUresult;

use super::scope;
use crate::abi::invocation::Invocation;
use crate::fault::{Action, CallScope};
use crate::machine::call::Call;

/// Actions that are due when the body has returned. Boxed, so that a call without a plan has little to carry.
pub(crate) struct Afterwards {
    /// Replaces a success.
    answer: Option<(CUresult, String)>,
    /// The call's work was to fail.
    work_fails: bool,
}

/// Lets plans act before a call: `Err` is its answer, and the body does not run.
#[cold]
#[inline(never)]
pub(crate) fn before(call: &Call<'_>, invocation: &dyn Invocation) -> Result<Option<Box<Afterwards>>, CUresult> {
    let faults = &call.core().faults;
    let scope = faults.needs_scope(call.function()).then(|| scope::of(call, invocation));
    let mut refused = None;
    let mut afterwards = Afterwards { answer: None, work_fails: false };
    for due in faults.judge(call.function(), scope.as_ref()) {
        let (rule, action) = (due.rule, due.action);
        match action {
            Action::Note => {}
            Action::Fail { code } => {
                refused.get_or_insert((code, rule));
            }
            Action::FailAfter { code } => {
                afterwards.answer.get_or_insert((code, rule));
            }
            Action::FailWork { code } => {
                call.world().planned_failures_mut().begin(code);
                afterwards.work_fails = true;
                call.injected(code, rule);
            }
            Action::Poison { code } => poison(call, scope.as_ref(), code, rule),
            Action::Delay(time) => {
                call.injected(CUresult::CUDA_SUCCESS, rule);
                if call.core().mode == Mode::Threads {
                    std::thread::sleep(time);
                }
                call.world().host_spends(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
            }
            Action::LoseDevice { device, code } => {
                call.injected(code, rule);
                lose(call, device, code);
            }
        }
    }
    // A device may have been lost just now.
    let scope = scope.or_else(|| faults.needs_scope(call.function()).then(|| scope::of(call, invocation)));
    let lost = scope.and_then(|scope| faults.lost(&scope));
    let answer = refused.or_else(|| lost.map(|(device, code)| (code, format!("device {device} has been lost"))));
    if let Some((code, rule)) = answer {
        if afterwards.work_fails {
            call.world().planned_failures_mut().end();
        }
        return Err(call.injected(code, rule));
    }
    let has_more = afterwards.answer.is_some() || afterwards.work_fails;
    Ok(has_more.then(|| Box::new(afterwards)))
}

impl Afterwards {
    /// Lets plans act after a call; its answer.
    #[cold]
    #[inline(never)]
    pub(crate) fn finish(self, call: &Call<'_>, answered: CUresult) -> CUresult {
        if self.work_fails && call.world().planned_failures_mut().end() == 0 {
            call.injected(CUresult::CUDA_SUCCESS, "it enqueued nothing that could fail");
        }
        match self.answer {
            Some((code, rule)) if answered == CUresult::CUDA_SUCCESS => call.injected(code, rule),
            _ => answered,
        }
    }
}

fn poison(call: &Call<'_>, scope: Option<&CallScope>, code: CUresult, rule: String) {
    let Some(scope) = scope.filter(|scope| scope.contexts().len() > 0) else {
        call.injected(CUresult::CUDA_SUCCESS, format!("{rule}; but the call is about no context"));
        return;
    };
    call.injected(code, rule);
    let mut world = call.world();
    for context in scope.contexts() {
        world.poison(context, code);
    }
}

/// Takes a device away: its contexts are poisoned, so that their unfinished work ends.
fn lose(call: &Call<'_>, device: u32, code: CUresult) {
    let Ok(device) = u16::try_from(device) else { return };
    if !call.core().faults.lose(device, code) {
        return;
    }
    let mut world = call.world();
    let contexts = world.contexts().iter().filter(|(_, context)| context.device == device).map(|(handle, _)| handle);
    for context in contexts.collect::<Vec<_>>() {
        world.poison(context, code);
    }
}
