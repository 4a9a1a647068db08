//! Annotations: the text, color, category and payload of a mark or a range.

use std::ffi::CString;

use super::raw::{
    NVTX_COLOR_ARGB, NVTX_MESSAGE_TYPE_ASCII, NVTX_PAYLOAD_TYPE_UNSIGNED_INT64, NVTX_VERSION, nvtxEventAttributes_t,
};

/// The text of a mark or a range, and its color, category and payload if it has them. A text alone is one,
/// too.
///
/// ```
/// use warploom::nvtx::Annotation;
///
/// let batch = Annotation::new("batch").color(0xff76_b900).category(2).payload(64);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use]
pub struct Annotation<'a> {
    text: &'a str,
    color: Option<u32>,
    category: u32,
    payload: Option<u64>,
}

impl<'a> Annotation<'a> {
    /// A text. Tools show it up to its first zero byte.
    pub fn new(text: &'a str) -> Annotation<'a> {
        Annotation { text, color: None, category: 0, payload: None }
    }

    /// The color, as alpha, red, green and blue: `0xff00ff00` is green.
    pub fn color(self, argb: u32) -> Annotation<'a> {
        Annotation { color: Some(argb), ..self }
    }

    /// The category, by which tools filter; 0 is none.
    pub fn category(self, category: u32) -> Annotation<'a> {
        Annotation { category, ..self }
    }

    /// A number that tools show with the text.
    pub fn payload(self, payload: u64) -> Annotation<'a> {
        Annotation { payload: Some(payload), ..self }
    }

    /// Calls with the attributes in C, which are valid during the call.
    pub(super) fn with_attributes<R>(self, call: impl FnOnce(*const nvtxEventAttributes_t) -> R) -> R {
        let message = text(self.text);
        let attributes = nvtxEventAttributes_t {
            version: NVTX_VERSION,
            size: size_of::<nvtxEventAttributes_t>() as u16,
            category: self.category,
            colorType: self.color.map_or(0, |_| NVTX_COLOR_ARGB),
            color: self.color.unwrap_or(0),
            payloadType: self.payload.map_or(0, |_| NVTX_PAYLOAD_TYPE_UNSIGNED_INT64),
            reserved0: 0,
            payload: self.payload.unwrap_or(0),
            messageType: NVTX_MESSAGE_TYPE_ASCII,
            message: message.as_ptr(),
        };
        call(&raw const attributes)
    }
}

/// A text in C, up to its first zero byte.
pub(super) fn text(text: &str) -> CString {
    let before_zero = text.split('\0').next().unwrap_or_default();
    CString::new(before_zero).unwrap_or_default()
}

impl<'a> From<&'a str> for Annotation<'a> {
    fn from(text: &'a str) -> Annotation<'a> {
        Annotation::new(text)
    }
}

impl<'a> From<&'a String> for Annotation<'a> {
    fn from(text: &'a String) -> Annotation<'a> {
        Annotation::new(text)
    }
}
