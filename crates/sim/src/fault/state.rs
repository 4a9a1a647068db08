//! Plans in force on a machine, and the calls on which they acted.

use litemap::LiteMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use parking_lot::Mutex;
use warploom_sys::Function;
use warploom_sys::types::CUresult;

use super::budget::Budget;
use super::calls::FunctionSet;
use super::plan::Plan;
use super::rule::{Action, OnContext, OnThread, Rule};
use super::scope::CallScope;
use crate::process::thread::{self, ThreadKey};
use crate::rules;

/// Number of firings a plan remembers; later ones are only counted.
const KEPT: usize = 1 << 16;

/// A rule or a budget that acted on a call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fired {
    /// The number of the call, counted from 1 since the plan came into force; a plan for one thread counts
    /// that thread's calls. Calls that only find functions are not counted.
    pub call: u64,
    /// The function that was called.
    pub function: Function,
    /// The index of the rule that acted; `None` for a budget.
    pub rule: Option<usize>,
    /// Its action.
    pub action: Action,
}

impl fmt::Display for Fired {
    /// `call 7, cuMemAlloc_v2, rule 0: answer CUDA_ERROR_OUT_OF_MEMORY (2) without any effect`
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "call {}, {}, ", self.call, self.function)?;
        match self.rule {
            Some(rule) => write!(formatter, "rule {rule}: {}", self.action),
            None => write!(formatter, "budget: {}", self.action),
        }
    }
}

/// The plans in force on a machine, and the devices that it has lost.
pub(crate) struct Faults {
    /// Plans in force and devices lost; a call looks at nothing else while it is 0.
    active: AtomicU32,
    /// Functions that `cuGetProcAddress` does not find.
    hidden: FunctionSet,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    next: u64,
    plans: Vec<InForce>,
    lost: LiteMap<u16, CUresult>,
}

struct InForce {
    id: u64,
    thread: Option<ThreadKey>,
    calls: u64,
    rules: Vec<(Rule, Counts)>,
    budgets: Vec<Budget>,
    fired: Vec<Fired>,
    fired_count: u64,
}

#[derive(Clone, Copy, Default)]
struct Counts {
    met: u64,
    acted: u64,
}

/// A rule that acts on the call at hand.
pub(crate) struct Due {
    pub(crate) rule: String,
    pub(crate) action: Action,
}

impl Faults {
    /// No plan in force yet; the functions that a plan hides are hidden for good.
    pub(crate) fn new(plan: &Plan) -> Self {
        Self { active: AtomicU32::new(0), hidden: plan.hidden(), state: Mutex::default() }
    }

    /// `true` if a function is hidden from `cuGetProcAddress`.
    pub(crate) fn hides(&self, function: Function) -> bool {
        self.hidden.contains(function)
    }

    /// `true` if a plan is in force or a device is lost.
    #[inline]
    pub(crate) fn is_active(&self) -> bool {
        self.active.load(Ordering::Relaxed) != 0
    }

    /// `true` if a rule for this function, or a lost device, needs the call's scope.
    pub(crate) fn needs_scope(&self, function: Function) -> bool {
        let state = self.state.lock();
        let needs = |(rule, _): &(Rule, Counts)| rule.has_scope() && rule.calls.contains(function);
        !state.lost.is_empty() || state.plans.iter().any(|plan| plan.rules.iter().any(needs))
    }

    /// Counts a call, and gives the rules that act on it, in their order.
    pub(crate) fn judge(&self, function: Function, scope: Option<&CallScope>) -> Vec<Due> {
        let this = thread::key();
        let mut due = Vec::new();
        for plan in self.state.lock().plans.iter_mut().filter(|plan| plan.thread.is_none_or(|thread| thread == this)) {
            plan.judge(function, this, scope, &mut due);
        }
        due
    }

    /// The budgets for allocations of this thread, each with the number of its plan.
    pub(crate) fn budgets(&self) -> Vec<(u64, Budget)> {
        let this = thread::key();
        let state = self.state.lock();
        let mine = state.plans.iter().filter(|plan| plan.thread.is_none_or(|thread| thread == this));
        mine.flat_map(|plan| plan.budgets.iter().map(|budget| (plan.id, *budget))).collect()
    }

    /// Notes that a budget refused an allocation.
    pub(crate) fn over_budget(&self, plan: u64, function: Function) {
        if let Some(plan) = self.state.lock().plans.iter_mut().find(|known| known.id == plan) {
            plan.note(function, None, Action::Fail { code: CUresult::CUDA_ERROR_OUT_OF_MEMORY });
        }
    }

