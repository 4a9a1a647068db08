//! Conditions and conditional nodes.

use warploom::{GraphDef, GraphError, LaunchConfig};
use warploom_testkit::{budget, driver_tests};

use crate::support::Stage;

/// Conditions that kernels set.
const CONDITIONS: &str = include_str!("../../../ptx/kernels/ptx/compute_75/conditions.ptx");

driver_tests! {
    /// Bodies are graphs of the hierarchy, and run by the default value of their condition.
    fn conditional_nodes_run_by_their_default(driver) {
        let stage = Stage::new(driver)?;
        let (mut first, mut second) = (stage.zeroed(4)?, stage.zeroed(4)?);
        let (yes, no, which) = (stage.graph.condition(1)?, stage.graph.condition(0)?, stage.graph.condition(2)?);
        let taken = stage.graph.entry().if_then(&yes)?;
        taken.body().entry().fill(first.slice_mut(..1)?, 1)?;
        let both = taken.then().if_else(&no)?;
        both.then_body().entry().fill(first.slice_mut(1..2)?, 2)?;
        both.else_body().entry().fill(first.slice_mut(2..3)?, 3)?;
        let switch = both.then().switch(&which, 3)?;
        for (index, branch) in switch.branches().iter().enumerate() {
            branch.entry().fill(second.slice_mut(index..=index)?, 7)?;
        }
        assert_eq!(switch.branches()[0].root(), stage.graph);
        stage.graph.instantiate()?.launch(&stage.stream)?;
        assert_eq!(first.download(&stage.stream)?, [1, 0, 3, 0]);
        assert_eq!(second.download(&stage.stream)?, [0, 0, 7, 0]);
    }

    /// A loop runs until a kernel of its body has set the condition to 0, in each launch anew.
    fn a_loop_runs_until_its_body_ends_it(driver) {
        let stage = Stage::new(driver)?;
        let library = stage.context.load(&CONDITIONS.replacen(".version 9.4", ".version 8.3", 1))?;
        let (kernel, one) = (library.kernel("count_down")?, LaunchConfig::new(1, 1));
        let (mut left, mut turns) = (stage.zeroed(1)?, stage.zeroed(16)?);
        let more = stage.graph.condition(1)?;
        let start = stage.graph.entry().fill(&mut left, 5)?;
        let rounds = start.then().while_loop(&more)?;
        let source = stage.pool.upload(&[7_u32; 16], &stage.stream)?;
        #[expect(unsafe_code, reason = "adds kernels")]
        // SAFETY: it reads and writes one value, and sets the condition.
        let step = unsafe { rounds.body().entry().kernel(&kernel, &one, (&more, &mut left)) }?;
        step.then().copy(&source, &mut turns)?;
        drop((library, kernel));
        let exec = stage.graph.instantiate()?;
        for _ in 0..2 {
            exec.launch(&stage.stream)?;
            assert_eq!(left.download(&stage.stream)?, [0]);
            assert_eq!(turns.download(&stage.stream)?, [7; 16]);
            turns.zero(&stage.stream)?;
        }
        let (other, outside) = (GraphDef::new(&stage.context)?, GraphError::OutsideGraph);
        let kernel = stage.context.load(&CONDITIONS.replacen(".version 9.4", ".version 8.3", 1))?.kernel("count_down")?;
        #[expect(unsafe_code, reason = "launches kernels")]
        // SAFETY: both are refused.
        unsafe {
            let refused = other.entry().kernel(&kernel, &one, (&more, &mut left)).map(drop);
            assert_eq!(refused, Err(outside.clone().into()));
            assert_eq!(kernel.launch(&stage.stream, &one, (&more, &mut left)), Err(outside.into()));
        }
    }

    /// Conditions belong to their hierarchy, and a graph with one is not copied.
    fn conditions_belong_to_their_hierarchy(driver) {
        let stage = Stage::new(driver)?;
        let other = GraphDef::new(&stage.context)?;
        let condition = other.condition(None)?;
        assert_eq!(condition.graph(), &other);
        let foreign = GraphError::OtherGraph { what: "condition" };
        assert_eq!(stage.graph.entry().while_loop(&condition).map(drop), Err(foreign.into()));
        assert_eq!(other.entry().switch(&condition, 0).map(drop), Err(GraphError::NoBranches.into()));
        assert_eq!(other.node_count()?, 0);
        let refused = GraphError::NotCopyable { kind: "conditional" };
        assert_eq!(other.try_clone().map(drop), Err(refused.clone().into()));
        assert_eq!(stage.graph.entry().embed(&other).map(drop), Err(refused.into()));
    }

    /// A condition belongs to one node, and to none when its graph is gone.
    fn a_condition_belongs_to_one_node(driver) {
        let stage = Stage::new(driver)?;
        let condition = stage.graph.condition(1)?;
        let node = stage.graph.entry().if_then(&condition)?;
        let inside = node.body().condition(1)?;
        budget(driver, &[], || {
            let again = stage.graph.entry().while_loop(&condition).map(drop);
            assert_eq!(again, Err(GraphError::ConditionUsed.into()));
            let again = node.body().entry().if_then(&condition).map(drop);
            assert_eq!(again, Err(GraphError::ConditionUsed.into()));
        });
        node.destroy()?;
        budget(driver, &[], || {
            let gone = stage.graph.entry().if_then(&inside).map(drop);
            assert_eq!(gone, Err(GraphError::GraphDestroyed.into()));
        });
        assert_eq!(stage.graph.node_count()?, 0);
    }

    /// A condition whose node is destroyed, by itself or with what it was in, is another node's to read.
    fn a_condition_outlives_its_node(driver) {
        let stage = Stage::new(driver)?;
        let (first, second) = (stage.graph.condition(1)?, stage.graph.condition(1)?);
        stage.graph.entry().if_then(&first)?.destroy()?;
        let outer = stage.graph.entry().while_loop(&first)?;
        outer.body().entry().if_then(&second)?;
        outer.destroy()?;
        for condition in [&first, &second] {
            let node = stage.graph.entry().if_then(condition)?;
            assert_eq!(&node.condition()?, condition);
            assert_eq!(stage.graph.entry().if_then(condition).map(drop), Err(GraphError::ConditionUsed.into()));
        }
        assert_eq!(stage.graph.node_count()?, 2);
    }

    /// A graph inside of a node cannot be instantiated by itself.
    fn bodies_are_not_instantiated(driver) {
        let stage = Stage::new(driver)?;
        let condition = stage.graph.condition(1)?;
        let node = stage.graph.entry().while_loop(&condition)?;
        assert_eq!(node.body().instantiate().map(drop), Err(GraphError::Inside.into()));
    }
}
