//! `tracing` events of one thread.
//!
//! `tracing` caches for each event in the code whether there is a subscriber that wants it. With a subscriber
//! for one thread only, the first of all threads to come to the event decides, and a thread without a
//! subscriber decides against it. So there is one subscriber for the process, which is asked each time and
//! hands events to the observer of their thread.

use std::cell::{Cell, RefCell};
use std::fmt::{self, Debug, Display};
use std::rc::Rc;
use std::sync::Once;

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{Interest, set_global_default};
use tracing::{Event, Level, Metadata, Subscriber};
use warploom_driver::Driver;
use warploom_sim::topology::Topology;
use warploom_sim::{Machine, Mode};
use warploom_test::sweep::Sweep;

/// An event, as an observer sees it.
#[derive(Clone, Debug)]
pub struct SeenEvent {
    /// The target.
    pub target: &'static str,
    /// The level.
    pub level: Level,
    /// The message; empty if there is none.
    pub message: String,
    /// The other fields, in their order, as `Debug` shows them.
    pub fields: Vec<(&'static str, String)>,
}

impl Visit for SeenEvent {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        match field.name() {
            "message" => self.message = format!("{value:?}"),
            name => self.fields.push((name, format!("{value:?}"))),
        }
    }
}

impl Display for SeenEvent {
    /// `WARN not freed bytes=8 address=4096`
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.level, self.message)?;
        self.fields.iter().try_for_each(|(name, value)| write!(formatter, " {name}={value}"))
    }
}

type Observer = Rc<dyn Fn(&SeenEvent)>;

thread_local! {
    static OBSERVER: RefCell<Option<Observer>> = const { RefCell::new(None) };
}

fn observer() -> Option<Observer> {
    OBSERVER.try_with(|observer| observer.borrow().clone()).ok().flatten()
}

/// Runs `body` while an observer gets the events of this thread. The observer may panic, as a subscriber may.
pub fn observe<R>(observer: impl Fn(&SeenEvent) + 'static, body: impl FnOnce() -> R) -> R {
    static SUBSCRIBED: Once = Once::new();
    SUBSCRIBED.call_once(|| set_global_default(ByThread).expect("no test sets another subscriber"));
    let before = OBSERVER.replace(Some(Rc::new(observer)));
    let _restore = Restore(before);
    body()
}

struct Restore(Option<Observer>);

impl Drop for Restore {
    fn drop(&mut self) {
        OBSERVER.set(self.0.take());
    }
}

struct ByThread;

impl Subscriber for ByThread {
    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        Interest::sometimes()
    }

    fn enabled(&self, _: &Metadata<'_>) -> bool {
        observer().is_some()
    }

    fn event(&self, event: &Event<'_>) {
        let Some(observer) = observer() else { return };
        let (target, level) = (event.metadata().target(), *event.metadata().level());
        let mut seen = SeenEvent { target, level, message: String::new(), fields: Vec::new() };
        event.record(&mut seen);
        observer(&seen);
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Runs a scenario of a fault sweep once for each of its driver calls, with a subscriber that panics at the
/// event of that call. The scenario must go on as without: it returns no error, and the checks of a sweep find
/// nothing, neither a panic nor a leak nor a wrong use.
#[track_caller]
pub fn sweep_panics<D: From<Driver>, E: Display>(
    topology: &Topology,
    mode: Mode,
    scenario: impl Fn(&Machine, &D) -> Result<(), E>,
) {
    let mut is_reached = true;
    for number in 1.. {
        if !is_reached {
            return;
        }
        let events = Rc::new(Cell::new(0));
        let panic_at = {
            let events = Rc::clone(&events);
            move |event: &SeenEvent| {
                if event.target == "warploom::driver" {
                    events.set(events.get() + 1);
                    assert_ne!(events.get(), number, "a subscriber panics");
                }
            }
        };
        // No call fails; each sweep is one run.
        let sweep = Sweep::new(topology.clone()).mode(mode).from_here(false).codes(|_| Vec::new());
        observe(panic_at, || {
            sweep.run(|machine, driver: &Driver| {
                events.set(0);
                driver.set_tracing(true);
                let result = scenario(machine, &driver.clone().into());
                driver.set_tracing(false);
                result
            })
        });
        is_reached = events.get() >= number;
    }
}
