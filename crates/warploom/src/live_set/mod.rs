//! Live sets: sets whose only storage is the driver.
//!
//! A live set keeps nothing. Reading it asks the driver, changing it tells the driver, so every change of the
//! same state (by another value, another thread, other code in the process) is seen by the next read. Asking
//! can fail, so everything here returns a [`Result`], and the traits of the standard library's sets, which
//! cannot fail, are not implemented. A [`LiveSet::snapshot`] is a plain set: compare, combine and keep that.
//!
//! A change goes through the same steps for every kind of set (`backing`):
//!
//! 1. the named elements are looked up, without a lock, since iterators and conversions are the caller's
//!    code;
//! 2. the state is locked for all of the process (`lock`) and read;
//! 3. all additions are checked;
//! 4. work that needs an element which is taken out is waited for, without the lock;
//! 5. only the differences are written.

pub(crate) mod backing;
pub(crate) mod lock;

use std::cell::Cell;
use std::collections::{BTreeSet, btree_set};

use self::backing::Backing;
use crate::Result;

/// A set that lives in the driver.
///
/// The words are those of [`BTreeSet`], with three differences: every operation can fail, changing takes
/// `&self`, because it changes the driver's state and not this value, and an operation on many elements is
/// one change, not one for each.
///
/// An operation that may add refuses elements that cannot exist ([`LiveSet::insert`],
/// [`extend`](LiveSet::extend), [`toggle`](LiveSet::toggle), [`assign`](LiveSet::assign)); one that can only
/// remove ignores them. A refused operation has changed nothing.
///
/// ```
/// use std::collections::BTreeSet;
/// use warploom::{DevicePool, Driver, LiveSet};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("hgx-a100-4")?)?;
/// let pool = DevicePool::new(&driver.device(0)?.context()?)?;
/// let peers = pool.peers();
/// peers.extend([1, 2])?;
/// peers.toggle([2, 3])?;
/// assert!(peers.insert(2)? && !peers.insert(2)?);
/// let before: BTreeSet<_> = peers.snapshot()?;
/// peers.retain(|device| device.ordinal() > 1)?;
/// let gone: Vec<_> = before.difference(&peers.snapshot()?).map(|device| device.ordinal()).collect();
/// assert_eq!(gone, [1]);
/// # Ok(())
/// # }
/// ```
///
/// The trait is sealed: there are only the sets of this crate.
pub trait LiveSet: sealed::Sealed {
    /// The type of the elements.
    type Item: Ord + Clone;

    /// The type that names an element: an element, or a value that leads to one.
    type Key: From<Self::Item>;

    /// The current elements; later changes do not show.
    ///
    /// # Errors
    ///
    /// The driver's error.
    fn snapshot(&self) -> Result<BTreeSet<Self::Item>>;

    /// `true` if this is in it now. An element that can never be in it is not.
    ///
    /// # Errors
    ///
    /// The driver's error.
    fn contains(&self, item: impl Into<Self::Key>) -> Result<bool>;

    /// The current number of elements.
    ///
    /// # Errors
    ///
    /// The driver's error.
    fn len(&self) -> Result<usize> {
        Ok(self.snapshot()?.len())
    }

    /// `true` if there are none now.
    ///
    /// # Errors
    ///
    /// The driver's error.
    fn is_empty(&self) -> Result<bool> {
        Ok(self.snapshot()?.is_empty())
    }

    /// The current elements, ascending; later changes do not show.
    ///
    /// # Errors
    ///
    /// The driver's error.
    fn iter(&self) -> Result<btree_set::IntoIter<Self::Item>> {
        Ok(self.snapshot()?.into_iter())
    }

    /// Adds an element; returns `true` if it was new.
    ///
    /// # Errors
    ///
    /// If it cannot be in the set, and the driver's error.
    fn insert(&self, item: impl Into<Self::Key>) -> Result<bool>;

    /// Removes an element; returns `true` if it was there.
    ///
    /// # Errors
    ///
    /// The driver's error. An absent element is no error.
    fn remove(&self, item: impl Into<Self::Key>) -> Result<bool>;

    /// Takes the smallest element out.
    ///
    /// # Errors
    ///
    /// The driver's error.
    fn pop_first(&self) -> Result<Option<Self::Item>>;

    /// Adds all of these. Of nothing, makes no driver call.
    ///
    /// # Errors
    ///
    /// If one cannot be in the set, naming every such one, and the driver's error.
    fn extend<I>(&self, items: I) -> Result<()>
    where
        I: IntoIterator<Item: Into<Self::Key>>;

    /// Takes all of these out. Of nothing, makes no driver call.
    ///
    /// # Errors
    ///
    /// The driver's error.
    fn subtract<I>(&self, items: I) -> Result<()>
    where
        I: IntoIterator<Item: Into<Self::Key>>;

