//! The operations that each live set implements, and the steps that all of them share.

use std::collections::{BTreeMap, BTreeSet};

use super::lock::Lock;
use crate::{Error, Result};

/// The result of looking up an element that the caller named.
#[derive(Debug)]
pub enum Named<I> {
    /// An element that can be in the set.
    Item(I),
    /// An element that is ignored: a pool's own device.
    Never,
    /// Nothing that could be in the set, and why.
    Unknown(Error),
}

/// A kind of live set: how its elements are named, read and written.
pub trait Backing {
    /// The type of the elements.
    type Item: Ord + Clone;

    /// The type that names an element.
    type Key: From<Self::Item>;

    /// Looks up the element that the caller named.
    fn name(&self, key: Self::Key) -> Result<Named<Self::Item>>;

    /// One error for several names that are unknown, of which there is at least one.
    fn refuse(&self, unknown: Vec<Error>) -> Error;

    /// The lock of the driver's state behind the set.
    fn lock(&self) -> Lock;

    /// Everything that is in the set.
    fn read_all(&self) -> Result<BTreeSet<Self::Item>>;

    /// `true` if one element is in the set.
    fn read_one(&self, item: &Self::Item) -> Result<bool>;

    /// Refuses elements that the driver would refuse, all in one error. They are ascending, new and at least
    /// one.
    fn check_additions(&self, additions: &[Self::Item]) -> Result<()>;

    /// Adds and removes: all or nothing. Both are ascending and are real changes, and not both are empty.
    fn write(&self, additions: &[Self::Item], removals: &[Self::Item]) -> Result<()>;

    /// `true` if work that was enqueued may need elements that are to be taken out. No driver call.
    fn is_in_use(&self, _removals: &[Self::Item]) -> bool {
        false
    }

    /// Waits for all work that was enqueued and may need elements that are to be taken out.
    fn wait_for_use(&self) -> Result<()> {
        Ok(())
    }

    /// The element, if there could be such a one.
    fn existing(&self, key: Self::Key) -> Result<Option<Self::Item>> {
        Ok(match self.name(key)? {
            Named::Item(item) => Some(item),
            Named::Never | Named::Unknown(_) => None,
        })
    }

    /// The element, if it is one that can be added; an error if there is none of that name.
    fn addable(&self, key: Self::Key) -> Result<Option<Self::Item>> {
        match self.name(key)? {
            Named::Item(item) => Ok(Some(item)),
            Named::Never => Ok(None),
            Named::Unknown(why) => Err(why),
        }
    }

    /// Those that could be in the set.
    fn all_existing<I: IntoIterator<Item: Into<Self::Key>>>(&self, items: I) -> Result<BTreeSet<Self::Item>> {
        items.into_iter().filter_map(|key| self.existing(key.into()).transpose()).collect()
    }

    /// Those that can be added; one error for all that are unknown.
    fn all_addable<I: IntoIterator<Item: Into<Self::Key>>>(&self, items: I) -> Result<BTreeSet<Self::Item>> {
        let (mut known, mut unknown) = (BTreeSet::new(), Vec::new());
        for key in items {
            match self.name(key.into())? {
                Named::Item(item) => _ = known.insert(item),
                Named::Never => {}
                Named::Unknown(why) => unknown.push(why),
            }
        }
        if unknown.is_empty() { Ok(known) } else { Err(self.refuse(unknown)) }
    }

    /// Reads the set, asks `plan` for additions and removals, and applies them.
    fn change(&self, plan: impl Fn(&BTreeSet<Self::Item>) -> (Vec<Self::Item>, Vec<Self::Item>)) -> Result<()> {
        self.apply(self.lock(), || Ok(plan(&self.read_all()?))).map(drop)
    }

    /// Asks `plan` for additions and removals, checks the additions, waits for work that needs the removals,
    /// and applies the changes, if there are any. Returns `true` if there were.
    ///
    /// The work may depend on a thread that uses this very set, so that the wait is without the lock. If the
    /// state changed meanwhile, `plan` is asked again.
    fn apply(&self, mut lock: Lock, plan: impl Fn() -> Result<(Vec<Self::Item>, Vec<Self::Item>)>) -> Result<bool> {
        loop {
            let (additions, removals) = plan()?;
            if !additions.is_empty() {
                self.check_additions(&additions)?;
            } else if removals.is_empty() {
                return Ok(false);
            }
            if !removals.is_empty() && self.is_in_use(&removals) {
                let watch = lock.watch();
                self.wait_for_use()?;
                let has_changed;
                (lock, has_changed) = watch.end();
                if has_changed {
                    continue;
                }
            }
            return self.apply_now(&mut lock, &additions, &removals).map(|()| true);
        }
    }

    /// Applies changes that were checked, without waiting for work that needs the removals.
    fn apply_now(&self, lock: &mut Lock, additions: &[Self::Item], removals: &[Self::Item]) -> Result<()> {
        lock.note_change();
        self.write(additions, removals)
    }

    /// Removes the elements that `keep` rejects.
    ///
    /// `keep` is the caller's code, and may use this very set, so it runs without the lock. If the state
    /// changed meanwhile, it is read again, and `keep` is asked about new elements.
    fn keep_only(&self, mut keep: impl FnMut(Self::Item) -> bool) -> Result<()> {
        let mut verdicts = BTreeMap::new();
        let mut lock = self.lock();
        loop {
            let members = self.read_all()?;
            let watch = lock.watch();
            for member in &members {
                verdicts.entry(member.clone()).or_insert_with(|| keep(member.clone()));
            }
            let mut has_changed;
            (lock, has_changed) = watch.end();
            if has_changed {
                continue;
            }
            let unwanted = members.into_iter().filter(|member| verdicts.get(member) == Some(&false));
            let unwanted: Vec<Self::Item> = unwanted.collect();
            if unwanted.is_empty() {
                return Ok(());
            }
            if self.is_in_use(&unwanted) {
                let watch = lock.watch();
                self.wait_for_use()?;
                (lock, has_changed) = watch.end();
                if has_changed {
                    continue;
                }
            }
            return self.apply_now(&mut lock, &[], &unwanted);
        }
    }
}
