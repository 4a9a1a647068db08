//! The pages that the browser test opens: of a small program, of a hundred thousand ops, of two processes, and of
//! hostile names.
//!
//! `cargo run -p warploom-page --example sample -- FOLDER` writes `sample.html`, `large.html`, `several.html` and
//! `hostile.html`.
#![expect(unsafe_code, reason = "launches kernels")]

use std::error::Error;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use warploom::{Buffer, Context, DevicePool, Driver, GraphDef, LaunchConfig, Mesh, Stream};
use warploom_record::{
    Call, Calls, Device, End, Finding, FunctionCount, KernelCount, LaunchShape, Op, OpKind, Record, Site, Source,
    SourceLine, Way,
};
use warploom_sim::topology::Topology;
use warploom_sim::trace::Trace;
use warploom_sim::{Backtraces, Checks, Machine, Mode, Order};

type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

const KERNELS: &str = include_str!("sample.ptx");
const VALUES: usize = 1 << 14;
const ROUNDS: usize = 4;

fn main() -> Result {
    let folder = std::env::args().nth(1).ok_or("usage: sample FOLDER")?;
    let folder = Path::new(&folder);
    std::fs::create_dir_all(folder)?;
    let pages = [
        ("sample", vec![simulated()?]),
        ("large", vec![large(7, 100_000)]),
        ("several", vec![large(7, 2_000), large(8, 1_000)]),
        ("hostile", vec![hostile()]),
    ];
    for (name, records) in pages {
        let mut file = BufWriter::new(File::create(folder.join(format!("{name}.html")))?);
        warploom_page::write(&records, &mut file)?;
    }
    Ok(())
}

/// One device's part of the program.
struct Worker {
    context: Context,
    compute: Stream,
    transfer: Stream,
    pool: DevicePool,
    values: Buffer<f32>,
    inbox: Buffer<f32>,
}

impl Worker {
    fn new(context: Context) -> Result<Self> {
        let (compute, transfer, pool) = (context.stream()?, context.stream()?, DevicePool::new(&context)?);
        let values = pool.upload(&vec![1.0; VALUES], &compute)?;
        let inbox = pool.zeroed(VALUES, &transfer)?;
        Ok(Self { context, compute, transfer, pool, values, inbox })
    }
}

/// A program on four devices: kernels, a graph, copies around a ring, and two mistakes.
fn simulated() -> Result<Record> {
    let checks = Checks::report().backtraces(Backtraces::All).on_finding(|_| {});
    let topology = Topology::preset("hgx-a100-4")?;
    let machine = Machine::builder()
        .mode(Mode::Deterministic(Order::Eager))
        .topology(topology)
        .trace(Trace::timeline())
        .checks(checks)
        .start()?;
    let driver = Driver::open(&machine)?;
    let devices = driver.devices()?;
    let contexts = devices.iter().map(|device| device.context()).collect::<warploom::Result<Vec<_>>>()?;
    let mut workers = contexts.iter().cloned().map(Worker::new).collect::<Result<Vec<_>>>()?;
    let pools: Vec<&DevicePool> = workers.iter().map(|worker| &worker.pool).collect();
    let (mesh, _) = Mesh::open(&warploom::Topology::probe(&devices)?, &contexts, &pools)?;
    for _ in 0..ROUNDS {
        workers.iter_mut().try_for_each(compute)?;
        pass_on(&mesh, &mut workers)?;
    }
    workers.iter_mut().try_for_each(launch_graph)?;
    race(&mut workers[1])?;
    for worker in &workers {
        worker.values.download(&worker.compute)?;
        worker.context.synchronize()?;
    }
    let mut record = machine.record().ok_or("the machine was started with a timeline")?;
    record.machine.name = "hgx-a100-4".to_owned();
    shorten_paths(&mut record);
    Ok(record)
}

