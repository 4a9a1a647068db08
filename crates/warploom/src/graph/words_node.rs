//! Word nodes: a graph writes words that streams and the host share, or waits for them.
#![expect(unsafe_code, reason = "adds raw nodes")]

use warploom_driver::sys::types::{
    CUDA_BATCH_MEM_OP_NODE_PARAMS, CUcontext, CUgraphExec, CUgraphNode, CUstreamBatchMemOpParams,
};

use super::bundle::{Bundle, Part, Retained};
use super::copy_node::keep_other_context;
use super::node::{Node, NodeKind, TypedNode, sealed, typed_node};
use super::position::Place;
use super::{GraphDef, GraphError, Position};
use crate::stream::UsedWords;
use crate::{Context, Driver, Result, WordOperation};

/// The most operations of a node.
const MOST: usize = 255;

/// A node that writes words or waits for them, added by [`Position::words`].
#[derive(Clone)]
pub struct WordsNode {
    node: Node,
    /// The context that it runs in, unless it is the graph's.
    other_context: Option<Context>,
}
typed_node!(WordsNode);

impl TypedNode for WordsNode {}
impl sealed::TypedNode for WordsNode {
    const KIND: NodeKind = NodeKind::Values;

    fn over(node: Node) -> Result<WordsNode> {
        let other_context = node.other_context();
        Ok(WordsNode { node, other_context })
    }
}

/// Operations that are checked: their driver form, and the owners of the words.
pub(super) struct WordList {
    raw: Vec<CUstreamBatchMemOpParams>,
    context: CUcontext,
    pub(super) owners: Bundle,
}

impl WordList {
    pub(super) fn new(graph: &GraphDef, context: &Context, operations: &[WordOperation]) -> Result<WordList> {
        if operations.is_empty() || operations.len() > MOST {
            return Err(GraphError::WordOperations { count: operations.len(), limit: MOST }.into());
        }
        operations.iter().try_for_each(|operation| operation.check_in(context))?;
        let mut owners = Bundle::of(Part::Whole, Some(Retained::Value(UsedWords::of(operations))));
        keep_other_context(&mut owners, (graph, context));
        let raw = operations.iter().map(WordOperation::to_raw).collect();
        Ok(WordList { raw, context: context.as_raw(), owners })
    }

    /// Calls with the parameters of a node, which the driver copies.
    fn pass<R>(
        raw: &mut [CUstreamBatchMemOpParams],
        context: CUcontext,
        call: impl FnOnce(*const CUDA_BATCH_MEM_OP_NODE_PARAMS) -> R,
    ) -> R {
        // There are at most `MOST`.
        let (count, operations) = (raw.len() as u32, raw.as_mut_ptr());
        let params = CUDA_BATCH_MEM_OP_NODE_PARAMS { ctx: context, count, paramArray: operations, flags: 0 };
        call(&raw const params)
    }

    /// Gives a node of an executable the operations.
    ///
    /// # Safety
    ///
    /// Both are alive and used by no other thread, the node writes words or waits for them, and the owners
    /// are kept.
    pub(super) unsafe fn set_in(
        mut self,
        driver: &Driver,
        exec: CUgraphExec,
        node: CUgraphNode,
    ) -> warploom_driver::Result<()> {
        WordList::pass(&mut self.raw, self.context, |params| {
            // SAFETY: the caller's promise, and the parameters are complete.
            unsafe { driver.cuGraphExecBatchMemOpNodeSetParams(exec, node, params) }
        })
    }

    /// The owners, for the executable to keep.
    pub(super) fn take_owners(&mut self) -> Bundle {
        std::mem::take(&mut self.owners)
    }
}

impl Position<'_> {
    /// Adds a node that makes operations on words one after the other, in each launch: writes, and waits
    /// until a comparison holds. The graph keeps the words.
    ///
    /// ```
    /// use warploom::{Comparison, DevicePool, Driver, GraphDef, StreamWord};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
    /// let context = driver.device(0)?.context()?;
    /// let stream = context.stream()?;
    /// let mut buffer = DevicePool::new(&context)?.zeroed::<u32>(4, &stream)?;
    ///
    /// let (go, done) = (StreamWord::<u32>::new(&context, 0)?, StreamWord::<u64>::new(&context, 0)?);
    /// let graph = GraphDef::new(&context)?;
    /// let start = graph.entry().words(&[go.waiting(Comparison::AtLeast(1))])?;
    /// let fill = start.then().fill(&mut buffer, 7)?;
    /// fill.then().words(&[done.writing(1), go.writing(0)])?;
    ///
    /// graph.instantiate()?.launch(&stream)?; // waits for the host
    /// go.store(1);
    /// stream.synchronize()?;
    /// assert_eq!((go.load(), done.load(), buffer.download(&stream)?), (0, 1, vec![7; 4]));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`GraphError::WordOperations`] for none or more than 255,
    /// [`StreamError::NoWords`](crate::StreamError::NoWords) for an operation that the device of the node
    /// lacks, [`DeviceError::DriverMismatch`](crate::DeviceError::DriverMismatch) for words of another driver,
    /// and as [`Position::empty`].
    #[doc(alias = "cuGraphAddBatchMemOpNode")]
    pub fn words(self, operations: &[WordOperation]) -> Result<WordsNode> {
        self.check_context()?;
        let mut list = WordList::new(self.graph(), self.context(), operations)?;
        let mut owners = list.take_owners();
        let add = |driver: &Driver, (node, graph, after, count): Place| {
            WordList::pass(&mut list.raw, list.context, |params| {
                // SAFETY: the place is one to add a node at; the graph keeps the words and the context.
                unsafe { driver.cuGraphAddBatchMemOpNode(node, graph, after, count, params) }
            })
        };
        let node = self.node(|position| position.add(&mut owners, add))?;
        Ok(WordsNode { node, other_context: self.other_context() })
    }
}

impl WordsNode {
    /// The context that it runs in.
    pub(super) fn context(&self) -> &Context {
        self.other_context.as_ref().unwrap_or(self.node.graph().context())
    }

    /// Replaces the operations. Executables keep what they have.
    ///
    /// # Errors
    ///
    /// As [`Position::words`], and [`GraphError::NodeDestroyed`]. Then the node is as before.
    #[doc(alias = "cuGraphBatchMemOpNodeSetParams")]
    pub fn set(&self, operations: &[WordOperation]) -> Result<()> {
        let mut list = WordList::new(self.node.graph(), self.context(), operations)?;
        let owners = list.take_owners();
        self.node.change(
            |_| Some(owners),
            |locked, node| {
                WordList::pass(&mut list.raw, list.context, |params| {
                    // SAFETY: the node is alive and of the kind; the graph keeps the words and the context.
                    Ok(unsafe { locked.driver().cuGraphBatchMemOpNodeSetParams(node, params) }?)
                })
            },
        )
    }
}
