//! The machine and the process that a descriptor was made in.

use std::sync::OnceLock;

use super::IpcError;
use crate::Uuid;

/// The boot identifier of the kernel, which processes in containers see, too.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// The machine and the process of a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Origin {
    /// The machine's boot identifier; zeroes where there is none.
    pub(super) machine: [u8; 16],
    /// A random number of the process.
    pub(super) process: [u8; 16],
}

impl Origin {
    /// This process.
    pub(crate) fn here() -> Result<Origin, IpcError> {
        static HERE: OnceLock<Origin> = OnceLock::new();
        if let Some(here) = HERE.get() {
            return Ok(*here);
        }
        let process = *random_uuid()?.as_bytes();
        let boot = std::fs::read_to_string(BOOT_ID).ok().and_then(|text| text.trim().parse::<Uuid>().ok());
        let machine = boot.map_or([0; 16], |boot| *boot.as_bytes());
        Ok(*HERE.get_or_init(|| Origin { machine, process }))
    }

    /// Refuses a descriptor of another machine, and one of this process.
    pub(super) fn check(self, what: &'static str) -> Result<(), IpcError> {
        let here = Origin::here()?;
        if self.machine != here.machine {
            return Err(IpcError::OtherMachine { what });
        }
        if self.process == here.process {
            return Err(IpcError::OwnProcess { what });
        }
        Ok(())
    }
}

/// A random UUID, of version 4.
pub(crate) fn random_uuid() -> Result<Uuid, IpcError> {
    let mut bytes = [0; 16];
    let failed = |error: rustix::io::Errno| IpcError::socket("asking the system for random bytes", &error.into());
    // The kernel answers so few bytes at once, unless a signal comes before it has any entropy.
    while rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty()).map_err(failed)? < bytes.len() {}
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    Ok(Uuid::from_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_descriptor_of_this_process_or_of_another_machine_is_refused() {
        let (here, what) = (Origin::here().unwrap(), "pool handle");
        assert_eq!(here, Origin::here().unwrap());
        assert_eq!(here.check(what), Err(IpcError::OwnProcess { what }));
        let other = Origin { process: [1; 16], ..here };
        assert_eq!(other.check(what), Ok(()));
        let far = Origin { machine: [9; 16], ..other };
        assert_eq!(far.check(what), Err(IpcError::OtherMachine { what }));
    }

    #[test]
    fn random_uuids_differ_and_have_version_4() {
        let (one, other) = (random_uuid().unwrap(), random_uuid().unwrap());
        assert_ne!(one, other);
        assert_eq!(one.to_string().as_bytes()[14], b'4');
    }
}