/// Makes paths of this repository relative, so that the page is the same wherever it lies.
fn shorten_paths(record: &mut Record) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap_or(Path::new("/"));
    let shorten = |file: &mut String| {
        if let Some(inside) = Path::new(file.as_str()).strip_prefix(root).ok().and_then(Path::to_str) {
            *file = inside.to_owned();
        }
    };
    for site in record.findings.iter_mut().flat_map(|finding| &mut finding.sites) {
        site.source.iter_mut().for_each(|source| shorten(&mut source.file));
        site.frames.iter_mut().filter_map(|frame| frame.file.as_mut()).for_each(shorten);
    }
}

fn compute(worker: &mut Worker) -> Result {
    let (count, shape) = (VALUES as u32, LaunchConfig::cover(VALUES, 256));
    let library = worker.context.load(KERNELS)?;
    let (scale, triangle) = (library.kernel("scale")?, library.kernel("triangle")?);
    let columns = library.kernel("_ZN6matrix11add_columnsEPfj")?;
    let (stream, values) = (&worker.compute, &mut worker.values);
    let mut scratch = worker.pool.allocate::<f32>(VALUES, stream)?;
    // SAFETY: a thread for each value, or for each row of 64 values.
    unsafe {
        scale.launch(stream, &shape, (1.5_f32, &mut *values, count))?;
        triangle.launch(stream, &shape, (&mut scratch, count))?;
        columns.launch(stream, &LaunchConfig::cover(VALUES / 64, 128), (&mut *values, count / 64))?;
    }
    scratch.copy_to(values, stream)?;
    Ok(())
}

/// Each device sends its values to the next one.
fn pass_on(mesh: &Mesh, workers: &mut [Worker]) -> Result {
    for from in 0..workers.len() {
        let to = (from + 1) % workers.len();
        let [sender, receiver] = workers.get_disjoint_mut([from, to])?;
        sender.transfer.wait(&sender.compute.record()?)?;
        mesh.copy(&sender.values, &mut receiver.inbox, &sender.transfer)?;
        sender.compute.wait(&sender.transfer.record()?)?;
        receiver.transfer.wait(&sender.transfer.record()?)?;
    }
    Ok(())
}

fn launch_graph(worker: &mut Worker) -> Result {
    let (count, shape) = (VALUES as u32, LaunchConfig::cover(VALUES, 256));
    let scale = worker.context.load(KERNELS)?.kernel("scale")?;
    let [mut left, mut right] =
        [worker.pool.zeroed::<f32>(VALUES, &worker.compute)?, worker.pool.zeroed::<f32>(VALUES, &worker.compute)?];
    let graph = GraphDef::new(&worker.context)?;
    let [first, second] = [graph.entry().fill(&mut left, 2.0)?, graph.entry().fill(&mut right, 3.0)?];
    // SAFETY: a thread for each value.
    let (one, other) = unsafe {
        let one = first.then().kernel(&scale, &shape, (2.0_f32, &mut left, count))?;
        (one, second.then().kernel(&scale, &shape, (0.5_f32, &mut right, count))?)
    };
    graph.after([one.node(), other.node()]).copy(&left, &mut worker.values)?;
    let exec = graph.instantiate()?;
    for _ in 0..3 {
        exec.launch(&worker.compute)?;
    }
    worker.context.synchronize()?;
    Ok(())
}

/// The copy waits for an event that was recorded before the fill.
fn race(worker: &mut Worker) -> Result {
    let (first, second) = (&worker.compute, &worker.transfer);
    let mut source = worker.pool.zeroed::<u8>(1 << 20, first)?;
    let mut copy = worker.pool.zeroed::<u8>(1 << 20, second)?;
    source.copy_to(&mut copy, second)?;
    first.wait(&second.record()?)?;
    let too_early = first.record()?;
    source.fill(7, first)?;
    second.wait(&too_early)?;
    source.copy_to(&mut copy, second)?;
    let unset = worker.pool.allocate::<u8>(4096, second)?;
    unset.download(second)?;
    Ok(())
}

