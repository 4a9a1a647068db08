//! Bias, its end, and counts.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use warploom_testkit::implements;

use super::bias::Bias;
use super::{BiasedArc, BiasedGuard, BiasedMutex, barrier};

/// Values that are made anew and used by two threads, for the moments in which a bias ends.
const ROUNDS: usize = if cfg!(miri) { 10 } else { 20_000 };

/// `true` if the calling thread still uses the value without a lock.
fn is_biased(bias: &Bias) -> bool {
    let is_biased = bias.enter();
    if is_biased {
        bias.leave();
    }
    is_biased
}

#[test]
fn a_bias_is_kept_by_its_thread_and_ended_by_another() {
    let bias = Bias::new();
    assert_eq!(is_biased(&bias), barrier::is_available());
    thread::scope(|scope| {
        scope.spawn(|| {
            assert!(!is_biased(&bias), "another thread has no bias");
            bias.end(|| {});
        });
    });
    assert!(bias.is_over());
    assert!(!is_biased(&bias));
}

#[test]
fn no_thread_takes_a_mutex_before_the_one_with_the_bias_has_left() {
    let mutex = BiasedMutex::new(0);
    let (tell, told) = channel();
    thread::scope(|scope| {
        let mut inside = mutex.lock();
        let mutex = &mutex;
        let other = scope.spawn(move || {
            tell.send(()).expect("the receiver waits");
            *mutex.lock()
        });
        told.recv().expect("the thread has started");
        thread::sleep(Duration::from_millis(20)); // so that it waits
        *inside = 1;
        drop(inside);
        assert_eq!(other.join().expect("it does not panic"), 1);
    });
    assert_eq!(*mutex.lock(), 1);
}

/// Waits until two threads have come to the same round, more closely than a barrier of the system has them.
fn meet(arrived: &AtomicUsize, round: usize) {
    arrived.fetch_add(1, Ordering::SeqCst);
    while arrived.load(Ordering::SeqCst) < 2 * (round + 1) {
        std::hint::spin_loop();
    }
}

/// Stores and loads of two threads that cross: without the barrier, each may load what was there before.
#[test]
fn a_bias_does_not_end_while_its_thread_is_inside() {
    let biases: Vec<Bias> = (0..ROUNDS).map(|_| Bias::new()).collect();
    let ended: Vec<AtomicBool> = (0..ROUNDS).map(|_| AtomicBool::new(false)).collect();
    let arrived = AtomicUsize::new(0);
    let pause = |spins: usize| (0..spins).for_each(|spin| _ = std::hint::black_box(spin));
    thread::scope(|scope| {
        scope.spawn(|| {
            for (round, bias) in biases.iter().enumerate() {
                meet(&arrived, round);
                pause(round % 61);
                if !bias.is_over() {
                    bias.end(|| {});
                }
                ended[round].store(true, Ordering::SeqCst);
            }
        });
        let (mut times, mut failures) = (0, 0);
        for (round, bias) in biases.iter().enumerate() {
            meet(&arrived, round);
            pause(round / 61 % 61);
            if bias.enter() {
                times += 1;
                pause(300);
                failures += usize::from(ended[round].load(Ordering::SeqCst));
                bias.leave();
            }
        }
        assert!(times > 0 || !barrier::is_available(), "it was never inside");
        assert_eq!(failures, 0, "biases that ended meanwhile, of {times}");
    });
}

#[test]
fn increments_of_two_threads_are_not_lost_when_a_bias_ends() {
    const EACH: usize = 4;
    for round in 0..ROUNDS {
        let (mutex, start) = (BiasedMutex::new(0), Barrier::new(2));
        let add = |pauses: usize| {
            start.wait();
            (0..pauses).for_each(|_| std::hint::spin_loop());
            for _ in 0..EACH {
                let mut value = mutex.lock();
                let before = *value;
                std::hint::black_box(&mut value);
                *value = before + 1;
            }
        };
        thread::scope(|scope| {
            scope.spawn(|| add(round % 7));
            add(round / 7 % 7);
        });
        assert_eq!(*mutex.lock(), 2 * EACH);
    }
}

