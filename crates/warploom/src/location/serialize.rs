//! Locations in serde's formats: their texts, and NUMA nodes as numbers.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Host, Location, NumaId};

impl Serialize for NumaId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(self.get())
    }
}

/// Refuses numbers of more than 31 bits.
impl<'de> Deserialize<'de> for NumaId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<NumaId, D::Error> {
        NumaId::try_from(u32::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl Serialize for Host {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Host {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Host, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// Written as its text. A device belongs to a driver, so the text is read back by [`Location::parse`].
impl Serialize for Location {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S1.3: a value that was written is read back as an equal one.
    #[test]
    fn the_host_and_its_nodes_are_read_as_they_were_written() {
        let node = NumaId::try_from(i32::MAX).unwrap();
        for host in [Host::Any, Host::Numa(node), Host::NumaCurrent] {
            let text = serde_json::to_string(&host).unwrap();
            assert_eq!(serde_json::from_str::<Host>(&text).unwrap(), host);
            assert_eq!(serde_json::to_string(&Location::from(host)).unwrap(), text);
        }
        assert_eq!(serde_json::to_string(&node).unwrap(), "2147483647");
        assert_eq!(serde_json::from_str::<NumaId>("2147483647").unwrap(), node);
    }

    #[test]
    fn what_is_no_location_is_refused_with_the_reason() {
        let host = serde_json::from_str::<Host>("\"device 0\"").unwrap_err().to_string();
        assert!(host.contains("device 0") && host.contains("expected host"), "{host}");
        let node = serde_json::from_str::<NumaId>("2147483648").unwrap_err().to_string();
        assert!(node.contains("2147483648 is not a NUMA node"), "{node}");
        assert!(serde_json::from_str::<NumaId>("-1").is_err());
    }
}
