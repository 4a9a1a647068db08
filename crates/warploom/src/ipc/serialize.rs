//! Descriptors in serde's formats: their bytes, which are checked when they are read.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{BufferDescriptor, EventDescriptor, IpcError};

/// A descriptor that is read from bytes.
trait FromBytes: Sized {
    const LEN: usize;
    fn read(bytes: &[u8]) -> Result<Self, IpcError>;
}

/// Reads bytes, or a sequence of numbers, and a descriptor from them.
struct Bytes<D>(PhantomData<D>);

impl<'de, D: FromBytes> Visitor<'de> for Bytes<D> {
    type Value = D;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the {} bytes of a descriptor", D::LEN)
    }

    fn visit_bytes<E: serde::de::Error>(self, bytes: &[u8]) -> Result<D, E> {
        D::read(bytes).map_err(E::custom)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut bytes: A) -> Result<D, A::Error> {
        let mut read = Vec::with_capacity(D::LEN);
        while let Some(byte) = bytes.next_element::<u8>()? {
            if read.len() == D::LEN {
                return Err(A::Error::invalid_length(D::LEN + 1, &self));
            }
            read.push(byte);
        }
        D::read(&read).map_err(A::Error::custom)
    }
}

macro_rules! serialize {
    ($($descriptor:ident)*) => {$(
        impl FromBytes for $descriptor {
            const LEN: usize = $descriptor::LEN;

            fn read(bytes: &[u8]) -> Result<Self, IpcError> {
                $descriptor::from_bytes(bytes)
            }
        }

        impl Serialize for $descriptor {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_bytes(&self.to_bytes())
            }
        }

        /// Checks the bytes as `from_bytes` does.
        impl<'de> Deserialize<'de> for $descriptor {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_bytes(Bytes(PhantomData))
            }
        }
    )*};
}
serialize!(BufferDescriptor EventDescriptor);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Uuid;
    use crate::ipc::SharedMemory;
    use crate::ipc::origin::Origin;

    fn descriptor() -> BufferDescriptor {
        let (origin, pool) = (Origin::here().unwrap(), Uuid::from_bytes([8; 16]));
        BufferDescriptor { origin, memory: SharedMemory::Device, pool, bytes: 4096, payload: [1; 64] }
    }

    /// S4.15: no stream is written, and the receiver gets a descriptor, not a buffer.
    #[test]
    fn a_descriptor_is_read_as_it_was_written() {
        let text = serde_json::to_string(&descriptor()).unwrap();
        assert_eq!(serde_json::from_str::<BufferDescriptor>(&text).unwrap(), descriptor());
    }

    #[test]
    fn a_descriptor_of_the_wrong_length_or_kind_is_refused() {
        let bytes = descriptor().to_bytes();
        let read = |bytes: &[u8]| {
            let text = serde_json::to_string(bytes).unwrap();
            serde_json::from_str::<BufferDescriptor>(&text).unwrap_err().to_string()
        };
        assert!(read(&bytes[..50]).contains("has 136 bytes, not 50"), "{}", read(&bytes[..50]));
        assert!(read(&[&bytes[..], &[0]].concat()).contains("137"));
        let text = serde_json::to_string(&descriptor()).unwrap();
        let error = serde_json::from_str::<EventDescriptor>(&text).unwrap_err().to_string();
        assert!(error.contains("descriptor"), "{error}");
    }
}
