//! Values from text, checked.

mod pci;
pub(crate) mod uuid;
pub(crate) mod version;
