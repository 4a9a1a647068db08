//! Managed memory: one address for host and devices.

/// The window managed memory comes from, once it was asked for.
#[derive(Default)]
pub(crate) struct ManagedMemory {}

/// What is particular to a managed allocation.
#[derive(Debug)]
pub(crate) struct Managed {
    pub(crate) flags: u32,
}
