//! `warploom run`: one launch of a kernel in a file, its results and the findings of the checks.

mod code;
mod contents;
mod element;
mod half;
mod kernel_name;
mod launch;
mod outputs;
mod shape;
mod spec;
mod spec_error;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use warploom::{DevicePool, Dimensions, Kernel, KernelAttribute, LaunchConfig, Result as CoreResult, Stream};
use warploom_sim::{Backtraces, Checks, Machine, MachineBuilder};

use self::code::CompilerArgs;
use self::launch::Argument;
use self::outputs::{Outputs, PictureArg};
use self::shape::Shape;
use self::spec::Spec;
use super::Run;
use crate::choice::{DriverArgs, Opened};
use crate::failure::{Failure, code as exit};
use crate::human;
use crate::report::{LaunchReport, RunReport};
use crate::session::{Output, Session};

const EXAMPLES: &str = "\
Examples:
  warploom run saxpy.ptx -a f32:a=2 -a f32:x:n=1000:iota -a f32:y:n=1000 -a u32:n=1000 -p y
  warploom run sum.cu --kernel 'sum<float>' -a f32:x:n=4096:random=7 -a f32:total:n=1 -a u32:n=4096
  warploom run mandelbrot.ptx -a u8:p:n=3x320x176 --grid 20,11 --block 16,16 --picture p=set.png

Arguments (-a, --arg), one for each parameter of the kernel, in their order:
  TYPE:NAME=VALUE[,VALUE…]        a value, or a vector such as float4: u32:n=1000, f32:v=1,2,3,4
  TYPE:[NAME:]n=SIZE[:CONTENTS]   memory, passed as its address: f32:x:n=1000:iota, u8:p:n=640x360
  TYPE:[NAME:]file=PATH           memory with the values of a file: f64:x:file=x.bin

  TYPE      bool, i8 to i64, u8 to u64, f16, bf16, f32, f64
  SIZE      1000, 640x360 or 16x16x4; neighbouring values are in the first dimension
  CONTENTS  zero (the default), uninit, fill=VALUE, iota[=START[,STEP]], random[=SEED[,LOW,HIGH]]
            or file=PATH: the bytes of the values, or numbers in .txt, .csv and .tsv

A simulated machine checks the kernel: data races, accesses out of bounds, uninitialised reads,
missed barriers. Exit code 3: there are findings.";

/// Arguments of `warploom run`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// CUDA C++ (.cu), which NVRTC compiles, or PTX (.ptx)
    file: PathBuf,
    /// The kernel, also by its name in C++, such as 'space::scale<float>'; may be left out if there is one
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,
    /// Blocks of the grid; without it, as many as cover the largest memory
    #[arg(long, value_name = "X[,Y[,Z]]")]
    grid: Option<Shape>,
    /// Threads of a block; without it, 256, 16,16 or 8,8,4 by the dimensions of the largest memory
    #[arg(long, value_name = "X[,Y[,Z]]")]
    block: Option<Shape>,
    /// Bytes of dynamic shared memory of a block
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    shared: u32,
    /// An argument of the kernel; see below
    #[arg(short = 'a', long = "arg", value_name = "SPEC")]
    arguments: Vec<Spec>,
    /// Print the values of memory after the run, the first and the last rows
    #[arg(short, long, value_name = "NAME")]
    print: Vec<String>,
    /// Print all rows
    #[arg(long)]
    all: bool,
    /// Write memory of WIDTHxHEIGHT values as a picture (.png, .pgm), or of 3xWIDTHxHEIGHT bytes in colour (.png, .ppm)
    #[arg(long, value_name = "NAME=FILE")]
    picture: Vec<PictureArg>,
    /// The device
    #[arg(long, value_name = "ORDINAL", default_value_t = 0)]
    device: u32,
    /// Do not check the kernel on a simulated machine, which is faster
    #[arg(long)]
    no_check: bool,
    #[command(flatten)]
    driver: DriverArgs,
    // The last: options behind it would be listed under its heading.
    #[command(flatten)]
    compiler: CompilerArgs,
}

impl Run for Args {
    fn driver(&self) -> Option<&DriverArgs> {
        Some(&self.driver)
    }

    fn run(&self, session: &Session) -> Result<Output, Failure> {
        let outputs = Outputs::new(&self.arguments, &self.print, &self.picture)?;
        let printed = Arc::new(Mutex::new(String::new()));
        let opened = session.choice(&self.driver).open_on(self.machine(&printed))?;
        let mut report = self.launch(&opened, outputs)?;
        report.output = std::mem::take(&mut *printed.lock().unwrap_or_else(PoisonError::into_inner));
        let output = session.show(&report, |style| human::run(&report, self.all, style))?;
        let code = match (report.findings.is_empty(), &report.error) {
            (false, _) => exit::FINDINGS,
            (true, Some(_)) => exit::FAILURE,
            (true, None) => exit::SUCCESS,
        };
        Ok(Output { code, ..output })
    }
}

