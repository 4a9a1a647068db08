//! Copies of graphs with their owners, and the owners that each node releases on its own.

use std::sync::Weak;

use warploom::graph::HostNode;
use warploom::{Error, Function, GraphDef, Result};
use warploom_testkit::{budget, driver_tests};

use crate::support::{Stage, attached, closure};

/// Nodes of a graph, and watches on their owners.
fn hosts(graph: &GraphDef) -> Result<(Vec<HostNode>, Vec<Weak<()>>)> {
    let mut all = (Vec::new(), Vec::new());
    for _ in 0..200 {
        let (function, watch) = closure();
        all.0.push(graph.entry().host(function)?);
        all.1.push(watch);
    }
    Ok(all)
}

driver_tests! {
    /// S2.20, S2.26: a copy of a graph that other code has a handle of takes no user objects along: they are released
    /// before the call, and made again after it.
    fn copies_of_an_exposed_graph_have_no_user_objects(driver) {
        let stage = Stage::new(driver)?;
        let (function, watch) = closure();
        let first = stage.graph.entry().host(function)?;
        first.then().host(|| ())?;
        stage.graph.as_raw()?;
        let again = |call| {
            let objects = [Function::cuGraphReleaseUserObject, Function::cuUserObjectCreate, Function::cuGraphRetainUserObject];
            let [release, create, retain] = objects.map(|function| (function, 2));
            [release, create, retain, (call, 1)]
        };
        let exec = stage.context.scope(|| {
            let current = (Function::cuCtxGetCurrent, 1);
            let calls = again(Function::cuGraphInstantiateWithParams);
            let exec = budget(driver, &[calls[0], calls[1], calls[2], calls[3], current], || stage.graph.instantiate())?;
            let calls = again(Function::cuGraphExecUpdate_v2);
            budget(driver, &[calls[0], calls[1], calls[2], calls[3], current], || exec.update(&stage.graph))?;
            Ok::<_, Error>(exec)
        })??;
        let clone = stage.graph.try_clone()?;
        let outer = GraphDef::new(&stage.context)?;
        let child = outer.entry().embed(&stage.graph)?;

        drop(first);
        let Stage { context, stream, other, pool, graph } = stage;
        graph.close()?;
        let stage = Stage { graph: GraphDef::new(&context)?, context, stream, other, pool };
        stage.assert_kept(&watch);
        drop((exec, clone));
        stage.assert_kept(&watch);
        for node in child.child()?.nodes()? {
            node.destroy()?;
        }
        assert!(stage.is_released(&watch), "the driver keeps it for the child");
    }

    /// S2.20: other code may copy a graph whose handle it has, so each node has a user object of its own then.
    fn nodes_of_an_exposed_graph_have_their_own_user_objects(driver) {
        let stage = Stage::new(driver)?;
        let (first, first_watch) = closure();
        let mut host = stage.graph.entry().host(first)?;
        let (raw, mut clone) = (stage.graph.as_raw()?, std::ptr::null_mut());
        #[expect(unsafe_code, reason = "clones the graph as other code does")]
        // SAFETY: the graph is alive, and `clone` is writable.
        unsafe { driver.cuGraphClone(&raw mut clone, raw) }?;
        host.set_function(|| ())?;
        stage.assert_kept(&first_watch);
        let (second, second_watch) = closure();
        let late = budget(driver, &attached(Function::cuGraphAddHostNode), || host.then().host(second))?;
        budget(driver, &attached(Function::cuGraphAddHostNode), || host.then().host(|| ()))?;
        late.destroy()?;
        assert!(stage.is_released(&second_watch));
        stage.assert_kept(&first_watch);
        #[expect(unsafe_code, reason = "destroys the clone")]
        // SAFETY: it was made above.
        unsafe { driver.cuGraphDestroy(clone) }?;
        assert!(stage.is_released(&first_watch));
    }

    /// S2.21: nodes that come and go leave nothing behind.
    fn destroyed_nodes_release_what_they_kept(driver) {
        let stage = Stage::new(driver)?;
        let kept = stage.graph.entry().host(|| ())?;
        for _ in 0..100 {
            let (function, watch) = closure();
            kept.then().host(function)?.destroy()?;
            assert!(stage.is_released(&watch));
        }
    }

    /// S2.21: each node releases its own owners, and no others.
    fn a_destroyed_node_releases_its_own_owners_alone(driver) {
        let stage = Stage::new(driver)?;
        let (nodes, watches) = hosts(&stage.graph)?;
        for (index, (node, watch)) in nodes.iter().zip(&watches).enumerate() {
            if index % 3 == 0 {
                node.destroy()?;
                assert!(stage.is_released(watch));
            }
        }
        for (_, watch) in watches.iter().enumerate().filter(|(index, _)| index % 3 != 0) {
            stage.assert_kept(watch);
        }
        let (_, late) = hosts(&stage.graph)?;
        let Stage { context, stream, other, pool, graph } = stage;
        drop(nodes);
        graph.close()?;
        let stage = Stage { graph: GraphDef::new(&context)?, context, stream, other, pool };
        assert!(watches.iter().chain(&late).all(|watch| stage.is_released(watch)));
    }

    /// S2.4, S2.6, S2.7, S2.23: copies keep the owners of nodes that are changed or destroyed in the definition, and
    /// the definition releases them; owners that came after a copy are not the copy's.
    fn copies_keep_the_owners_that_they_were_made_with(driver) {
        let stage = Stage::new(driver)?;
        let (mut nodes, watches) = hosts(&stage.graph)?;
        let clone = stage.graph.try_clone()?;
        let exec = stage.graph.instantiate()?;
        nodes[0].set_function(|| ())?;
        nodes[1].destroy()?;
        let (_, late) = hosts(&stage.graph)?;
        let (changed, changed_watch) = closure();
        nodes[2].set_function(changed)?;
        watches.iter().for_each(|watch| stage.assert_kept(watch));

        let Stage { context, stream, other, pool, graph } = stage;
        drop(nodes);
        graph.close()?;
        let stage = Stage { graph: GraphDef::new(&context)?, context, stream, other, pool };
        assert!(late.iter().chain([&changed_watch]).all(|watch| stage.is_released(watch)));
        watches.iter().for_each(|watch| stage.assert_kept(watch));
        drop(exec);
        watches.iter().for_each(|watch| stage.assert_kept(watch));
        // The clone has an index of its own.
        let of_clone = clone.nodes()?;
        of_clone[..100].iter().try_for_each(|node| node.destroy())?;
        let is_left = |watch: &&Weak<()>| watch.strong_count() > 0;
        assert!(stage.within_a_while(|| watches.iter().filter(is_left).count() == 100));
        clone.close()?;
        assert!(watches.iter().any(|watch| watch.strong_count() > 0), "its nodes keep it");
        drop(of_clone);
        assert!(watches.iter().all(|watch| stage.is_released(watch)));
    }

    /// S2.23, S2.27: an executable that was updated keeps the owners that the graph had then.
    fn an_updated_executable_keeps_the_owners_of_the_graph(driver) {
        let stage = Stage::new(driver)?;
        stage.graph.entry().host(|| ())?;
        let exec = stage.graph.instantiate()?;
        let other = GraphDef::new(&stage.context)?;
        let (function, watch) = closure();
        let mut host = other.entry().host(function)?;
        exec.update(&other)?;
        host.set_function(|| ())?;
        stage.assert_kept(&watch);
        drop((host, other));
        stage.assert_kept(&watch);
        exec.launch(&stage.stream)?;
        stage.stream.synchronize()?;
        drop(exec);
        assert!(stage.is_released(&watch));
    }

    /// S2.15: a copy inside of another graph, and the graph that it was made of, release their own.
    fn an_embedded_copy_and_its_source_release_their_own(driver) {
        let stage = Stage::new(driver)?;
        let step = GraphDef::new(&stage.context)?;
        let (nodes, watches) = hosts(&step)?;
        let child = stage.graph.entry().embed(&step)?.child()?;
        nodes[5].destroy()?;
        stage.assert_kept(&watches[5]);
        for node in child.nodes()? {
            node.destroy()?;
        }
        assert!(stage.is_released(&watches[5]));
        for (_, watch) in watches.iter().enumerate().filter(|(index, _)| *index != 5) {
            stage.assert_kept(watch);
        }
        drop((nodes, step));
        assert!(watches.iter().all(|watch| stage.is_released(watch)));
    }
}
