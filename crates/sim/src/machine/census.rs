//! Live objects of a machine, for leak reports.

use std::fmt;

pub use crate::machine::resource::Resource;

use crate::ffi::handle::ContextHandle;
use crate::machine::resource::Counts;
use crate::machine::world::World;

/// Live objects of a program, and the context stack of the calling thread.
///
/// `since` compares two of them: `after.since(&before)` prints `2 streams, 1 event`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Census {
    live: Counts,
    abandoned: Counts,
    current: Vec<u64>,
}

impl Census {
    /// Number of live objects of a kind.
    #[must_use]
    pub fn live(&self, resource: Resource) -> u64 {
        self.live.0[resource as usize]
    }

    /// Number of objects of a kind that were destroyed with their context and not by a call of their own.
    #[must_use]
    pub fn abandoned(&self, resource: Resource) -> u64 {
        self.abandoned.0[resource as usize]
    }

    /// The handles of the contexts on the thread's stack, the current one last.
    #[must_use]
    pub fn current(&self) -> &[u64] {
        &self.current
    }

    /// The change since an earlier census, by kind.
    #[must_use]
    pub fn since(&self, before: &Census) -> Change {
        let change = |now: u64, then: u64| now.cast_signed() - then.cast_signed();
        let kinds = Resource::ALL.iter().map(|kind| KindChange {
            resource: *kind,
            live: change(self.live(*kind), before.live(*kind)),
            abandoned: change(self.abandoned(*kind), before.abandoned(*kind)),
        });
        let kinds = kinds.filter(|kind| kind.live != 0 || kind.abandoned != 0).collect();
        Change { kinds, current_changed: self.current != before.current }
    }
}

impl fmt::Display for Census {
    /// `2 streams, 1 event`, or `nothing`
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let present = Resource::ALL.iter().filter(|kind| self.live(**kind) > 0);
        let named = present.map(|kind| format!("{} {}", self.live(*kind), kind.noun(self.live(*kind))));
        list(formatter, named)
    }
}

fn list(formatter: &mut fmt::Formatter<'_>, parts: impl Iterator<Item = String>) -> fmt::Result {
    let parts: Vec<String> = parts.collect();
    formatter.write_str(if parts.is_empty() { "nothing" } else { "" })?;
    formatter.write_str(&parts.join(", "))
}

/// The difference between two [`Census`]es.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// The kinds with a change.
    pub kinds: Vec<KindChange>,
    /// `true` if the thread's context stack differs.
    pub current_changed: bool,
}

/// The change in the number of objects of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KindChange {
    /// The kind.
    pub resource: Resource,
    /// Change in the number of live objects.
    pub live: i64,
    /// Change in the number of objects destroyed with their context.
    pub abandoned: i64,
}

impl Change {
    /// `true` if nothing changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.kinds.is_empty() && !self.current_changed
    }
}

impl fmt::Display for Change {
    /// `2 streams, 1 event gone with its context, other current contexts`, or `nothing`
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        for KindChange { resource, live, abandoned } in &self.kinds {
            let noun = |count: i64| resource.noun(count.unsigned_abs());
            match live {
                0 => {}
                ..0 => parts.push(format!("{} {} fewer", live.unsigned_abs(), noun(*live))),
                1.. => parts.push(format!("{live} {}", noun(*live))),
            }
            if *abandoned != 0 {
                let whose = if *abandoned == 1 { "its" } else { "their" };
                parts.push(format!("{abandoned} {} gone with {whose} context", noun(*abandoned)));
            }
        }
        if self.current_changed {
            parts.push("other current contexts".to_owned());
        }
        list(formatter, parts.into_iter())
    }
}

impl World {
    /// Counts the live objects; `current` is the context stack of the calling thread.
    pub(crate) fn census(&self, current: &[ContextHandle]) -> Census {
        let mut live = Counts::default();
        for (_, context) in self.contexts.iter() {
            live.add(Resource::Context, u64::from(!context.is_primary) + u64::from(context.attached()));
            live.add(Resource::PeerAccess, context.peers.len() as u64);
        }
        for device in &self.devices {
            live.add(Resource::PrimaryRetain, device.retained.into());
        }
        live.add(Resource::Stream, self.streams.iter().count() as u64);
        live.add(Resource::Event, self.events.iter().count() as u64);
        live.add(Resource::Pool, self.pools.iter().filter(|(_, pool)| pool.is_the_programs()).count() as u64);
        for allocation in self.memory.iter() {
            Resource::of(&allocation.backing).into_iter().for_each(|resource| live.add(resource, 1));
        }
        let (modules, libraries, linkers) = self.code.outstanding();
        live.add(Resource::Module, modules);
        live.add(Resource::Library, libraries);
        let (graphs, executables) = self.graphs.outstanding();
        live.add(Resource::Graph, graphs);
        live.add(Resource::Executable, executables);
        live.add(Resource::Linker, linkers);
        live.add(Resource::Physical, self.physical.iter().map(|(_, physical)| physical.references).sum());
        live.add(Resource::Reservation, self.virtual_memory.reservation_count() as u64);
        Census { live, abandoned: self.abandoned, current: current.iter().map(|context| context.bits()).collect() }
    }
}
