//! Global and constant variables, and relocations to their addresses.

use super::window;
use crate::lanes::Row;
use crate::program::constants::Constants;

/// A variable in the machine's memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// `true` if kernels may write it.
    pub space: VariableSpace,
    /// Its size in bytes.
    pub size: u64,
    /// Its alignment in bytes.
    pub alignment: u32,
    /// `true` if another text defines it.
    pub external: bool,
    /// `true` if other texts, and the host, may know it by name.
    pub visible: bool,
    /// `true` if the host sees it, too: `.attribute(.managed)`.
    pub managed: bool,
    pub(crate) initial: Vec<u8>,
    pub(crate) addresses: Vec<Inside>,
}

/// The state space of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VariableSpace {
    /// `.global`
    Global,
    /// `.const`
    Constant,
}

/// The target of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Target {
    Variable(u32),
    Function(u32),
}

impl Target {
    fn address(self, addresses: &[u64]) -> u64 {
        match self {
            Target::Variable(index) => addresses.get(index as usize).copied().unwrap_or(0),
            Target::Function(index) => window::function_address(index),
        }
    }
}

/// An address inside of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Inside {
    pub(crate) at: u64,
    pub(crate) target: Target,
    pub(crate) offset: i64,
    /// Bytes to write, from which byte of the address on.
    pub(crate) bytes: u8,
    pub(crate) from: u8,
}

/// A constant that is an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Relocation {
    /// The row of the longs.
    pub(crate) constant: u32,
    pub(crate) target: Target,
    pub(crate) offset: i64,
}

impl Relocation {
    pub(crate) fn apply(&self, constants: &mut Constants, addresses: &[u64]) {
        let address = self.target.address(addresses).wrapping_add_signed(self.offset);
        constants.longs[self.constant as usize] = Row::of(address);
    }
}

impl Variable {
    /// Its initial contents, given the addresses of all variables of the program; zeros follow up to its
    /// size.
    pub fn contents(&self, addresses: &[u64]) -> Vec<u8> {
        let mut bytes = self.initial.clone();
        for inside in &self.addresses {
            let address = inside.target.address(addresses).wrapping_add_signed(inside.offset).to_le_bytes();
            let (at, from) = (usize::try_from(inside.at).unwrap_or(usize::MAX), usize::from(inside.from));
            let part = &address[from..from + usize::from(inside.bytes)];
            if let Some(into) = bytes.get_mut(at..at.saturating_add(part.len())) {
                into.copy_from_slice(part);
            }
        }
        bytes
    }
}
