//! Instantiation: executables of graphs.
#![expect(unsafe_code, reason = "instantiates raw graphs")]

use std::ptr::null_mut;

use warploom_driver::sys::types::{CUDA_GRAPH_INSTANTIATE_PARAMS, CUgraphInstantiate_flags, CUgraphInstantiateResult};

use super::exec::Source;
use super::exec_owners::ExecOwners;
use super::late_report::report_late;
use super::{GraphDef, GraphError, GraphExec, InstantiateError, InstantiateReason};
use crate::capture::RelaxedMode;
use crate::device::same_driver;
use crate::diagnostics::Subject;
use crate::{Queue, Result, Stream};

/// Options of an instantiation.
///
/// ```
/// use warploom::graph::InstantiateOptions;
///
/// let options = InstantiateOptions::new().auto_free().node_priority();
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct InstantiateOptions {
    flags: u32,
    upload: Option<Stream>,
}

impl InstantiateOptions {
    /// None.
    pub fn new() -> InstantiateOptions {
        InstantiateOptions::default()
    }

    fn with(self, flag: CUgraphInstantiate_flags) -> InstantiateOptions {
        InstantiateOptions { flags: self.flags | flag.0, ..self }
    }

    /// Frees memory that a launch has allocated and not freed, before the next launch.
    pub fn auto_free(self) -> InstantiateOptions {
        self.with(CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH)
    }

    /// Uploads the executable in the order of a stream, so that its first launch need not.
    pub fn upload_on(self, queue: &impl Queue) -> InstantiateOptions {
        let options = self.with(CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD);
        InstantiateOptions { upload: Some(queue.stream().clone()), ..options }
    }

    /// Lets kernels launch the executable. Such a graph has restrictions, which the error names.
    pub fn device_launch(self) -> InstantiateOptions {
        self.with(CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH)
    }

    /// Runs kernel nodes with their own priorities instead of the launching stream's.
    pub fn node_priority(self) -> InstantiateOptions {
        self.with(CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY)
    }
}

impl GraphDef {
    /// Makes an executable of the graph as it is now. Later changes of the graph do not show in it.
    ///
    /// # Errors
    ///
    /// As [`GraphDef::instantiate_with`].
    pub fn instantiate(&self) -> Result<GraphExec> {
        self.instantiate_with(&InstantiateOptions::new())
    }

    /// As [`GraphDef::instantiate`], with options.
    ///
    /// # Errors
    ///
    /// [`GraphError::Instantiate`] with the reason and the node, [`GraphError::Inside`] for a graph inside of
    /// a node, [`GraphError::Captured`], [`GraphError::ChildUnknown`],
    /// [`ContextError::Stale`](crate::ContextError::Stale), also for the stream of an upload, and the driver's
    /// error.
    #[doc(alias = "cuGraphInstantiateWithParams")]
    pub fn instantiate_with(&self, options: &InstantiateOptions) -> Result<GraphExec> {
        if let Some(stream) = &options.upload {
            same_driver(self.driver(), stream.driver())?;
            stream.context().check_generation()?;
            stream.refuse_captured("the upload of a graph")?;
        }
        if *self != self.root() {
            return Err(GraphError::Inside.into());
        }
        let _relaxed = RelaxedMode::new(self.driver());
        let _current = self.context().current()?;
        let mut locked = self.lock();
        let graph = locked.graph(self.id())?;
        locked.check_settled(self.id())?;
        let (owners, deaths) = (ExecOwners::of(&locked, self.id(), true), locked.deaths());
        let mut params = CUDA_GRAPH_INSTANTIATE_PARAMS {
            flags: options.flags.into(),
            hUploadStream: options.upload.as_ref().map_or(null_mut(), Stream::as_raw),
            hErrNode_out: null_mut(),
            result_out: CUgraphInstantiateResult::CUDA_GRAPH_INSTANTIATE_SUCCESS,
        };
        let (driver, mut raw) = (self.driver(), null_mut());
        let made = locked.without_user_objects(self.id(), || {
            // SAFETY: the graph and the stream are alive, and both results are writable; a context is current.
            unsafe { driver.cuGraphInstantiateWithParams(&raw mut raw, graph, &raw mut params) }
        });
        if let Err(error) = made {
            if !raw.is_null() {
                // The driver created the executable, then reported an error.
                //
                // SAFETY: the driver has made it just now, and it has no other owner.
                report_late(|| Subject::GraphExec { device: self.device().ordinal() }, unsafe {
                    driver.cuGraphExecDestroy(raw)
                });
            }
            let node = self.find(&locked, params.hErrNode_out);
            return Err(refused(params.result_out, node, error));
        }
        let source = Source { hierarchy: self.hierarchy().number(), deaths };
        // SAFETY: the driver has made it just now, and it has no other owner; these are the owners of its nodes.
        Ok(unsafe { GraphExec::over(self, source, raw, owners) })
    }
}

/// The error of an instantiation.
fn refused(result: CUgraphInstantiateResult, node: Option<super::Node>, error: warploom_driver::Error) -> crate::Error {
    let reason = match result {
        CUgraphInstantiateResult::CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE => InstantiateReason::InvalidStructure,
        CUgraphInstantiateResult::CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED => {
            InstantiateReason::NotSupported
        }
        CUgraphInstantiateResult::CUDA_GRAPH_INSTANTIATE_MULTIPLE_CTXS_NOT_SUPPORTED => {
            InstantiateReason::SeveralContexts
        }
        CUgraphInstantiateResult::CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED => {
            InstantiateReason::UnusedCondition
        }
        CUgraphInstantiateResult::CUDA_GRAPH_INSTANTIATE_ERROR => InstantiateReason::Driver,
        // The driver failed before it examined the graph.
        _ => return error.into(),
    };
    GraphError::Instantiate(Box::new(InstantiateError { reason, node, error })).into()
}
