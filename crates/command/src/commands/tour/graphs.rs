//! A graph built node by node, with a loop on the device and a captured graph inside; launched, updated, and
//! launched again.
#![expect(unsafe_code, reason = "adds a kernel to a graph, and nodes that use the graph's memory")]

use warploom::capture::Relaxed;
use warploom::graph::{DotFlags, Operand, OperandMut};
use warploom::{Comparison, Driver, Function, GraphDef, LaunchConfig, StreamWord};

use super::{StepResult, first_device};
use crate::dot::Document;
use crate::report::{Check, Findings, Launch};

const COLLATZ: &str = include_str!("collatz.ptx");
/// The first number of the Collatz sequence, in the first launch and in the second.
const STARTS: [u32; 2] = [27, 97];

/// `true` if graphs of this driver have conditional nodes.
pub(super) fn has_conditions(driver: &Driver) -> bool {
    driver.supports(Function::cuGraphConditionalHandleCreate)
}

pub(super) fn visit(driver: &Driver) -> StepResult {
    let (stream, pool) = first_device(driver)?;
    let context = driver.device(0)?.context()?;
    let kernel = context.load(COLLATZ)?.kernel("collatz")?;
    let starts = pool.upload(&STARTS, &stream)?;
    let [mut value, mut steps] = [pool.zeroed::<u32>(1, &stream)?, pool.zeroed::<u32>(1, &stream)?];
    let [mut last, mut counted] = [pool.zeroed::<u32>(1, &stream)?, pool.zeroed::<u32>(1, &stream)?];

    let capture = stream.capture(Relaxed)?;
    let forks = capture.fork(2)?;
    value.copy_to(&mut last, &forks[0])?;
    steps.copy_to(&mut counted, &forks[1])?;
    capture.join(forks)?;
    let results: GraphDef = capture.end()?.into();

    let graph = GraphDef::new(&context)?;
    let more = graph.condition(1)?;
    let reset = graph.entry().fill(&mut steps, 0)?;
    let start = graph.entry().copy(starts.slice(..1)?, &mut value)?;
    let rounds = graph.after([reset.node(), start.node()]).while_loop(&more)?;
    let body = rounds.body();
    // SAFETY: one thread, which reads and writes one value of each buffer, and sets the condition.
    unsafe { body.entry().kernel(&kernel, &LaunchConfig::new(1, 1), (&mut value, &mut steps, &more)) }?;
    rounds.then().embed(&results)?;

    let exec = graph.instantiate()?;
    let calls = driver.count_calls();
    exec.launch(&stream)?;
    let launch_calls = calls.total();
    let first = (counted.download(&stream)?[0], last.download(&stream)?[0]);
    exec.node(&start).set(starts.slice(1..)?, &mut value)?;
    exec.launch(&stream)?;
    let second = (counted.download(&stream)?[0], last.download(&stream)?[0]);

    let (nodes, captured_nodes) = (graph.node_count()?, results.node_count()?);
    let inner_nodes = body.node_count()? + captured_nodes;
    let dot = graph.dot(DotFlags::new())?;
    let picture = Document::parse(&dot)?;
    let drawn: usize = picture.graphs.iter().map(|graph| graph.nodes.len()).sum();
    let expected = STARTS.map(|start| (sequence(start), 1));
    let checks = vec![
        Check::new("the loop ran on the device until its kernel set the condition to 0", first == expected[0]),
        Check::new("one node of the executable was updated, and the next launch used it", second == expected[1]),
        Check::new("the driver's DOT text has every node", drawn == nodes + inner_nodes),
        Check::new(
            "a graph waited for a word of the host, filled slices of its own memory, and answered",
            waits(driver)?,
        ),
    ];
    let launches =
        STARTS.iter().zip([first.0, second.0]).map(|(start, steps)| Launch { start: *start, steps }).collect();
    let picture = picture.outline();
    Ok((Findings::Graphs { nodes, inner_nodes, captured_nodes, launch_calls, launches, picture, dot }, checks))
}

/// Launches a graph that waits for the host, fills two slices of memory that it allocates itself, and tells the
/// host that it is done.
fn waits(driver: &Driver) -> warploom::Result<bool> {
    let (stream, pool) = first_device(driver)?;
    let context = driver.device(0)?.context()?;
    let (go, mut result) = (StreamWord::<u32>::new(&context, 0)?, pool.zeroed::<u32>(4, &stream)?);
    let graph = GraphDef::new(&context)?;
    let start = graph.entry().words(&[go.waiting(Comparison::Equal(1))])?;
    let scratch = start.then().allocate::<u32>(4)?;
    // SAFETY: all nodes that use the memory come after its allocation and before its free.
    unsafe {
        let left = scratch.then().fill(OperandMut::of_graph(scratch.slice(..2)?), 1)?;
        let right = scratch.then().fill(OperandMut::of_graph(scratch.slice(2..)?), 2)?;
        let copy = graph.after([&left, &right]).copy(Operand::of_graph(&scratch), &mut result)?;
        copy.then().free(&scratch)?.then().words(&[go.writing(2)])?;
    }
    go.store(1); // before the launch: a machine may run it within the call
    graph.instantiate()?.launch(&stream)?;
    Ok(result.download(&stream)? == [1, 1, 2, 2] && go.load() == 2)
}

/// Steps of the sequence until it reaches 1, in Rust.
fn sequence(start: u32) -> u32 {
    let (mut value, mut steps) = (start, 0);
    while value != 1 {
        value = if value % 2 == 0 { value / 2 } else { 3 * value + 1 };
        steps += 1;
    }
    steps
}
