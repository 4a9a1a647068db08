//! Updates of whole executables from a definition.
#![expect(unsafe_code, reason = "updates raw executables")]

use std::ptr::null_mut;
use std::sync::Arc;

use warploom_driver::sys::types::{CUgraphExecUpdateResult, CUgraphExecUpdateResultInfo};

use super::exec::Source;
use super::exec_owners::ExecOwners;
use super::{GraphDef, GraphError, GraphExec, UpdateError, UpdateReason};
use crate::Result;

impl GraphExec {
    /// Gives every node the parameters of the corresponding one of a definition, which has the same nodes and
    /// edges. Launches from now on use them; those before are not affected.
    ///
    /// Nodes correspond by the order in which they and their edges were added. A definition whose edges were
    /// removed and added again may be refused.
    ///
    /// The executable keeps what the definition keeps now, and lets go of what it kept before, when no launch
    /// uses that any more. After an update from another definition than the one that it was made from, what its
    /// [nodes](GraphExec::node) are given later is kept besides, until the next update.
    ///
    /// # Errors
    ///
    /// [`GraphError::Update`] with the reason and the node, [`GraphError::ChildUnknown`],
    /// [`DeviceError::DriverMismatch`](crate::DeviceError::DriverMismatch), and the driver's error. Then the
    /// executable is as before.
    #[doc(alias = "cuGraphExecUpdate")]
    pub fn update(&self, graph: &GraphDef) -> Result<()> {
        graph.same_driver(self.driver())?;
        let _current = self.context().current()?;
        let mut state = self.lock();
        let mut locked = graph.lock();
        let raw = locked.graph(graph.id())?;
        locked.check_settled(graph.id())?;
        let source = Source { hierarchy: graph.hierarchy().number(), deaths: locked.deaths() };
        let mut owners = ExecOwners::of(&locked, graph.id(), source == self.source());
        owners.keep(Arc::new(locked.contexts_besides(self.context(), graph.id())));
        let mut info = CUgraphExecUpdateResultInfo {
            result: CUgraphExecUpdateResult::CU_GRAPH_EXEC_UPDATE_SUCCESS,
            errorNode: null_mut(),
            errorFromNode: null_mut(),
        };
        let updated = locked.without_user_objects(graph.id(), || {
            // SAFETY: the executable and the graph are alive and used by no other thread, and `info` is writable.
            unsafe { self.driver().cuGraphExecUpdate_v2(self.as_raw(), raw, &raw mut info) }
        });
        if let Err(error) = updated {
            let (node, from) = (graph.find(&locked, info.errorNode), graph.find(&locked, info.errorFromNode));
            let Some(reason) = reason(info.result) else { return Err(error.into()) };
            return Err(GraphError::Update(Box::new(UpdateError { reason, node, from, error })).into());
        }
        let released = state.replace(owners);
        drop(locked);
        drop(state);
        // Without the locks: the drop of an owner may come here again.
        drop(released);
        Ok(())
    }
}

/// The reason of an update that failed; `None` if the driver failed before it examined the graph.
fn reason(result: CUgraphExecUpdateResult) -> Option<UpdateReason> {
    Some(match result {
        CUgraphExecUpdateResult::CU_GRAPH_EXEC_UPDATE_SUCCESS => return None,
        CUgraphExecUpdateResult::CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED => UpdateReason::TopologyChanged,
        CUgraphExecUpdateResult::CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED => UpdateReason::KindChanged,
        CUgraphExecUpdateResult::CU_GRAPH_EXEC_UPDATE_ERROR_FUNCTION_CHANGED => UpdateReason::FunctionChanged,
        CUgraphExecUpdateResult::CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED => UpdateReason::ParametersChanged,
        CUgraphExecUpdateResult::CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED => UpdateReason::NotSupported,
        CUgraphExecUpdateResult::CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE => {
            UpdateReason::FunctionChangeNotSupported
        }
        CUgraphExecUpdateResult::CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED => UpdateReason::AttributesChanged,
        _ => UpdateReason::Driver,
    })
}