/// Many ops, in the way of a loop that copies, launches and copies back on eight streams of two devices.
fn large(process: u32, ops: u64) -> Record {
    let mut record = Record::default();
    record.process.id = process;
    record.process.command.push("large".to_owned());
    record.machine.name = "pcie-pair".to_owned();
    record.machine.driver_version = 13_000;
    let name = "NVIDIA A100-PCIE-40GB".to_owned();
    record.machine.devices = vec![Device { name, memory: 40 << 30, numa_node: 0 }; 2];
    record.streams = (0..8).map(|id| warploom_record::Stream { device: id as u16 / 4, id }).collect();
    record.ways = (0..2)
        .flat_map(|device| [(End::Host, End::Device(device)), (End::Device(device), End::Host)])
        .map(|(from, to)| Way { from: Some(from), to })
        .collect();
    record.kernels = ["forward", "backward", "update"]
        .map(|name| KernelCount { name: name.to_owned(), ..KernelCount::default() })
        .into();
    record.shapes.push(LaunchShape { grid: [1024, 1, 1], block: [256, 1, 1], shared: 0 });
    let mut calls = Vec::new();
    for index in 0..ops {
        let (round, stream) = (index / 40, index % 8);
        let (start_ns, call) = (round * 90_000 + index % 40 * 2_100, index + 1);
        let (kind, subject, amount, function) = match index / 8 % 5 {
            0 => (OpKind::Copy, stream / 4 * 2, (1 << 16) + index * 37 % 8192, "cuMemcpyHtoDAsync_v2"),
            4 => (OpKind::Copy, stream / 4 * 2 + 1, 1 << 14, "cuMemcpyDtoHAsync_v2"),
            step => (OpKind::Kernel, step - 1, 0, "cuLaunchKernel"),
        };
        let time_ns = 6_000 + index * 7919 % 9_000;
        if kind == OpKind::Kernel {
            let kernel = &mut record.kernels[subject as usize];
            (kernel.launches, kernel.time_ns) = (kernel.launches + 1, kernel.time_ns + time_ns);
        }
        record.ops.push(Op { kind, start_ns, time_ns, stream: stream as u32, call, subject, amount });
        let (thread, time_ns) = (1 + stream / 4, 900 + index * 31 % 700);
        calls.push(Call { function, code: "CUDA_SUCCESS", number: call, thread, start_ns: index * 1_700, time_ns });
    }
    record.calls = Calls::of(calls);
    record
}

/// Names that would be markup, if anything made markup of them.
fn hostile() -> Record {
    let evil = "</script><img src=x onerror=\"document.title='broken'\"><!-- <script>document.title='broken'</script>";
    let mut record = Record::default();
    record.process.command.push(evil.to_owned());
    record.machine.name = evil.to_owned();
    record.machine.devices.push(Device { name: evil.to_owned(), memory: 1, numa_node: 0 });
    record.streams.push(warploom_record::Stream { device: 0, id: 1 });
    record.kernels.push(KernelCount { name: evil.to_owned(), launches: 1, time_ns: 1000, ..KernelCount::default() });
    record.shapes.push(LaunchShape::default());
    record.ops.push(Op { kind: OpKind::Kernel, start_ns: 0, time_ns: 1000, stream: 0, call: 1, subject: 0, amount: 0 });
    let call = Call { function: evil, code: evil, number: 1, thread: 1, start_ns: 0, time_ns: 10 };
    record.calls = Calls::of([call]);
    record.functions.push(FunctionCount { name: evil.to_owned(), calls: 1, failed: vec![(evil.to_owned(), 1)] });
    record.refused.push(evil.to_owned());
    let lines = vec![SourceLine { number: 1, text: evil.to_owned() }];
    let source = Source { file: evil.to_owned(), line: 1, lines };
    let site = Site {
        role: evil.to_owned(),
        operation: evil.to_owned(),
        call: Some(1),
        source: Some(source),
        ..Site::default()
    };
    let [kind, title] = [evil.to_owned(), evil.to_owned()];
    record.findings.push(Finding { kind, title, details: vec![evil.to_owned()], call: Some(1), sites: vec![site] });
    record
}
