//! Compiled code in serde's formats.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{CodeKind, ObjectCode};

/// The serialised form of code.
#[derive(Serialize, Deserialize)]
#[serde(rename = "ObjectCode")]
struct Parts<'a> {
    kind: CodeKind,
    name: Cow<'a, str>,
    bytes: Cow<'a, [u8]>,
    lowered_names: BTreeMap<Cow<'a, str>, Cow<'a, str>>,
}

impl Serialize for ObjectCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (kind, name, bytes) = (self.kind(), self.name().into(), self.bytes().into());
        let lowered_names = self.lowered_names().map(|(expression, name)| (expression.into(), name.into())).collect();
        Parts { kind, name, bytes, lowered_names }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ObjectCode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ObjectCode, D::Error> {
        let Parts { kind, name, bytes, lowered_names } = Parts::deserialize(deserializer)?;
        let names = lowered_names.into_iter().map(|(expression, name)| (expression.into_owned(), name.into_owned()));
        Ok(ObjectCode::new(kind, &name, bytes).with_lowered_names(names))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// OBJ-6.
    #[test]
    fn code_is_read_as_it_was_written() {
        let names = [("scale<float>".to_owned(), "_Z5scale".to_owned())];
        let code = ObjectCode::new(CodeKind::LtoIr, "scale.cu", [0, 1, 255]).with_lowered_names(names);
        let text = serde_json::to_string(&code).unwrap();
        let written =
            r#"{"kind":"lto-ir","name":"scale.cu","bytes":[0,1,255],"lowered_names":{"scale<float>":"_Z5scale"}}"#;
        assert_eq!(text, written);
        assert_eq!(serde_json::from_str::<ObjectCode>(&text).unwrap(), code);
        assert!(serde_json::from_str::<ObjectCode>("{}").is_err());
    }
}
