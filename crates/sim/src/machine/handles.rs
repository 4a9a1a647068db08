//! C handles to objects: index, generation, machine and kind in 64 bits.
//!
//! ```text
//!  63    58 57        46 45              24 23                    0
//! ┌────────┬────────────┬──────────────────┬──────────────────────┐
//! │  kind  │  machine   │    generation    │        index         │
//! └────────┴────────────┴──────────────────┴──────────────────────┘
//! ```
//!
//! A handle is never dereferenced. One that is destroyed, of another kind, of another machine, or invented is simply not
//! found; [`Objects::explain`] says which of these it was. An object that died with its context is an *orphan*; the
//! driver answers for it differently than for one that was destroyed by itself.

use std::collections::VecDeque;
use std::marker::PhantomData;

use warploom_sys::types::CUresult;

use crate::check::{self, HandleProblem, ObjectKind, Site};

/// What a handle names. The bits are part of the handle, so the wrong kind of handle is recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    Context = 1,
    Stream = 2,
    Event = 3,
    Pool = 4,
    Physical = 5,
    Module = 6,
    Function = 7,
    Library = 8,
    Kernel = 9,
    Graph = 10,
    Node = 11,
    Executable = 12,
    Link = 13,
}

impl Kind {
    pub(crate) const ALL: [Kind; 13] = [
        Kind::Context,
        Kind::Stream,
        Kind::Event,
        Kind::Pool,
        Kind::Physical,
        Kind::Module,
        Kind::Function,
        Kind::Library,
        Kind::Kernel,
        Kind::Graph,
        Kind::Node,
        Kind::Executable,
        Kind::Link,
    ];
}

/// An object that handles name.
pub(crate) trait Object {
    const KIND: Kind;
    /// What calls on it answer once the context it lived in is destroyed.
    const ORPHANED: CUresult = CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

/// A handle to a `T`; a number, valid or not.
pub(crate) struct Handle<T> {
    bits: u64,
    of: PhantomData<fn() -> T>,
}

impl<T> Clone for Handle<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Handle<T> {}
impl<T> PartialEq for Handle<T> {
    fn eq(&self, other: &Self) -> bool {
        self.bits == other.bits
    }
}
impl<T> Eq for Handle<T> {}
impl<T> PartialOrd for Handle<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<T> Ord for Handle<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.bits.cmp(&other.bits)
    }
}
impl<T> std::hash::Hash for Handle<T> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.bits.hash(state);
    }
}
impl<T> std::fmt::Debug for Handle<T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{:#x}", self.bits)
    }
}

const INDEX_BITS: u32 = 24;
const GENERATION_BITS: u32 = 22;
const MACHINE_BITS: u32 = 12;
const MACHINE_SHIFT: u32 = INDEX_BITS + GENERATION_BITS;
const KIND_SHIFT: u32 = MACHINE_SHIFT + MACHINE_BITS;
const GENERATION_MASK: u32 = (1 << GENERATION_BITS) - 1;
/// How many objects of a kind may live at once.
const MOST: usize = 1 << INDEX_BITS;

impl<T> Handle<T> {
    /// The handle a C caller passed, unchecked.
    pub(crate) const fn from_bits(bits: u64) -> Self {
        Self { bits, of: PhantomData }
    }

    pub(crate) const fn bits(self) -> u64 {
        self.bits
    }

    /// The handle as the C type, which is a pointer that nobody follows.
    pub(crate) fn as_raw<C>(self) -> *mut C {
        std::ptr::without_provenance_mut(self.bits as usize)
    }

    /// Whether the bits say that it is or was an object of some kind, as opposed to null or garbage.
    pub(crate) fn names_some(self, kind: Kind) -> bool {
        self.bits >> KIND_SHIFT == u64::from(kind as u8) && self.generation() > 0
    }

    fn index(self) -> usize {
        (self.bits & ((1 << INDEX_BITS) - 1)) as usize
    }

    fn generation(self) -> u32 {
        (self.bits >> INDEX_BITS) as u32 & GENERATION_MASK
    }

