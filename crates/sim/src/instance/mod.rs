//! Machines as their users hold them: starting one, its driver, its reports, faults and host accesses.

mod builder;
mod code_image;
mod driver;
mod faults;
mod host_access;
mod machine;
mod record;
mod reports;
mod residency;
mod start_error;

pub use self::builder::MachineBuilder;
pub use self::code_image::{CodeImage, CodeImageKind, CodeRefusal, CodeText};
pub use self::host_access::{HandOver, HostAccess, HostAccessError};
pub use self::machine::Machine;
pub use self::start_error::StartError;
