//! Objects of a machine, found by their handles.
//!
//! A handle that is destroyed, of another kind, of another machine, or invented is not found;
//! [`Objects::explain`] says which of these it was. An object that died with its context is an *orphan*; the
//! driver answers for it differently than for one that was destroyed by itself.

use std::collections::VecDeque;

use warploom_sys::types::CUresult;

use crate::check::{HandleProblem, ObjectKind};
use crate::ffi::handle::{Handle, INDICES, Kind, LAST_GENERATION, Marker, machine_bits};
use crate::memory::shadow::{Site, current_site};

/// A type of object with handles.
pub(crate) trait Object {
    type Kind: Marker;
    const KIND: Kind = <Self::Kind as Marker>::KIND;
    /// The status of calls on it after the destruction of its context.
    const ORPHANED: CUresult = CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

/// A handle to a `T`.
pub(crate) type HandleTo<T> = Handle<<T as Object>::Kind>;

struct Entry<T> {
    generation: u32,
    object: Option<T>,
    /// The call that created the object, if the machine checks.
    maker: Option<Site>,
}

/// The objects of one kind on one machine.
pub(crate) struct Objects<T: Object> {
    machine: u64,
    entries: Vec<Entry<T>>,
    free: Vec<u32>,
    /// The newest handles of objects destroyed with their context.
    orphans: VecDeque<HandleTo<T>>,
    /// The newest handles of destroyed objects, with the calls that destroyed them, if the machine checks.
    destroyers: VecDeque<(HandleTo<T>, Site)>,
}

/// Number of orphans that are remembered; older ones count as destroyed.
const MOST_ORPHANS: usize = 1024;
/// Number of destroyed objects that are remembered with the call that destroyed them.
const MOST_DESTROYERS: usize = 1024;

impl<T: Object> Objects<T> {
    /// No objects yet; `machine` goes into every handle.
    pub(crate) fn new(machine: u64) -> Self {
        Self {
            machine: machine_bits(machine),
            entries: Vec::new(),
            free: Vec::new(),
            orphans: VecDeque::new(),
            destroyers: VecDeque::new(),
        }
    }

    /// Adds an object; `None` if all handles are used.
    pub(crate) fn insert(&mut self, object: T) -> Option<HandleTo<T>> {
        let index = match self.free.pop() {
            Some(index) => index,
            None if self.entries.len() < INDICES => {
                self.entries.push(Entry { generation: 1, object: None, maker: None });
                u32::try_from(self.entries.len() - 1).ok()?
            }
            None => return None,
        };
        let entry = &mut self.entries[index as usize];
        entry.object = Some(object);
        entry.maker = current_site();
        Some(Handle::new(self.machine, entry.generation, index))
    }

    /// `true` if all handles are used.
    pub(crate) fn is_full(&self) -> bool {
        self.free.is_empty() && self.entries.len() >= INDICES
    }

    fn is_of_this_kind(&self, handle: HandleTo<T>) -> bool {
        handle.is_of(T::KIND) && handle.machine() == self.machine
    }

    fn live_index(&self, handle: HandleTo<T>) -> Option<usize> {
        let entry = self.entries.get(handle.index())?;
        let lives = entry.generation == handle.generation() && entry.object.is_some();
        (lives && self.is_of_this_kind(handle)).then_some(handle.index())
    }

    #[inline]
    pub(crate) fn get(&self, handle: HandleTo<T>) -> Option<&T> {
        self.live_index(handle).and_then(|index| self.entries[index].object.as_ref())
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, handle: HandleTo<T>) -> Option<&mut T> {
        self.live_index(handle).and_then(|index| self.entries[index].object.as_mut())
    }

    /// Removes an object; its handle is never valid again.
    pub(crate) fn remove(&mut self, handle: HandleTo<T>) -> Option<T> {
        let index = self.live_index(handle)?;
        self.note_destroyer(handle);
        let entry = &mut self.entries[index];
        // An entry without generations left is retired, so that no old handle becomes valid again.
        if entry.generation < LAST_GENERATION {
            entry.generation += 1;
            self.free.extend(u32::try_from(index));
        }
        entry.object.take()
    }

    /// Notes, if the machine checks, that this call destroys an object, which may outlive the call for its
    /// dependents.
    pub(crate) fn note_destroyer(&mut self, handle: HandleTo<T>) {
        let Some(site) = current_site().filter(|_| self.destroyer(handle).is_none()) else { return };
        if self.destroyers.len() == MOST_DESTROYERS {
            self.destroyers.pop_front();
        }
        self.destroyers.push_back((handle, site));
    }

    /// Removes an object, and keeps its handle for a successor.
    pub(crate) fn suspend(&mut self, handle: HandleTo<T>) -> Option<T> {
        let index = self.live_index(handle)?;
        self.entries[index].object.take()
    }

    /// Stores a new object under a suspended handle.
    pub(crate) fn resume(&mut self, handle: HandleTo<T>, object: T) {
        if self.is_of_this_kind(handle)
            && let Some(entry) = self.entries.get_mut(handle.index())
            && entry.generation == handle.generation()
        {
            entry.object = Some(object);
            entry.maker = current_site();
        }
    }

    /// The call that created an object, if the machine checks.
    pub(crate) fn maker(&self, handle: HandleTo<T>) -> Option<&Site> {
        self.live_index(handle).and_then(|index| self.entries[index].maker.as_ref())
    }

    /// The call that destroyed an object, if the machine checks and still remembers it.
    pub(crate) fn destroyer(&self, handle: HandleTo<T>) -> Option<&Site> {
        self.destroyers.iter().rev().find(|(destroyed, _)| *destroyed == handle).map(|(_, site)| site)
    }

