//! Unique ids, by which the ranks of a communicator find each other.

use std::fmt;
use std::str::FromStr;

use super::NcclError;
use super::raw::{NCCL_UNIQUE_ID_BYTES, ncclUniqueId};
use crate::error::Malformed;
use crate::{Error, Result};

/// The id by which the ranks of one communicator find each other.
///
/// One rank makes it ([`Nccl::unique_id`](super::Nccl::unique_id)) and hands it to all others before they
/// [join](super::Nccl::join), by a channel of the program's own: between threads, a socket, a file, an
/// environment variable. It goes there as bytes, or as a text of 256 hexadecimal digits. It is for one
/// communicator, and names an address that answers every holder of the id: keep it secret from others.
///
/// ```
/// use warploom::nccl::UniqueId;
///
/// # fn main() -> warploom::Result<()> {
/// let id = UniqueId::from_bytes([7; 128]); // from another process
/// assert_eq!(id.to_string().parse::<UniqueId>()?, id);
/// assert_eq!(UniqueId::try_from(&id.as_bytes()[..])?, id);
/// # Ok(())
/// # }
/// ```
#[doc(alias = "ncclUniqueId")]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct UniqueId {
    bytes: [u8; NCCL_UNIQUE_ID_BYTES],
}

impl UniqueId {
    /// The id with these bytes, which another rank has sent.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; NCCL_UNIQUE_ID_BYTES]) -> UniqueId {
        UniqueId { bytes }
    }

    /// Its bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; NCCL_UNIQUE_ID_BYTES] {
        &self.bytes
    }

    pub(super) fn from_raw(raw: ncclUniqueId) -> UniqueId {
        UniqueId { bytes: raw.internal.map(|byte| byte.to_ne_bytes()[0]) }
    }

    pub(super) fn to_raw(self) -> ncclUniqueId {
        ncclUniqueId { internal: self.bytes.map(|byte| std::ffi::c_char::from_ne_bytes([byte])) }
    }
}

impl TryFrom<&[u8]> for UniqueId {
    type Error = Error;

    /// The id with these bytes; [`NcclError::UniqueIdLength`] unless there are as many as it has.
    fn try_from(bytes: &[u8]) -> Result<UniqueId> {
        let bytes = bytes.try_into().map_err(|_| NcclError::UniqueIdLength { len: bytes.len() })?;
        Ok(UniqueId { bytes })
    }
}

impl fmt::Display for UniqueId {
    /// 256 hexadecimal digits.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.bytes.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl FromStr for UniqueId {
    type Err = Error;

    fn from_str(text: &str) -> Result<UniqueId> {
        let malformed = || Malformed::new("unique id", text, "256 hexadecimal digits");
        let digits = text.as_bytes();
        if digits.len() != 2 * NCCL_UNIQUE_ID_BYTES || !digits.iter().all(u8::is_ascii_hexdigit) {
            return Err(malformed().into());
        }
        let mut bytes = [0; NCCL_UNIQUE_ID_BYTES];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let pair = std::str::from_utf8(pair).map_err(|_| malformed())?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| malformed())?;
        }
        Ok(UniqueId { bytes })
    }
}

impl fmt::Debug for UniqueId {
    /// Without the bytes, which are a secret.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("UniqueId").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_survives_every_form() -> Result<()> {
        let id = UniqueId::from_bytes(std::array::from_fn(|index| (index * 3) as u8));
        assert_eq!(UniqueId::from_raw(id.to_raw()), id);
        assert_eq!(id.to_string().parse::<UniqueId>()?, id);
        assert_eq!(UniqueId::try_from(&id.as_bytes()[..])?, id);
        Ok(())
    }

    #[test]
    fn malformed_ids_are_refused() {
        let short = UniqueId::try_from(&[1_u8; 127][..]);
        assert_eq!(short, Err(NcclError::UniqueIdLength { len: 127 }.into()));
        for text in ["", "00", &"g".repeat(256), &"+1".repeat(128), &"é".repeat(128)] {
            assert!(matches!(text.parse::<UniqueId>(), Err(Error::Malformed(_))), "{text}");
        }
    }
}
