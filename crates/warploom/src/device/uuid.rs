//! UUIDs of devices and of shared pools.

use std::fmt;
use std::str::FromStr;

use crate::error::Malformed;

/// Sixteen bytes that name one device in the world, or one pool that processes share.
///
/// ```
/// use warploom::Uuid;
///
/// let uuid: Uuid = "GPU-6f1b6eb2-0d5c-4f0c-9d10-0a6b3d2c1e0f".parse()?;
/// assert_eq!(uuid.to_string(), "6f1b6eb2-0d5c-4f0c-9d10-0a6b3d2c1e0f");
/// # Ok::<(), warploom::Malformed>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uuid([u8; 16]);

impl Uuid {
    /// The UUID of these bytes, in the order in which they are written.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 16]) -> Uuid {
        Uuid(bytes)
    }

    /// The bytes, in the order in which they are written.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl fmt::Display for Uuid {
    /// Groups of 8, 4, 4, 4 and 12 digits.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, byte) in self.0.iter().enumerate() {
            if let 4 | 6 | 8 | 10 = position {
                formatter.write_str("-")?;
            }
            write!(formatter, "{byte:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Uuid {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Uuid({self})")
    }
}

impl FromStr for Uuid {
    type Err = Malformed;

    /// Parses the text of `Display`, in upper or lower case; with `GPU-` or `MIG-` before it, as other tools
    /// print it.
    fn from_str(text: &str) -> Result<Uuid, Malformed> {
        let malformed = || Malformed::new("UUID", text, "32 hexadecimal digits in groups of 8-4-4-4-12");
        let digits = text.strip_prefix("GPU-").or_else(|| text.strip_prefix("MIG-")).unwrap_or(text);
        let groups: Vec<&str> = digits.split('-').collect();
        let lengths: Vec<usize> = groups.iter().map(|group| group.len()).collect();
        let digits = groups.concat();
        if lengths != [8, 4, 4, 4, 12] || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(malformed());
        }
        Ok(Uuid(u128::from_str_radix(&digits, 16).map_err(|_| malformed())?.to_be_bytes()))
    }
}
