//! Functions of newer drivers than the H200's: ids, and parameters of any kind.
#![expect(unsafe_code, reason = "reads members of C unions")]

use std::ptr::null_mut;

use warploom_testkit::driver::Driver;
use warploom_testkit::sim::Mode;
use warploom_testkit::sim::topology::Topology;
use warploom_testkit::sys::types::*;
use warploom_testkit::{TestResult, call, open};

use crate::generic::{Kind, add, kinds};
use crate::support::{Stage, zeroed};

/// Runs a body with the newest driver.
fn newest(body: fn(&Driver) -> TestResult) -> TestResult {
    let topology = Topology::preset("h200")?.into_builder().driver_version(13, 3).build()?;
    let (_machine, driver) = open(topology, Mode::Threads)?;
    body(&driver)
}

#[test]
fn nodes_and_graphs_have_ids() -> TestResult {
    newest(|driver| {
        let stage = Stage::new(driver)?;
        let (graph, other) = (stage.graph()?, stage.graph()?);
        let (first, second) = (graph.empty(&[])?, graph.empty(&[])?);
        call!(driver.cuGraphDestroyNode(first))?;
        let third = graph.empty(&[])?;
        let (mut id, mut its, mut local, mut tools, mut home) = (0, 0, 0, 0, null_mut());
        call!(driver.cuGraphGetId(graph.raw, &mut id))?;
        call!(driver.cuGraphGetId(other.raw, &mut its))?;
        assert_ne!(id, its);
        for (node, number) in [(second, 1), (third, 2)] {
            call!(driver.cuGraphNodeGetLocalId(node, &mut local))?;
            call!(driver.cuGraphNodeGetToolsId(node, &mut tools))?;
            call!(driver.cuGraphNodeGetContainingGraph(node, &mut home))?;
            assert_eq!((local, tools, home), (number, u64::from(id) << 32 | u64::from(number), graph.raw));
        }
        let executable = graph.instantiate()?;
        call!(driver.cuGraphExecGetId(executable.raw, &mut its))?;
        assert_ne!(id, its);
        Ok(())
    })
}

#[test]
fn parameters_of_every_kind_are_read_back() -> TestResult {
    newest(|driver| {
        let stage = Stage::new(driver)?;
        let (graph, event) = (stage.graph()?, stage.event()?);
        for mut given in kinds(&stage, event)? {
            let node = add(driver, &graph, &mut given)?;
            let mut shown: CUgraphNodeParams = zeroed();
            call!(driver.cuGraphNodeGetParams(node, &mut shown))?;
            assert_eq!(shown.type_, given.type_);
            // What is read back can be given again.
            call!(driver.cuGraphNodeSetParams(node, &mut shown))?;
            if given.type_ == Kind::CU_GRAPH_NODE_TYPE_MEMSET {
                // SAFETY: the member of the kind, in both.
                let (given, shown) = unsafe { (given.__bindgen_anon_1.memset, shown.__bindgen_anon_1.memset) };
                assert_eq!((given.dst, given.width, given.ctx), (shown.dst, shown.width, shown.ctx));
            }
        }
        drop(graph);
        call!(driver.cuEventDestroy_v2(event))?;
        Ok(())
    })
}