    fn machine(self) -> u64 {
        self.bits >> MACHINE_SHIFT & ((1 << MACHINE_BITS) - 1)
    }
}

struct Place<T> {
    generation: u32,
    object: Option<T>,
    /// The call that made the object, if the machine checks.
    maker: Option<Site>,
}

/// The objects of one kind on one machine.
pub(crate) struct Objects<T> {
    machine: u64,
    places: Vec<Place<T>>,
    free: Vec<u32>,
    /// The newest handles whose objects died with their context.
    orphans: VecDeque<Handle<T>>,
    /// The newest handles whose objects were destroyed, and the calls that did it, if the machine checks.
    destroyers: VecDeque<(Handle<T>, Site)>,
}

/// How many orphans are remembered; older ones count as destroyed.
const MOST_ORPHANS: usize = 1024;
/// How many destroyed objects are remembered with the call that destroyed them.
const MOST_DESTROYERS: usize = 1024;

impl<T: Object> Objects<T> {
    /// None yet; `machine` goes into every handle.
    pub(crate) fn new(machine: u64) -> Self {
        Self {
            machine: machine & ((1 << MACHINE_BITS) - 1),
            places: Vec::new(),
            free: Vec::new(),
            orphans: VecDeque::new(),
            destroyers: VecDeque::new(),
        }
    }

    /// Adds an object; `None` when there are as many as handles can name.
    pub(crate) fn insert(&mut self, object: T) -> Option<Handle<T>> {
        let index = match self.free.pop() {
            Some(index) => index,
            None if self.places.len() < MOST => {
                self.places.push(Place { generation: 1, object: None, maker: None });
                u32::try_from(self.places.len() - 1).ok()?
            }
            None => return None,
        };
        let place = &mut self.places[index as usize];
        place.object = Some(object);
        place.maker = check::current_site();
        let bits = u64::from(T::KIND as u8) << KIND_SHIFT
            | self.machine << MACHINE_SHIFT
            | u64::from(place.generation) << INDEX_BITS
            | u64::from(index);
        Some(Handle::from_bits(bits))
    }

    fn is_of_this_kind(&self, handle: Handle<T>) -> bool {
        handle.bits >> KIND_SHIFT == u64::from(T::KIND as u8) && handle.machine() == self.machine
    }

    fn place(&self, handle: Handle<T>) -> Option<usize> {
        let place = self.places.get(handle.index())?;
        let lives = place.generation == handle.generation() && place.object.is_some();
        (lives && self.is_of_this_kind(handle)).then_some(handle.index())
    }

    pub(crate) fn get(&self, handle: Handle<T>) -> Option<&T> {
        self.place(handle).and_then(|index| self.places[index].object.as_ref())
    }

    pub(crate) fn get_mut(&mut self, handle: Handle<T>) -> Option<&mut T> {
        self.place(handle).and_then(|index| self.places[index].object.as_mut())
    }

    /// Takes an object out; its handle is never valid again.
    pub(crate) fn remove(&mut self, handle: Handle<T>) -> Option<T> {
        let index = self.place(handle)?;
        self.note_destroyer(handle);
        let place = &mut self.places[index];
        // A place whose generations are used up is retired, so that no old handle can come back to life.
        if place.generation < GENERATION_MASK {
            place.generation += 1;
            self.free.extend(u32::try_from(index));
        }
        place.object.take()
    }

    /// Remembers, if the machine checks, that this call destroys an object; it may live on for what depends on it.
    pub(crate) fn note_destroyer(&mut self, handle: Handle<T>) {
        let Some(site) = check::current_site().filter(|_| self.destroyer(handle).is_none()) else { return };
        if self.destroyers.len() == MOST_DESTROYERS {
            self.destroyers.pop_front();
        }
        self.destroyers.push_back((handle, site));
    }

    /// Takes an object out, and keeps its handle for another life of it.
    pub(crate) fn suspend(&mut self, handle: Handle<T>) -> Option<T> {
        let index = self.place(handle)?;
        self.places[index].object.take()
    }

