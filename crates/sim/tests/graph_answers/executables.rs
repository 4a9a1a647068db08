//! Steps that make, change, launch and destroy executables, and that set parameters.

use std::ptr::null_mut;

use warploom_testkit::sys::types::*;

use crate::program::{Exec, Kind, Node, Program};
use crate::rig::{code, zeroed};

impl Program<'_> {
    pub(crate) fn instantiate(&mut self, graph: usize) {
        if self.is_marked(graph) {
            return;
        }
        let (driver, mut raw) = (self.driver, null_mut());
        let flags = self.random.pick(&[0, 0, 0, 1, 8, 2, 16]);
        let code = code!(driver.cuGraphInstantiateWithFlags(&mut raw, self.graphs[graph].raw, flags));
        let exec = self.execs.len();
        if code == 0 {
            let nodes = self.graphs[graph].nodes.iter().map(|node| node.id).collect();
            let is_undecided = self.graphs[graph].is_undecided;
            self.execs.push(Exec { raw, graph, nodes, is_alive: true, is_undecided });
        }
        self.answer(&[graph], format!("instantiate as e{exec} with flags {flags}: {code}"));
    }

    pub(crate) fn launch(&mut self, _: usize) {
        let (driver, Some(exec)) = (self.driver, self.any_launchable()) else { return };
        let stream = self.random.pick(&self.streams);
        let launched = code!(driver.cuGraphLaunch(self.execs[exec].raw, stream));
        let waited = code!(driver.cuCtxSynchronize());
        self.is_over = waited != 0;
        self.answer(&[self.execs[exec].graph], format!("launch e{exec}: {launched} {waited}"));
    }

    pub(crate) fn update(&mut self, graph: usize) {
        let (driver, Some(exec)) = (self.driver, self.any_exec()) else { return };
        let own = self.execs[exec].graph;
        let graph = match self.random.below(100) {
            0..50 if self.graphs[own].is_alive => own,
            50..75 => self.any_clone(own),
            _ => graph,
        };
        if self.is_marked(graph) {
            return;
        }
        let mut info: CUgraphExecUpdateResultInfo = zeroed();
        let code = code!(driver.cuGraphExecUpdate_v2(self.execs[exec].raw, self.graphs[graph].raw, &mut info));
        let named = [info.errorNode, info.errorFromNode].map(|node| match (node.is_null(), self.index(graph, node)) {
            (true, _) => "none".to_owned(),
            (false, Some(index)) => index.to_string(),
            (false, None) => "inside".to_owned(),
        });
        let result = info.result.0;
        self.execs[exec].is_undecided |= self.graphs[graph].is_undecided;
        self.answer(&[graph, own], format!("update e{exec} (of g{own}): {code} {result} {named:?}"));
    }

    /// A node that an executable has and that its graph still has, too.
    fn node_of_exec(&mut self) -> Option<(usize, usize, Node)> {
        let exec = self.any_exec()?;
        let Exec { graph, nodes, .. } = &self.execs[exec];
        let (graph, definition) = (*graph, &self.graphs[*graph]);
        if !definition.is_alive || self.is_marked(graph) {
            return None;
        }
        let both: Vec<Node> = definition.nodes.iter().filter(|node| nodes.contains(&node.id)).copied().collect();
        (!both.is_empty()).then(|| (exec, graph, self.random.pick(&both)))
    }

    /// Gives a child node of an executable the parameters of a graph's nodes.
    pub(crate) fn set_child(&mut self, inner: usize) {
        let is_child = |found: &(usize, usize, Node)| found.2.kind == Kind::Child;
        let tries: Vec<_> = (0..6).filter_map(|_| self.node_of_exec()).collect();
        let (driver, found) = (self.driver, tries.iter().find(|found| is_child(found)).or(tries.first()));
        let Some((exec, graph, node)) = found.copied().filter(|_| !self.is_marked(inner)) else { return };
        let (raw, definition) = (self.execs[exec].raw, self.graphs[inner].raw);
        let code = code!(driver.cuGraphExecChildGraphNodeSetParams(raw, node.raw, definition));
        let index = self.index(graph, node.raw);
        self.execs[exec].is_undecided |= self.graphs[inner].is_undecided;
        self.answer(&[graph, inner], format!("set {:?} {index:?} in e{exec} by g{inner}: {code}", node.kind));
    }

    pub(crate) fn set_exec(&mut self, _: usize) {
        let Some((exec, graph, node)) = self.node_of_exec() else { return };
        self.set_params(graph, node, Some(exec));
    }

    pub(crate) fn set_node(&mut self, graph: usize) {
        let Some(node) = self.any_node(graph) else { return };
        self.set_params(graph, node, None);
    }

    /// Sets the parameters of a node, of the definition or of an executable, rarely those of another kind.
    fn set_params(&mut self, graph: usize, node: Node, exec: Option<usize>) {
        let (driver, context, raw) = (self.driver, self.rig.primary.context, node.raw);
        let other = self.random.pick(&[Kind::Fill, Kind::Copy, Kind::Kernel, Kind::Host]);
        let kind = if self.chance(90) { node.kind } else { other };
        let of = exec.map(|exec| self.execs[exec].raw);
        let (code, how) = match kind {
            Kind::Fill => {
                let mut params = self.fill_params();
                if self.chance(20) {
                    params.width *= 2;
                }
                let code = match of {
                    Some(exec) => code!(driver.cuGraphExecMemsetNodeSetParams(exec, raw, &params, context)),
                    None => code!(driver.cuGraphMemsetNodeSetParams(raw, &params)),
                };
                (code, format!("{} elements of {} bytes", params.width, params.elementSize))
            }
            Kind::Copy => {
                let bytes = self.random.pick(&[4, 4, 4, 2]);
                let params = self.copy_params(bytes);
                let code = match of {
                    Some(exec) => code!(driver.cuGraphExecMemcpyNodeSetParams(exec, raw, &params, context)),
                    None => code!(driver.cuGraphMemcpyNodeSetParams(raw, &params)),
                };
                (code, format!("{bytes} bytes"))
            }
            Kind::Kernel => self.with_kernel(|program, params| {
                let code = match of {
                    Some(exec) => code!(driver.cuGraphExecKernelNodeSetParams_v2(exec, raw, &params)),
                    None => code!(driver.cuGraphKernelNodeSetParams_v2(raw, &params)),
                };
                let name = if params.func == program.rig.increment { "increment" } else { "nothing" };
                (code, format!("{name} with {} threads", params.blockDimX))
            }),
            Kind::Host => {
                let params = self.host_params();
                let code = match of {
                    Some(exec) => code!(driver.cuGraphExecHostNodeSetParams(exec, raw, &params)),
                    None => code!(driver.cuGraphHostNodeSetParams(raw, &params)),
                };
                (code, String::new())
            }
            Kind::Record => {
                let event = self.any_event();
                let code = match of {
                    Some(exec) => code!(driver.cuGraphExecEventRecordNodeSetEvent(exec, raw, event)),
                    None => code!(driver.cuGraphEventRecordNodeSetEvent(raw, event)),
                };
                (code, String::new())
            }
            Kind::Wait => {
                let event = self.any_event();
                let code = match of {
                    Some(exec) => code!(driver.cuGraphExecEventWaitNodeSetEvent(exec, raw, event)),
                    None => code!(driver.cuGraphEventWaitNodeSetEvent(raw, event)),
                };
                (code, String::new())
            }
            _ => return,
        };
        let place = exec.map_or_else(String::new, |exec| format!(" in e{exec}"));
        let index = self.index(graph, raw);
        self.answer(&[graph], format!("set {:?} {index:?}{place} to {kind:?} {how}: {code}", node.kind));
    }

    pub(crate) fn enable(&mut self, _: usize) {
        let (driver, Some((exec, graph, node))) = (self.driver, self.node_of_exec()) else { return };
        let is_on = self.random.pick(&[0, 1]);
        let code = code!(driver.cuGraphNodeSetEnabled(self.execs[exec].raw, node.raw, is_on));
        let index = self.index(graph, node.raw);
        self.answer(&[graph], format!("enable {:?} {index:?} in e{exec}, {is_on}: {code}", node.kind));
    }

    pub(crate) fn is_enabled(&mut self, _: usize) {
        let (driver, Some((exec, graph, node)), mut is_on) = (self.driver, self.node_of_exec(), 7) else { return };
        let code = code!(driver.cuGraphNodeGetEnabled(self.execs[exec].raw, node.raw, &mut is_on));
        let index = self.index(graph, node.raw);
        self.answer(&[graph], format!("enabled {:?} {index:?} in e{exec}: {code} {is_on}", node.kind));
    }

    pub(crate) fn destroy_exec(&mut self, _: usize) {
        let (driver, Some(exec)) = (self.driver, self.any_exec()) else { return };
        let code = code!(driver.cuGraphExecDestroy(self.execs[exec].raw));
        self.execs[exec].is_alive = false;
        self.answer(&[self.execs[exec].graph], format!("destroy e{exec}: {code}"));
    }
}
