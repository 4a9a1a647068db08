//! Events of one thread.

use std::cell::RefCell;
use std::rc::Rc;
use std::thread;

use warploom_testkit::events::{self, SeenEvent};

fn event() {
    tracing::info!(bytes = 8, "here");
}

#[test]
fn an_event_is_seen_although_a_thread_without_observer_comes_to_it_first() {
    let seen = Rc::new(RefCell::new(Vec::new()));
    let lines = Rc::clone(&seen);
    let observer = move |event: &SeenEvent| lines.borrow_mut().push(event.to_string());
    events::observe(observer, || {
        thread::spawn(event).join().expect("it does not panic");
        event();
    });
    event();
    assert_eq!(*seen.borrow(), ["INFO here bytes=8"]);
}