    /// Takes out everything but these.
    ///
    /// # Errors
    ///
    /// The driver's error.
    fn intersect<I>(&self, items: I) -> Result<()>
    where
        I: IntoIterator<Item: Into<Self::Key>>;

    /// Takes out which of these are in, and adds which are not; one named twice counts once. Of nothing,
    /// makes no driver call.
    ///
    /// # Errors
    ///
    /// If one cannot be in the set, naming every such one, and the driver's error.
    fn toggle<I>(&self, items: I) -> Result<()>
    where
        I: IntoIterator<Item: Into<Self::Key>>;

    /// Takes out every element for which `keep` is false. `keep` is asked once for each, ascending, and may
    /// use the set.
    ///
    /// # Errors
    ///
    /// The driver's error.
    fn retain(&self, keep: impl FnMut(Self::Item) -> bool) -> Result<()>;

    /// Makes it have exactly these.
    ///
    /// # Errors
    ///
    /// If one cannot be in the set, naming every such one, and the driver's error.
    fn assign<I>(&self, items: I) -> Result<()>
    where
        I: IntoIterator<Item: Into<Self::Key>>;

    /// Takes everything out.
    ///
    /// # Errors
    ///
    /// The driver's error.
    fn clear(&self) -> Result<()>;
}

impl<B: Backing> LiveSet for B {
    type Item = B::Item;
    type Key = B::Key;

    fn snapshot(&self) -> Result<BTreeSet<Self::Item>> {
        // Under the lock, so that half of another thread's change is never seen.
        let _lock = self.lock();
        self.read_all()
    }

    fn contains(&self, item: impl Into<Self::Key>) -> Result<bool> {
        self.existing(item.into())?.map_or(Ok(false), |item| self.read_one(&item))
    }

    fn insert(&self, item: impl Into<Self::Key>) -> Result<bool> {
        let Some(item) = self.addable(item.into())? else { return Ok(false) };
        let lock = self.lock();
        self.apply(lock, || {
            let is_new = !self.read_one(&item)?;
            Ok((Vec::from_iter(is_new.then(|| item.clone())), Vec::new()))
        })
    }

    fn remove(&self, item: impl Into<Self::Key>) -> Result<bool> {
        let Some(item) = self.existing(item.into())? else { return Ok(false) };
        let lock = self.lock();
        self.apply(lock, || {
            let is_there = self.read_one(&item)?;
            Ok((Vec::new(), Vec::from_iter(is_there.then(|| item.clone()))))
        })
    }

    fn pop_first(&self) -> Result<Option<Self::Item>> {
        let taken = Cell::new(None);
        self.apply(self.lock(), || {
            let first = self.read_all()?.pop_first();
            taken.set(first.clone());
            Ok((Vec::new(), Vec::from_iter(first)))
        })?;
        Ok(taken.into_inner())
    }

    fn extend<I: IntoIterator<Item: Into<Self::Key>>>(&self, items: I) -> Result<()> {
        let wanted = self.all_addable(items)?;
        if wanted.is_empty() {
            return Ok(());
        }
        self.change(|members| (wanted.difference(members).cloned().collect(), Vec::new()))
    }

    fn subtract<I: IntoIterator<Item: Into<Self::Key>>>(&self, items: I) -> Result<()> {
        let unwanted = self.all_existing(items)?;
        if unwanted.is_empty() {
            return Ok(());
        }
        self.change(|members| (Vec::new(), members.intersection(&unwanted).cloned().collect()))
    }

    fn intersect<I: IntoIterator<Item: Into<Self::Key>>>(&self, items: I) -> Result<()> {
        let wanted = self.all_existing(items)?;
        self.change(|members| (Vec::new(), members.difference(&wanted).cloned().collect()))
    }

    fn toggle<I: IntoIterator<Item: Into<Self::Key>>>(&self, items: I) -> Result<()> {
        let named = self.all_addable(items)?;
        if named.is_empty() {
            return Ok(());
        }
        self.change(|members| {
            (named.difference(members).cloned().collect(), named.intersection(members).cloned().collect())
        })
    }

    fn retain(&self, keep: impl FnMut(Self::Item) -> bool) -> Result<()> {
        self.keep_only(keep)
    }

    fn assign<I: IntoIterator<Item: Into<Self::Key>>>(&self, items: I) -> Result<()> {
        let wanted = self.all_addable(items)?;
        self.change(|members| {
            (wanted.difference(members).cloned().collect(), members.difference(&wanted).cloned().collect())
        })
    }

    fn clear(&self) -> Result<()> {
        self.change(|members| (Vec::new(), members.iter().cloned().collect()))
    }
}

mod sealed {
    pub trait Sealed {}

    impl<B: super::Backing> Sealed for B {}
}