impl Args {
    /// A machine that checks, and collects the output of the kernel.
    fn machine(&self, printed: &Arc<Mutex<String>>) -> MachineBuilder {
        let printed = Arc::clone(printed);
        let machine = Machine::builder()
            .output(move |text| printed.lock().unwrap_or_else(PoisonError::into_inner).push_str(text));
        // Frames of this command would mean nothing to a reader, and findings are shown by the report.
        let checks = Checks::report().backtraces(Backtraces::Off).on_finding(|_| {});
        if self.no_check { machine } else { machine.checks(checks) }
    }

    fn launch(&self, opened: &Opened, outputs: Outputs) -> Result<RunReport, Failure> {
        let context = opened.driver.device(self.device)?.context()?;
        let machine = opened.machine.as_ref();
        let code = code::load(&self.file, &self.compiler, self.kernel.as_deref(), &context, machine)?;
        let kernel = kernel_name::find(&code.library, self.kernel.as_deref())?;
        launch::check_parameters(&kernel, &self.arguments)?;
        let (stream, pool) = (context.stream()?, DevicePool::new(&context)?);
        let mut arguments = launch::prepare(&self.arguments, &pool, &stream)?;
        let config = self.config(&kernel, &arguments, &stream)?;
        let outputs = outputs.create(&arguments)?;
        let facts = facts(&kernel, &config, self.shared, &stream)?;
        let ran = launch::launch(&kernel, &config, &mut arguments, &stream);
        let memory = match &ran {
            Ok(_) => outputs.write(&arguments, &stream)?,
            Err(_) => Vec::new(),
        };
        // Memory is freed before findings are read: memory of the command is no leak of the kernel.
        drop(arguments);
        Ok(RunReport {
            driver: opened.report.clone(),
            device: self.device,
            file: self.file.display().to_string(),
            kernel: kernel.name().to_owned(),
            source_name: kernel_name::source_name(kernel.name()),
            compiler: code.compiler,
            launch: LaunchReport { milliseconds: ran.as_ref().ok().copied(), virtual_time: machine.is_some(), ..facts },
            memory,
            output: String::new(),
            error: ran.err().map(|error| error.to_string()),
            checked: machine.is_some() && !self.no_check,
            findings: machine.map(Machine::findings).unwrap_or_default(),
        })
    }

    fn config(&self, kernel: &Kernel, arguments: &[Argument], stream: &Stream) -> Result<LaunchConfig, Failure> {
        let sizes = arguments.iter().filter_map(|argument| match argument {
            Argument::Memory(memory) => Some(&memory.size),
            Argument::Value(_) => None,
        });
        let largest = sizes.max_by_key(|size| size.count());
        let most = kernel.attribute(KernelAttribute::MaxThreadsPerBlock, stream.device())?;
        let (grid, block) = shape::launch_shape(self.grid, self.block, largest, most.max(0).unsigned_abs());
        launch::config(kernel, grid, block, self.shared, stream)
    }
}

/// The facts of a launch before it happens.
fn facts(kernel: &Kernel, config: &LaunchConfig, shared: u32, stream: &Stream) -> CoreResult<LaunchReport> {
    let attributes = kernel.attributes(stream.device())?;
    let properties = stream.device().properties()?;
    let blocks = kernel.occupancy(stream.context())?.max_active_blocks(config.block(), shared)?;
    let warp = u64::from(properties.warp_size()).max(1);
    let threads = config.block().total().next_multiple_of(warp) * u64::from(blocks);
    let axes = |dimensions: Dimensions| [dimensions.x, dimensions.y, dimensions.z];
    Ok(LaunchReport {
        grid: axes(config.grid()),
        block: axes(config.block()),
        dynamic_shared_bytes: shared,
        milliseconds: None,
        virtual_time: false,
        registers: attributes.registers,
        static_shared_bytes: attributes.static_shared,
        local_bytes: attributes.local,
        blocks_per_multiprocessor: blocks,
        occupancy: threads as f64 / f64::from(properties.max_threads_per_multiprocessor().max(1)),
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::super::sweep::sweep;
    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Args,
    }

    #[test]
    fn every_failing_driver_call_is_reported() -> Result<(), Failure> {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../cli/tests/kernels/saxpy.ptx");
        let specs = ["-a", "f32:a=2", "-a", "f32:x:n=40:iota", "-a", "f32:y:n=40", "-a", "u32:n=40", "-p", "y"];
        let Line { arguments } = Line::parse_from([&["run", file], &specs[..]].concat());
        let printed = Arc::default();
        let calls = sweep(
            || arguments.machine(&printed),
            |opened| {
                let outputs = Outputs::new(&arguments.arguments, &arguments.print, &arguments.picture)?;
                let report = arguments.launch(opened, outputs)?;
                Ok(report.error.is_none().then_some(report.memory))
            },
        )?;
        assert!(calls > 20, "{calls}");
        Ok(())
    }
}
