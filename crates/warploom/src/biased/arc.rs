//! `BiasedArc`: a reference count that costs the thread that made it no atomic operation.
#![expect(unsafe_code, reason = "counts the owners of a heap block")]

use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::bias::Bias;

/// The number of a value's owners.
struct Count {
    bias: Bias,
    /// Held to end the bias.
    ending: Mutex<()>,
    /// All owners, until the bias ends; read and written inside of it.
    biased: AtomicU64,
    /// All owners, after the bias has ended.
    unbiased: AtomicU64,
}

impl Count {
    fn one() -> Count {
        let bias = Bias::new();
        let (biased, unbiased) = if bias.is_over() { (0, 1) } else { (1, 0) };
        Count { bias, ending: Mutex::new(()), biased: AtomicU64::new(biased), unbiased: AtomicU64::new(unbiased) }
    }

    /// Counts one more, for somebody who has one already.
    #[inline]
    fn increment(&self) {
        if self.bias.enter() {
            self.biased.store(self.biased.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
            return self.bias.leave();
        }
        self.increment_unbiased();
    }

    #[cold]
    fn increment_unbiased(&self) {
        self.end_bias();
        self.unbiased.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts one more if there is any.
    fn try_increment(&self) -> bool {
        if self.bias.enter() {
            let count = self.biased.load(Ordering::Relaxed);
            self.biased.store(if count == 0 { 0 } else { count + 1 }, Ordering::Relaxed);
            self.bias.leave();
            return count != 0;
        }
        self.end_bias();
        let more = |count| if count == 0 { None } else { Some(count + 1) };
        self.unbiased.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    /// Counts one less; `true` if that was the last. Otherwise the count may be gone from then on.
    #[inline]
    fn decrement(&self) -> bool {
        if self.bias.enter() {
            let left = self.biased.load(Ordering::Relaxed) - 1;
            self.biased.store(left, Ordering::Relaxed);
            self.bias.leave();
            return left == 0;
        }
        self.decrement_unbiased()
    }

    #[cold]
    fn decrement_unbiased(&self) -> bool {
        self.end_bias();
        let is_last = self.unbiased.fetch_sub(1, Ordering::Release) == 1;
        if is_last {
            fence(Ordering::Acquire);
        }
        is_last
    }

    fn end_bias(&self) {
        if self.bias.is_over() {
            return;
        }
        let _ending = self.ending.lock().unwrap_or_else(PoisonError::into_inner);
        self.bias.end(|| self.unbiased.store(self.biased.load(Ordering::Relaxed), Ordering::Relaxed));
    }
}

/// A value and the number of its owners.
struct Counted<T> {
    owners: Count,
    value: T,
}

/// An owner of a value that has others, as [`Arc`] is, with a count that is biased to the thread that made it;
/// see the [module](super).
pub(crate) struct BiasedArc<T> {
    /// All owners together have one reference of an [`Arc`], which the last gives back.
    counted: NonNull<Counted<T>>,
    _owned: PhantomData<T>,
}

// SAFETY: as for `Arc`: another thread gets references to the value, and may drop it.
unsafe impl<T: Send + Sync> Send for BiasedArc<T> {}
// SAFETY: as above, since a reference can be cloned.
unsafe impl<T: Send + Sync> Sync for BiasedArc<T> {}

impl<T> BiasedArc<T> {
    pub(crate) fn new(value: T) -> BiasedArc<T> {
        let counted = Arc::into_raw(Arc::new(Counted { owners: Count::one(), value }));
        // SAFETY: it is the pointer of an `Arc`, which is given up for this one owner.
        unsafe { BiasedArc::over(counted) }
    }

    /// An owner that is counted.
    ///
    /// # Safety
    ///
    /// The pointer is that of an [`Arc`] that was given up with [`Arc::into_raw`], and this owner is counted.
    unsafe fn over(counted: *const Counted<T>) -> BiasedArc<T> {
        // SAFETY: pointers of an `Arc` are never null.
        let counted = unsafe { NonNull::new_unchecked(counted.cast_mut()) };
        BiasedArc { counted, _owned: PhantomData }
    }

    #[inline]
    fn counted(&self) -> &Counted<T> {
        // SAFETY: it stays until the last owner is gone, and this is one.
        unsafe { self.counted.as_ref() }
    }

    /// The address of the value, which no other has as long as it exists.
    #[inline]
    pub(crate) fn address(this: &BiasedArc<T>) -> *const T {
        &raw const this.counted().value
    }

    /// `true` if both own the same value.
    #[inline]
    pub(crate) fn ptr_eq(one: &BiasedArc<T>, other: &BiasedArc<T>) -> bool {
        one.counted == other.counted
    }

    /// The value, if this is its last owner.
    pub(crate) fn into_inner(this: BiasedArc<T>) -> Option<T> {
        let this = std::mem::ManuallyDrop::new(this);
        // SAFETY: the owner is given up, and `this` is neither used nor dropped again.
        let last = unsafe { BiasedArc::give_up(this.counted) };
        last.and_then(Arc::into_inner).map(|counted| counted.value)
    }

    /// Counts an owner less. The last takes back the reference that all had together.
    ///
    /// # Safety
    ///
    /// The caller is an owner, and gives that up.
    #[inline]
    unsafe fn give_up(counted: NonNull<Counted<T>>) -> Option<Arc<Counted<T>>> {
        // SAFETY: the caller is an owner until then.
        let is_last = unsafe { counted.as_ref() }.owners.decrement();
        // SAFETY: it came from `Arc::into_raw`, and no other owner is left that could take it.
        is_last.then(|| unsafe { Arc::from_raw(counted.as_ptr()) })
    }

    /// A reference that owns nothing.
    pub(crate) fn downgrade(this: &BiasedArc<T>) -> BiasedWeak<T> {
        // SAFETY: the owners have a reference of this `Arc`, which is left to them.
        let counted = std::mem::ManuallyDrop::new(unsafe { Arc::from_raw(this.counted.as_ptr()) });
        BiasedWeak(Arc::downgrade(&counted))
    }
}

impl<T> Clone for BiasedArc<T> {
    #[inline]
    fn clone(&self) -> BiasedArc<T> {
        self.counted().owners.increment();
        BiasedArc { counted: self.counted, _owned: PhantomData }
    }
}

impl<T> Deref for BiasedArc<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.counted().value
    }
}

impl<T> Drop for BiasedArc<T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: this owner is given up, and not used again.
        drop(unsafe { BiasedArc::give_up(self.counted) });
    }
}

/// A reference to a value that its owners may drop.
pub(crate) struct BiasedWeak<T>(Weak<Counted<T>>);

impl<T> BiasedWeak<T> {
    /// An owner of the value, if there is one still.
    pub(crate) fn upgrade(&self) -> Option<BiasedArc<T>> {
        let counted = self.0.upgrade()?;
        // SAFETY: there are owners, and so `Arc::into_raw` was called; this one is counted.
        counted.owners.try_increment().then(|| unsafe { BiasedArc::over(Arc::as_ptr(&counted)) })
    }
}

impl<T> Clone for BiasedWeak<T> {
    fn clone(&self) -> BiasedWeak<T> {
        BiasedWeak(self.0.clone())
    }
}