    /// Gives the handle of a suspended object a new one.
    pub(crate) fn resume(&mut self, handle: Handle<T>, object: T) {
        if self.is_of_this_kind(handle)
            && let Some(place) = self.places.get_mut(handle.index())
            && place.generation == handle.generation()
        {
            place.object = Some(object);
            place.maker = check::current_site();
        }
    }

    /// The call that made an object, if the machine checks.
    pub(crate) fn maker(&self, handle: Handle<T>) -> Option<&Site> {
        self.place(handle).and_then(|index| self.places[index].maker.as_ref())
    }

    /// The call that destroyed an object, if the machine checks and it was not long ago.
    pub(crate) fn destroyer(&self, handle: Handle<T>) -> Option<&Site> {
        self.destroyers.iter().rev().find(|(destroyed, _)| *destroyed == handle).map(|(_, site)| site)
    }

    /// Takes an object out because its context is destroyed.
    pub(crate) fn orphan(&mut self, handle: Handle<T>) -> Option<T> {
        let object = self.remove(handle)?;
        if self.orphans.len() == MOST_ORPHANS {
            self.orphans.pop_front();
        }
        self.orphans.push_back(handle);
        Some(object)
    }

    /// Whether the handle named an object that died with its context.
    pub(crate) fn is_orphan(&self, handle: Handle<T>) -> bool {
        self.orphans.contains(&handle)
    }

    /// Whether the handle named an object once, and no longer does.
    pub(crate) fn is_past(&self, handle: Handle<T>) -> bool {
        let given = self.places.get(handle.index()).is_some_and(|place| handle.generation() <= place.generation);
        given && handle.generation() > 0 && self.is_of_this_kind(handle) && self.place(handle).is_none()
    }

    /// Every object with its handle.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Handle<T>, &T)> {
        self.places.iter().enumerate().filter_map(|(index, place)| {
            let bits = u64::from(T::KIND as u8) << KIND_SHIFT
                | self.machine << MACHINE_SHIFT
                | u64::from(place.generation) << INDEX_BITS
                | index as u64;
            place.object.as_ref().map(|object| (Handle::from_bits(bits), object))
        })
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.places.iter_mut().filter_map(|place| place.object.as_mut())
    }

    /// What is wrong with a handle that was not found.
    pub(crate) fn problem(&self, handle: Handle<T>) -> HandleProblem {
        let kind = Kind::ALL.into_iter().find(|kind| u64::from(*kind as u8) == handle.bits >> KIND_SHIFT);
        match kind {
            None if handle.bits == 0 => HandleProblem::Null,
            None => HandleProblem::Foreign,
            Some(_) if handle.machine() != self.machine => HandleProblem::OtherMachine,
            Some(kind) if kind != T::KIND => HandleProblem::OtherKind(kind.into()),
            Some(_) if self.is_orphan(handle) => HandleProblem::Orphaned,
            Some(_) if self.is_past(handle) => HandleProblem::Destroyed,
            Some(_) => HandleProblem::Unknown,
        }
    }

    /// What is wrong with a handle that was not found, for the log.
    pub(crate) fn explain(&self, handle: Handle<T>) -> String {
        let wanted = ObjectKind::from(T::KIND);
        match self.problem(handle) {
            HandleProblem::Null => format!("a null handle where a {wanted} is needed"),
            HandleProblem::Foreign => format!("{handle:?} is no handle of this driver; a {wanted} is needed"),
            HandleProblem::OtherMachine => format!("{handle:?} is a handle of another machine; a {wanted} is needed"),
            HandleProblem::OtherKind(kind) => format!("{handle:?} is a {kind}, not a {wanted}"),
            HandleProblem::Orphaned => format!("{handle:?} is a {wanted} whose context has been destroyed"),
            HandleProblem::Destroyed => format!("{handle:?} is a {wanted} that has been destroyed"),
            HandleProblem::Unknown => format!("{handle:?} never was a {wanted}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Thing(u32);
    impl Object for Thing {
        const KIND: Kind = Kind::Event;
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
