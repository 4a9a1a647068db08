//! Memory of variables of loaded code, and of other parts of a launch.

use litemap::LiteMap;
use warploom_ptx::{Program, Variable};
use warploom_sys::types::CUresult;

use crate::ffi::handle::{ContextHandle, LibraryHandle};
use crate::ffi::status::{OUT_OF_MEMORY, Status};
use crate::machine::call::Call;
use crate::machine::world::World;
use crate::memory::{Allocation, Backing, Managed, Side, VariableMemory};

/// Bytes of the workspace of a cooperative launch.
const WORKSPACE: usize = 64;

impl World {
    /// Allocates and initialises the variables of a program, except those that already have memory. Returns
    /// their addresses.
    pub(crate) fn place_variables(
        &mut self,
        call: &Call<'_>,
        context: ContextHandle,
        device: u16,
        program: &Program,
        placed: &LiteMap<String, u64>,
    ) -> Status<Vec<u64>> {
        let mut addresses = Vec::with_capacity(program.variables().len());
        for variable in program.variables() {
            let taken = match placed.get(&variable.name).filter(|_| variable.managed) {
                Some(address) => Some(*address),
                None => self.take_for(variable, Some(context), device),
            };
            let Some(address) = taken else {
                addresses.retain(|address| !placed.values().any(|placed| placed == address));
                self.release_variables(&addresses);
                return Err(does_not_fit(call, variable, device));
            };
            addresses.push(address);
        }
        for (variable, address) in program.variables().iter().zip(&addresses) {
            if !placed.values().any(|placed| placed == address) {
                self.fill_variable(variable, *address, &addresses);
            }
        }
        Ok(addresses)
    }

    /// Allocates the managed variables of a library that have no memory yet: they belong to no context and
    /// are shared by all.
    pub(crate) fn place_managed(
        &mut self,
        call: &Call<'_>,
        library: LibraryHandle,
        device: u16,
        program: &Program,
    ) -> Status<LiteMap<String, u64>> {
        let mut placed = self.code.libraries.get(library).map(|library| library.managed.clone()).unwrap_or_default();
        for variable in program.variables().iter().filter(|variable| variable.managed) {
            if placed.contains_key(&variable.name) {
                continue;
            }
            let address = self.take_for(variable, None, device).ok_or_else(|| does_not_fit(call, variable, device))?;
            self.fill_variable(variable, address, &[]);
            placed.insert(variable.name.clone(), address);
            if let Some(library) = self.code.libraries.get_mut(library) {
                library.managed.insert(variable.name.clone(), address);
            }
        }
        Ok(placed)
    }

    fn take_for(&mut self, variable: &Variable, context: Option<ContextHandle>, device: u16) -> Option<u64> {
        match variable.size {
            0 => Some(0),
            size => self.take_variable(context, device, size, variable.managed, [0; 2]),
        }
    }

    /// Initialises a variable.
    fn fill_variable(&mut self, variable: &Variable, address: u64, addresses: &[u64]) {
        if let Some(allocation) = self.memory.at(address) {
            let mut bytes = variable.contents(addresses);
            bytes.resize(variable.size as usize, 0);
            allocation.place(address).put(&bytes);
            self.memory.mark_written(address);
        }
    }

    /// The workspace of a cooperative launch, in which its blocks synchronise.
    pub(crate) fn take_workspace(&mut self, context: ContextHandle, device: u16) -> Option<u64> {
        let address = self.take_variable(Some(context), device, WORKSPACE as u64, false, [0; 2])?;
        self.memory.at(address)?.place(address).put(&[0; WORKSPACE]);
        self.memory.mark_written(address);
        Some(address)
    }

    /// Releases the workspace of a cooperative launch.
    pub(crate) fn give_workspace(&mut self, address: u64) {
        self.release_allocation(address);
    }

    pub(crate) fn take_variable(
        &mut self,
        context: Option<ContextHandle>,
        device: u16,
        size: u64,
        managed: bool,
        margins: [u64; 2],
    ) -> Option<u64> {
        let (base, host) = if managed {
            let base = self.managed_memory.take(size, &self.engine).ok()?;
            (base, base as usize)
        } else {
            let memory = &mut self.devices[usize::from(device)].memory;
            let base = memory.take(size.checked_add(margins[0] + margins[1])?)? + margins[0];
            (base, memory.window().host_of(base))
        };
        let id = self.memory.next_id();
        let managed = managed.then_some(Managed { charged: 0 });
        let allocation = Allocation {
            base,
            size,
            host,
            side: Side::Device(device),
            context,
            id,
            backing: Backing::Variable(VariableMemory { managed, margins }),
            sync_memops: None,
            tracked: None,
        };
        self.add_allocation(allocation, None);
        Some(base)
    }

    /// Releases the memory of variables at once.
    pub(crate) fn release_variables(&mut self, addresses: &[u64]) {
        for address in addresses {
            self.release_allocation(*address);
        }
    }
}

fn does_not_fit(call: &Call<'_>, variable: &Variable, device: u16) -> CUresult {
    let (name, size) = (&variable.name, variable.size);
    call.refuse(OUT_OF_MEMORY, format!("the {size} bytes of the variable `{name}` do not fit device {device}"))
}
