//! Operations on words, for nodes of graphs.

use std::fmt;
use std::sync::Arc;

use warploom_driver::sys::types::{
    CUstreamBatchMemOpParams, CUstreamBatchMemOpType as Operation, CUstreamWaitValue_flags as Flags,
};

use super::word::{has_nor, no_nor, refuse_width};
use crate::context::Word;
use crate::device::same_driver;
use crate::{Context, Result};

/// A write to a [`StreamWord`](crate::StreamWord), or a wait for it, for a node of a graph:
/// [`Position::words`](crate::graph::Position::words). Made by [`StreamWord::writing`] and
/// [`StreamWord::waiting`]; it keeps the word.
///
/// [`StreamWord::writing`]: crate::StreamWord::writing
/// [`StreamWord::waiting`]: crate::StreamWord::waiting
#[derive(Clone)]
pub struct WordOperation {
    /// The word; there while it is held.
    word: Option<Arc<Word>>,
    /// Kept until the word is given back.
    context: Context,
    bits: u32,
    value: u64,
    /// The comparison of a wait; `None` for a write.
    wait: Option<Flags>,
}

/// The words of some operations, and their contexts, for a graph to keep.
pub(crate) struct UsedWords(#[expect(dead_code, reason = "kept for its drop")] Vec<WordOperation>);

impl WordOperation {
    pub(super) fn new(
        (word, context): (Option<Arc<Word>>, Context),
        (bits, value): (u32, u64),
        wait: Option<Flags>,
    ) -> WordOperation {
        WordOperation { word, context, bits, value, wait }
    }

    /// Refuses an operation that nodes in a context cannot make.
    pub(crate) fn check_in(&self, context: &Context) -> Result<()> {
        same_driver(self.context.driver(), context.driver())?;
        self.context.check_generation()?;
        refuse_width(self.bits, context)?;
        if self.wait == Some(Flags::CU_STREAM_WAIT_VALUE_NOR) && !has_nor(context)? {
            return Err(no_nor(context));
        }
        Ok(())
    }

    /// The driver's form: the operation, the address, the value and the flags, of 8 bytes each.
    pub(crate) fn to_raw(&self) -> CUstreamBatchMemOpParams {
        let operation = match (self.wait, self.bits) {
            (None, 32) => Operation::CU_STREAM_MEM_OP_WRITE_VALUE_32,
            (None, _) => Operation::CU_STREAM_MEM_OP_WRITE_VALUE_64,
            (Some(_), 32) => Operation::CU_STREAM_MEM_OP_WAIT_VALUE_32,
            (Some(_), _) => Operation::CU_STREAM_MEM_OP_WAIT_VALUE_64,
        };
        let (address, flags) = (self.address(), self.wait.map_or(0, |flags| flags.0));
        CUstreamBatchMemOpParams { pad: [operation.0.into(), address, self.value, flags.into(), 0, 0] }
    }

    fn address(&self) -> u64 {
        self.word.as_ref().map_or(0, |word| word.address()) as u64
    }
}

impl UsedWords {
    pub(crate) fn of(operations: &[WordOperation]) -> Arc<UsedWords> {
        Arc::new(UsedWords(operations.to_vec()))
    }
}

impl fmt::Debug for WordOperation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if self.wait.is_some() { "waits" } else { "writes" };
        let address = format_args!("{:#x}", self.address());
        formatter.debug_struct("WordOperation").field("address", &address).field(name, &self.value).finish()
    }
}
