//! Word nodes: writes and waits that graphs make.

use warploom::graph::{NodeKind, WordsNode};
use warploom::{Comparison, Function, GraphError, StreamWord};
use warploom_testkit::{budget, driver_tests};

use crate::support::Stage;

driver_tests! {
    /// S2.5: a word node waits for the host and writes in its order, and the graph keeps the words.
    fn a_word_node_waits_and_writes(driver) {
        let stage = Stage::new(driver)?;
        let mut buffer = stage.zeroed(4)?;
        let (go, done) = (StreamWord::<u32>::new(&stage.context, 0)?, StreamWord::<u64>::new(&stage.context, 0)?);
        let start = stage.graph.entry().words(&[go.waiting(Comparison::Equal(1))])?;
        assert_eq!(start.kind()?, NodeKind::Values);
        assert_eq!(start.node().downcast::<WordsNode>()?, start);
        let fill = start.then().fill(&mut buffer, 7)?;
        fill.then().words(&[done.writing(1 << 40), go.writing(5)])?;
        let exec = stage.graph.instantiate()?;
        exec.launch(&stage.stream)?;
        assert_eq!(stage.stream.is_idle(), Ok(false), "it waits for the host");
        go.store(1);
        stage.stream.synchronize()?;
        assert_eq!((go.load(), done.load(), buffer.download(&stage.stream)?), (5, 1 << 40, vec![7; 4]));

        go.store(1);
        let address = done.as_raw();
        drop((go, done));
        // The graph keeps the words, so that another one has another place.
        assert_ne!(StreamWord::<u64>::new(&stage.context, 0)?.as_raw(), address);
        exec.launch(&stage.stream)?;
        stage.stream.synchronize()?;
    }

    /// S2.22, S2.26: the operations of a node are replaced in the definition, and in an executable alone.
    fn the_operations_of_a_word_node_are_replaced(driver) {
        let stage = Stage::new(driver)?;
        let word = StreamWord::<u32>::new(&stage.context, 0)?;
        let run = |exec: &warploom::GraphExec| {
            exec.launch(&stage.stream)?;
            stage.stream.synchronize()?;
            Ok::<_, warploom::Error>(word.load())
        };
        let node = stage.graph.entry().words(&[word.writing(1)])?;
        let before = stage.graph.instantiate()?;
        node.set(&[word.writing(2), word.waiting(Comparison::And(2))])?;
        let after = stage.graph.instantiate()?;
        assert_eq!((run(&before)?, run(&after)?), (1, 2));
        before.node(&node).set(&[word.writing(3)])?;
        assert_eq!((run(&before)?, run(&after)?), (3, 2));
    }

    /// S2.20: a word node costs its own call.
    fn a_word_node_costs_one_call(driver) {
        let stage = Stage::new(driver)?;
        let word = StreamWord::<u32>::new(&stage.context, 0)?;
        let call = Function::cuGraphAddBatchMemOpNode;
        let node = budget(driver, &[(call, 1)], || stage.graph.entry().words(&[word.writing(1)]))?;
        budget(driver, &[(call, 1)], || node.then().words(&[word.writing(2)]))?;
    }

    /// A list of no operations, or of too many, is refused.
    fn bad_lists_of_operations_are_refused(driver) {
        let stage = Stage::new(driver)?;
        let word = StreamWord::<u32>::new(&stage.context, 0)?;
        let many = vec![word.writing(1); 256];
        for operations in [&[][..], &many] {
            let refused = GraphError::WordOperations { count: operations.len(), limit: 255 };
            assert_eq!(stage.graph.entry().words(operations).map(drop), Err(refused.into()));
        }
        assert_eq!(stage.graph.node_count()?, 0);
        stage.graph.entry().words(&many[..255])?;
        stage.graph.instantiate()?.launch(&stage.stream)?;
        stage.stream.synchronize()?;
        assert_eq!(word.load(), 1);
    }
}

/// A word of another driver is refused before the call.
#[test]
fn a_word_of_another_driver_is_refused() -> warploom_testkit::TestResult {
    let machines = (warploom_sim::Machine::preset("h200")?, warploom_sim::Machine::preset("h200")?);
    let (one, other) = (warploom::Driver::open(&machines.0)?, warploom::Driver::open(&machines.1)?);
    let (stage, elsewhere) = (Stage::new(&one)?, Stage::new(&other)?);
    let word = StreamWord::<u32>::new(&elsewhere.context, 0)?;
    let refused = stage.graph.entry().words(&[word.writing(1)]);
    assert!(matches!(refused, Err(warploom::Error::Device(warploom::DeviceError::DriverMismatch { .. }))));
    assert_eq!(stage.graph.node_count()?, 0);
    Ok(())
}
