//! The memory and kernels that an executable uses, and the stream that it was last launched on.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::BuildHasherDefault;

use super::bundle::{Bundle, Retained};
use super::hierarchy::{GraphId, Locked};
use super::raw::HandleHasher;
use crate::memory::{AllocationRef, HostUses, Operand};
use crate::{Arguments, Context, Kernel, Result, Stream};

/// All allocations and kernels that nodes of an executable refer to, each once. The executable keeps them: by
/// the references that it has from its definition, or by its accumulator.
#[derive(Default)]
pub(super) struct GraphUses {
    /// In the order in which they were added.
    memory: Vec<Used>,
    /// The contexts of all memory, as in [`Used`], by the identities of the allocations.
    contexts: HashMap<usize, usize, BuildHasherDefault<HandleHasher>>,
    /// Kernels with their contexts, by the addresses of both.
    kernels: HashMap<(usize, usize), (Kernel, Context), BuildHasherDefault<HandleHasher>>,
    /// Contexts that nodes run in beside that of the graph.
    other_contexts: Vec<Context>,
    /// The kernel that was looked for last and found, and its context, by their addresses.
    found: (usize, usize),
    /// The memory that the host can borrow.
    host: HostUses,
    /// The stream that has met all of the memory.
    met: Option<Stream>,
}

/// An allocation that nodes use.
struct Used {
    allocation: AllocationRef,
    /// The address of its context, whose nodes can use it without a further check; 0 for memory that a graph
    /// allocates, which is checked each time.
    context: usize,
}

impl Used {
    fn new(allocation: &AllocationRef) -> Used {
        let context = if allocation.capture().is_some() { 0 } else { allocation.context().address() };
        Used { allocation: allocation.clone(), context }
    }
}

impl GraphUses {
    /// The memory of a graph and of all graphs below.
    pub(super) fn of(locked: &Locked<'_>, id: GraphId) -> GraphUses {
        let mut uses = GraphUses::default();
        locked.each_bundle(id, &mut |bundle| uses.add(bundle));
        uses
    }

    /// Adds the memory and the kernel of a node that has other parameters now.
    pub(super) fn add(&mut self, bundle: &Bundle) {
        for retained in bundle.all() {
            match retained {
                Retained::Memory(allocation, access) => {
                    self.host.add(allocation, *access);
                    if let Entry::Vacant(place) = self.contexts.entry(allocation.identity()) {
                        let used = Used::new(allocation);
                        place.insert(used.context);
                        self.memory.push(used);
                        self.met = None;
                    }
                }
                Retained::Kernel(kernel, context) => {
                    let owner = || (kernel.clone(), context.clone());
                    self.kernels.entry((kernel.address(), context.address())).or_insert_with(owner);
                }
                Retained::Context(context) if !self.other_contexts.contains(context) => {
                    self.other_contexts.push(context.clone());
                }
                Retained::Context(_) | Retained::Padded(_) | Retained::Value(_) => {}
            }
        }
    }

    /// `true` if the executable keeps a kernel and the memory of its arguments already, and all of that memory is
    /// of the context. Then nodes in the context can use it.
    #[inline]
    pub(super) fn keeps_kernel(&mut self, kernel: &Kernel, context: &Context, arguments: &impl Arguments) -> bool {
        let mut is_kept = self.keeps_code(kernel, context);
        let see = |operand: Operand<'_>| {
            is_kept &= self.keeps_memory(operand.allocation(), context);
            Ok(())
        };
        arguments.each_operand(see).is_ok() && is_kept
    }

    #[inline]
    fn keeps_code(&mut self, kernel: &Kernel, context: &Context) -> bool {
        let key = (kernel.address(), context.address());
        let is_kept = self.found == key || self.kernels.contains_key(&key);
        if is_kept {
            self.found = key;
        }
        is_kept
    }

    #[inline]
    fn keeps_memory(&self, allocation: &AllocationRef, context: &Context) -> bool {
        let (identity, context) = (allocation.identity(), context.address());
        // A few are compared faster than one is hashed.
        match &self.memory[..] {
            few @ ([] | [_] | [_, _] | [_, _, _] | [_, _, _, _]) => {
                few.iter().any(|used| used.allocation.identity() == identity && used.context == context)
            }
            _ => self.contexts.get(&identity) == Some(&context),
        }
    }

    /// Notes how a kernel uses memory from now on, which the executable keeps already. All of it is the device's,
    /// mostly, and there is nothing to note.
    #[cold]
    pub(super) fn add_arguments(&mut self, context: &Context, arguments: &impl Arguments) -> Result<()> {
        arguments.each_operand(|operand| {
            let (allocation, access) = operand.use_in_graph(context)?;
            self.host.add(allocation, access);
            Ok(())
        })
    }

    /// Notes how a node uses memory from now on, which the executable keeps already.
    pub(super) fn add_accesses(&mut self, bundle: &Bundle) {
        if self.host.is_empty() {
            return; // all of the memory is the device's
        }
        for retained in bundle.all() {
            if let Retained::Memory(allocation, access) = retained {
                self.host.add(allocation, *access);
            }
        }
    }

    /// `true` if the executable keeps all owners of a bundle already.
    pub(super) fn keeps(&self, bundle: &Bundle) -> bool {
        bundle.all().all(|retained| match retained {
            Retained::Memory(allocation, _) => self.contexts.contains_key(&allocation.identity()),
            Retained::Kernel(kernel, context) => self.kernels.contains_key(&(kernel.address(), context.address())),
            Retained::Context(context) => self.other_contexts.contains(context),
            Retained::Padded(_) => true,
            Retained::Value(_) => false,
        })
    }

    /// Lets a stream launch the executable: all memory is freed after the stream's work from now on. Nothing
    /// is done for the stream of the launch before.
    #[inline]
    pub(super) fn meet(&mut self, stream: &Stream) -> Result<()> {
        if self.met.as_ref() == Some(stream) { Ok(()) } else { self.meet_other(stream) }
    }

    #[cold]
    fn meet_other(&mut self, stream: &Stream) -> Result<()> {
        self.met = None;
        self.memory.iter().try_for_each(|used| used.allocation.meet_launches(stream))?;
        self.met = Some(stream.clone());
        Ok(())
    }

    /// The memory that the host can borrow.
    pub(super) fn host(&self) -> &HostUses {
        &self.host
    }
}