    /// Removes an object because its context is destroyed.
    pub(crate) fn orphan(&mut self, handle: HandleTo<T>) -> Option<T> {
        let object = self.remove(handle)?;
        if self.orphans.len() == MOST_ORPHANS {
            self.orphans.pop_front();
        }
        self.orphans.push_back(handle);
        Some(object)
    }

    /// `true` if the handle named an object that was destroyed with its context.
    pub(crate) fn is_orphan(&self, handle: HandleTo<T>) -> bool {
        self.orphans.contains(&handle)
    }

    /// `true` if the handle named an object that no longer exists.
    pub(crate) fn is_past(&self, handle: HandleTo<T>) -> bool {
        let given = self.entries.get(handle.index()).is_some_and(|entry| handle.generation() <= entry.generation);
        given && handle.generation() > 0 && self.is_of_this_kind(handle) && self.live_index(handle).is_none()
    }

    /// All objects with their handles.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (HandleTo<T>, &T)> {
        self.entries.iter().enumerate().filter_map(|(index, entry)| {
            let handle = Handle::new(self.machine, entry.generation, index as u32);
            entry.object.as_ref().map(|object| (handle, object))
        })
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.entries.iter_mut().filter_map(|entry| entry.object.as_mut())
    }

    /// The problem with a handle that was not found.
    pub(crate) fn problem(&self, handle: HandleTo<T>) -> HandleProblem {
        match handle.kind() {
            None if handle.bits() == 0 => HandleProblem::Null,
            None => HandleProblem::Foreign,
            Some(_) if handle.machine() != self.machine => HandleProblem::OtherMachine,
            Some(kind) if kind != T::KIND => HandleProblem::OtherKind(kind.into()),
            Some(_) if self.is_orphan(handle) => HandleProblem::Orphaned,
            Some(_) if self.is_past(handle) => HandleProblem::Destroyed,
            Some(_) => HandleProblem::Unknown,
        }
    }

    /// The problem with a handle that was not found, for the log.
    pub(crate) fn explain(&self, handle: HandleTo<T>) -> String {
        let wanted = ObjectKind::from(T::KIND);
        match self.problem(handle) {
            HandleProblem::Null => format!("a null handle where a {wanted} is needed"),
            HandleProblem::Foreign => format!("{handle:?} is no handle of this driver; a {wanted} is needed"),
            HandleProblem::OtherMachine => format!("{handle:?} is a handle of another machine; a {wanted} is needed"),
            HandleProblem::OtherKind(kind) => format!("{handle:?} is a {kind}, not a {wanted}"),
            HandleProblem::Orphaned => format!("{handle:?} is a {wanted} whose context has been destroyed"),
            HandleProblem::Destroyed => format!("{handle:?} is a {wanted} that has been destroyed"),
            HandleProblem::Unknown => format!("{handle:?} never was a {wanted}"),
            HandleProblem::NotRetained => format!("{handle:?} is a {wanted} that is not retained as often"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ffi::handle::{KIND_SHIFT, kind};

    struct Thing(u32);
    impl Object for Thing {
        type Kind = kind::Event;
    }

    #[test]
    fn a_destroyed_handle_stays_dead_when_its_place_is_reused() {
        let mut things = Objects::new(7);
        let first = things.insert(Thing(1)).expect("there is room");
        assert_eq!(things.remove(first).map(|thing| thing.0), Some(1));
        let second = things.insert(Thing(2)).expect("there is room");
        assert_eq!(first.index(), second.index());
        assert!(things.get(first).is_none());
        assert_eq!(things.get(second).map(|thing| thing.0), Some(2));
        assert!(things.explain(first).contains("destroyed"));
    }

    #[test]
    fn a_handle_of_another_machine_is_not_found() {
        let mut here = Objects::new(1);
        let mut there = Objects::new(2);
        let handle = there.insert(Thing(1)).expect("there is room");
        assert!(here.insert(Thing(2)).is_some());
        assert!(here.get(handle).is_none());
        assert!(here.explain(handle).contains("another machine"));
    }

    #[test]
    fn an_orphan_is_told_from_a_destroyed_object() {
        let mut things = Objects::new(1);
        let handles = [Thing(1), Thing(2)].map(|thing| things.insert(thing).expect("there is room"));
        assert!(things.orphan(handles[0]).is_some() && things.remove(handles[1]).is_some());
        assert_eq!(handles.map(|handle| things.is_orphan(handle)), [true, false]);
        assert!(handles.iter().all(|handle| things.is_past(*handle)));
        assert!(things.explain(handles[0]).contains("whose context"));
    }

    #[test]
    fn a_suspended_object_comes_back_under_its_handle() {
        let mut things = Objects::new(1);
        let handle = things.insert(Thing(1)).expect("there is room");
        assert!(things.suspend(handle).is_some());
        assert!(things.get(handle).is_none() && things.is_past(handle));
        assert_ne!(things.insert(Thing(2)), Some(handle));
        things.resume(handle, Thing(3));
        assert_eq!(things.get(handle).map(|thing| thing.0), Some(3));
    }

    #[test]
    fn invented_handles_are_not_found() {
        let mut things = Objects::new(1);
        assert!(things.insert(Thing(1)).is_some());
        for bits in [0, 1, 2, u64::MAX, 0xdead_beef, 3 << KIND_SHIFT, 1 << KIND_SHIFT] {
            assert!(things.get(Handle::from_bits(bits)).is_none(), "{bits:#x}");
            assert!(!things.is_past(Handle::from_bits(bits)), "{bits:#x}");
        }
    }
}