#[test]
fn a_mutex_is_not_taken_twice_by_its_thread() {
    let mutex = BiasedMutex::new(());
    if barrier::is_available() {
        let _inside = mutex.lock();
        let again = catch_unwind(AssertUnwindSafe(|| drop(mutex.lock())));
        assert!(again.is_err());
    }
    drop(mutex.lock());
}

#[test]
fn a_guard_stays_on_its_thread_and_is_shared_like_its_value() {
    assert!(!implements!(BiasedGuard<'static, u32>: Send));
    assert_eq!(implements!(BiasedGuard<'static, u32>: Sync), implements!(u32: Sync));
    assert_eq!(implements!(BiasedGuard<'static, Cell<u32>>: Sync), implements!(Cell<u32>: Sync));
    assert!(implements!(BiasedMutex<Cell<u32>>: Sync), "it gives the value to one thread at a time");
    assert!(!implements!(BiasedArc<Cell<u32>>: Send), "its owners share the value");
}

#[test]
fn a_mutex_is_open_again_after_a_panic() {
    let mutex = BiasedMutex::new(1);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _inside = mutex.lock();
        panic!("on purpose");
    }));
    assert!(panicked.is_err());
    assert_eq!(*mutex.lock(), 1);
}

/// Counts how often it is dropped.
struct Dropped<'a>(&'a AtomicUsize);

impl Drop for Dropped<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn the_last_owner_drops_the_value() {
    let drops = AtomicUsize::new(0);
    let first = BiasedArc::new(Dropped(&drops));
    let second = first.clone();
    assert!(BiasedArc::ptr_eq(&first, &second));
    drop(first);
    assert_eq!(drops.load(Ordering::Relaxed), 0);
    drop(second);
    assert_eq!(drops.load(Ordering::Relaxed), 1);
}

#[test]
fn owners_on_two_threads_drop_a_value_once() {
    for round in 0..ROUNDS {
        let drops = AtomicUsize::new(0);
        let (mine, start) = (BiasedArc::new(Dropped(&drops)), Barrier::new(2));
        let (theirs, weak) = (mine.clone(), BiasedArc::downgrade(&mine));
        let churn = |owner: BiasedArc<Dropped<'_>>, pauses: usize| {
            start.wait();
            (0..pauses).for_each(|_| std::hint::spin_loop());
            let more = [owner.clone(), owner.clone()];
            drop(owner);
            assert_eq!(drops.load(Ordering::Relaxed), 0, "dropped before its owners");
            drop(more);
        };
        thread::scope(|scope| {
            scope.spawn(|| churn(theirs, round % 7));
            churn(mine, round / 7 % 7);
        });
        assert_eq!(drops.load(Ordering::Relaxed), 1);
        assert!(weak.upgrade().is_none());
    }
}

#[test]
fn a_value_is_given_out_by_its_last_owner_alone() {
    let one = BiasedArc::new(7);
    let other = one.clone();
    assert_eq!(BiasedArc::into_inner(one), None);
    assert_eq!(BiasedArc::into_inner(other), Some(7));
}

#[test]
fn a_weak_reference_becomes_an_owner_while_there_is_one() {
    let drops = AtomicUsize::new(0);
    let one = BiasedArc::new(Dropped(&drops));
    let weak = BiasedArc::downgrade(&one);
    let more = weak.upgrade().expect("one is left");
    let elsewhere = thread::scope(|scope| scope.spawn(|| weak.clone().upgrade()).join().expect("it does not panic"));
    let elsewhere = elsewhere.expect("two are left");
    drop((one, more));
    assert_eq!(drops.load(Ordering::Relaxed), 0);
    drop(elsewhere);
    assert_eq!(drops.load(Ordering::Relaxed), 1);
    assert!(weak.upgrade().is_none());
}
