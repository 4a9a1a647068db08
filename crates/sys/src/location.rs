//! Memory locations, whose C struct hides its id in an anonymous union.

use crate::types::{CUmemLocation, CUmemLocation_st__bindgen_ty_1, CUmemLocationType};

impl CUmemLocation {
    /// A location of a kind, with the ordinal or node it needs.
    #[must_use]
    pub const fn new(kind: CUmemLocationType, id: i32) -> Self {
        Self { type_: kind, __bindgen_anon_1: CUmemLocation_st__bindgen_ty_1 { id } }
    }

    /// The ordinal or node.
    #[must_use]
    #[expect(unsafe_code, reason = "the id is a member of a C union")]
    pub const fn id(&self) -> i32 {
        // SAFETY: every bit pattern is an integer, and the union's other member is no larger.
        unsafe { self.__bindgen_anon_1.id }
    }
}
