//! Compiled code in serde's formats.

use serde::{Serialize, Serializer};

use super::{ObjectCode, UntrustedCode};

/// Written as [`UntrustedCode`], which is what is read back: a message does not say who wrote it.
impl Serialize for ObjectCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        UntrustedCode::from(self).serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::CodeKind;

    /// OBJ-6.
    #[test]
    fn code_is_read_as_it_was_written() {
        let names = [("scale<float>".to_owned(), "_Z5scale".to_owned())];
        let code = ObjectCode::made(CodeKind::LtoIr, "scale.cu", [0, 1, 255]).with_lowered_names(names);
        let text = serde_json::to_string(&code).unwrap();
        let written =
            r#"{"kind":"lto-ir","name":"scale.cu","bytes":[0,1,255],"lowered_names":{"scale<float>":"_Z5scale"}}"#;
        assert_eq!(text, written);
        let read: UntrustedCode = serde_json::from_str(&text).unwrap();
        assert_eq!(read, UntrustedCode::from(&code));
        assert_eq!(serde_json::to_string(&read).unwrap(), written);
        assert!(serde_json::from_str::<UntrustedCode>("{}").is_err());
    }

    /// A message with a binary does not become code that is loaded or linked.
    #[test]
    fn a_binary_of_a_message_is_refused_and_ptx_is_not() {
        let message =
            |kind: &str| format!(r#"{{"kind":"{kind}","name":"k","bytes":[46],"lowered_names":{{"a":"b"}}}}"#);
        let read = |kind: &str| serde_json::from_str::<UntrustedCode>(&message(kind)).unwrap().into_ptx();
        assert_eq!(read("ptx").unwrap().lowered_name("a"), Some("b"));
        for kind in ["cubin", "lto-ir", "fatbin", "object", "library"] {
            let error = read(kind).unwrap_err().to_string();
            assert!(error.contains("of unknown origin"), "{error}");
        }
    }
}
