//! Sixteen-bit floating point, alone and in pairs, bit for bit.

use crate::variant::{Variant, typed};

pub(crate) fn variants() -> Vec<Variant> {
    let mut list = Vec::new();
    list.extend(typed("{add,sub,mul}{,.rn}{,.ftz}{,.sat}.{f16,f16x2}", "T", "T T"));
    list.extend(typed("{add,sub,mul}{,.rn}.{bf16,bf16x2}", "T", "T T"));
    list.extend(typed("fma.rn{,.ftz}{,.sat}.{f16,f16x2}", "T", "T T T"));
    list.extend(typed("fma.rn{,.ftz}.relu.{f16,f16x2}", "T", "T T T"));
    list.extend(typed("fma.rn{,.relu}.{bf16,bf16x2}", "T", "T T T"));
    list.extend(typed("fma.rn.oob{,.relu}.{f16,f16x2,bf16,bf16x2}", "T", "T T T"));
    list.extend(typed("{abs,neg}{,.ftz}.{f16,f16x2}", "T", "T"));
    list.extend(typed("{abs,neg}.{bf16,bf16x2}", "T", "T"));
    list.extend(typed("{min,max}{,.ftz}{,.NaN}{,.xorsign.abs}.{f16,f16x2}", "T", "T T"));
    list.extend(typed("{min,max}{,.NaN}{,.xorsign.abs}.{bf16,bf16x2}", "T", "T T"));
    list.into_iter().map(|variant| variant.cases(256)).collect()
}
