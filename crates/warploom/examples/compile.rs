//! CUDA C++ that is compiled while the program runs, by NVRTC.
//!
//! ```sh
//! pip install nvidia-cuda-nvrtc        # or a CUDA toolkit; a GPU is not needed
//! cargo run -p warploom --features nvrtc --example compile
//! ```
#![expect(clippy::print_stdout, reason = "an example says what it did")]
#![expect(unsafe_code, reason = "launches a kernel")]

use std::error::Error;

use warploom::program::{Architecture, CompileOptions, Nvrtc, Program, Target};
use warploom::{DevicePool, Driver, LaunchConfig};
use warploom_sim::Machine;

type Outcome = Result<(), Box<dyn Error>>;

const SOURCE: &str = r#"
template<typename T> __global__ void square(T *values, unsigned count) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) values[i] *= values[i];
}
"#;

#[cfg_attr(test, expect(dead_code, reason = "a test calls `run` itself"))]
fn main() -> Outcome {
    let driver = match Driver::load() {
        Ok(driver) => driver,
        Err(_) => Driver::open(&Machine::preset("h200")?)?, // no driver here: a simulated machine
    };
    run(&driver, &Nvrtc::load()?)
}

pub(crate) fn run(driver: &Driver, nvrtc: &Nvrtc) -> Outcome {
    // A cubin for this device. Line information brings its PTX along, which is what a simulated device runs.
    let options = CompileOptions::new(Architecture::from(driver.device(0)?.compute_capability()?)).line_info();
    let program = Program::new("square.cu", SOURCE, options).name_expression("square<float>");
    let compiled = program.compile(nvrtc, Target::Cubin)?;
    print!("{}", compiled.log); // warnings, if there are any

    let context = driver.device(0)?.context()?;
    let (stream, pool) = (context.stream()?, DevicePool::new(&context)?);
    let square = compiled.code.load(driver)?.kernel("square<float>")?;
    let mut values = pool.upload(&[1.0_f32, 2.0, 3.0], &stream)?;
    // SAFETY: the kernel reads and writes three values, and there are as many.
    unsafe { square.launch(&stream, &LaunchConfig::new(1, 32), (&mut values, 3_u32)) }?;
    assert_eq!(values.download(&stream)?, [1.0, 4.0, 9.0]);
    println!("compiled, loaded and launched square<float>");
    Ok(())
}