    /// Notes that a device is lost; whether it was there until now.
    pub(crate) fn lose(&self, device: u16, code: CUresult) -> bool {
        let mut state = self.state.lock();
        let is_new = !state.lost.contains_key(&device);
        if is_new {
            state.lost.insert(device, code);
            self.active.fetch_add(1, Ordering::Relaxed);
        }
        is_new
    }

    /// The lost device that a call acts on, and the call's answer because of it.
    pub(crate) fn lost(&self, scope: &CallScope) -> Option<(u16, CUresult)> {
        let state = self.state.lock();
        scope.devices().iter().find_map(|device| Some((*device, *state.lost.get(device)?)))
    }

    fn with_plan<R>(&self, id: u64, look: impl FnOnce(&InForce) -> R) -> Option<R> {
        self.state.lock().plans.iter().find(|plan| plan.id == id).map(look)
    }
}

impl InForce {
    fn judge(&mut self, function: Function, this: ThreadKey, scope: Option<&CallScope>, due: &mut Vec<Due>) {
        self.calls += u64::from(!rules::of(function).finds_functions);
        let mut acting = Vec::new();
        for (index, (rule, counts)) in self.rules.iter_mut().enumerate() {
            if !meets(rule, function, this, scope) {
                continue;
            }
            counts.met += 1;
            if rule.is_due(counts.met, counts.acted) {
                counts.acted += 1;
                acting.push((index, rule.action));
                due.push(Due { rule: rule.to_string(), action: rule.action });
            }
        }
        for (index, action) in acting {
            self.note(function, Some(index), action);
        }
    }

    fn note(&mut self, function: Function, rule: Option<usize>, action: Action) {
        self.fired_count += 1;
        if self.fired.len() < KEPT {
            self.fired.push(Fired { call: self.calls, function, rule, action });
        }
    }
}

fn meets(rule: &Rule, function: Function, this: ThreadKey, scope: Option<&CallScope>) -> bool {
    let on_thread = match &rule.thread {
        None => true,
        Some(OnThread::This(thread)) => *thread == this,
        Some(OnThread::Named(name)) => rule.calls.contains(function) && thread::is_called(name),
    };
    let on_device = rule
        .device
        .is_none_or(|device| scope.is_some_and(|scope| scope.devices().iter().any(|at| u32::from(*at) == device)));
    let on_context = match rule.context {
        None => true,
        Some(OnContext::Handle(bits)) => scope.is_some_and(|scope| scope.has_context(bits)),
        Some(OnContext::Id(id)) => scope.is_some_and(|scope| scope.has_context_id(id)),
    };
    rule.calls.contains(function) && on_thread && on_device && on_context
}

/// A plan that is in force until this is dropped.
///
/// A device that the plan took away stays lost, and a context that it poisoned stays poisoned.
#[must_use = "the plan ends when this is dropped"]
pub struct FaultScope {
    faults: Arc<Faults>,
    id: u64,
}

impl FaultScope {
    /// Puts a plan into force, which has been checked, for all threads or for one.
    pub(crate) fn begin(faults: &Arc<Faults>, plan: &Plan, thread: Option<ThreadKey>) -> FaultScope {
        let mut state = faults.state.lock();
        state.next += 1;
        let id = state.next;
        let rules = plan.rules.iter().map(|rule| (rule.clone(), Counts::default())).collect();
        let budgets = plan.budgets.clone();
        state.plans.push(InForce { id, thread, calls: 0, rules, budgets, fired: Vec::new(), fired_count: 0 });
        drop(state);
        faults.active.fetch_add(1, Ordering::Relaxed);
        FaultScope { faults: Arc::clone(faults), id }
    }

    /// The rules and budgets that have acted so far, in the order of the calls; the first 65,536.
    #[must_use]
    pub fn fired(&self) -> Vec<Fired> {
        self.faults.with_plan(self.id, |plan| plan.fired.clone()).unwrap_or_default()
    }

    /// Number of times that rules and budgets have acted.
    #[must_use]
    pub fn fired_count(&self) -> u64 {
        self.faults.with_plan(self.id, |plan| plan.fired_count).unwrap_or(0)
    }

    /// Calls that were made since the plan came into force, without those that only find functions; a plan
    /// for one thread counts that thread's.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.faults.with_plan(self.id, |plan| plan.calls).unwrap_or(0)
    }
}

impl Drop for FaultScope {
    fn drop(&mut self) {
        self.faults.state.lock().plans.retain(|plan| plan.id != self.id);
        self.faults.active.fetch_sub(1, Ordering::Relaxed);
    }
}

impl fmt::Debug for FaultScope {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("FaultScope").field("calls", &self.calls()).field("fired", &self.fired_count()).finish()
    }
}
