//! A program on the published burn, on a simulated GPU: neural networks, trained.
//!
//! burn fuses tensor operations, writes CUDA C for them and has it compiled by NVRTC. It times several
//! kernels for one product of matrices with events, and launches the fastest through cudarc. Each network
//! starts from the same parameters on burn's own CPU backend, and the losses are compared. Reports in TAP;
//! exit code 1 if a check failed.

mod networks;
mod training;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use burn::backend::cuda::CudaDevice;
use burn::backend::{Autodiff, Cuda, Flex};

use networks::{Attention, Convolution, Layers};
use training::{Network, losses, parameters};

type Gpu = Autodiff<Cuda>;
type Cpu = Autodiff<Flex>;

type Outcome = Result<(), String>;
/// A sentence, and what holds if it is true.
type Check = (&'static str, fn() -> Outcome);

const CHECKS: &[Check] = &[
    ("a network of layers learns as on the CPU", layers_learn_alike),
    ("a convolutional network learns as on the CPU", convolutions_learn_alike),
    ("a network with attention learns as on the CPU", attention_learns_alike),
    ("a network learns on another device as on the CPU", another_device_learns_alike),
];

fn main() -> ExitCode {
    println!("1..{}", CHECKS.len());
    let mut failed = false;
    for (number, (sentence, check)) in (1..).zip(CHECKS) {
        let outcome = catch_unwind(AssertUnwindSafe(check)).unwrap_or_else(|_| Err("panicked".to_owned()));
        if let Err(error) = &outcome {
            println!("# {error}");
            failed = true;
        }
        println!("{} {number} - {sentence}", if outcome.is_ok() { "ok" } else { "not ok" });
    }
    ExitCode::from(u8::from(failed))
}

/// Trains on a GPU and on the CPU, from the same parameters and data.
fn learn_alike<OnGpu: Network<Gpu>, OnCpu: Network<Cpu>>(device: &CudaDevice) -> Outcome {
    let start = parameters::<Cpu, OnCpu>(&Default::default())?;
    let found = losses::<Gpu, OnGpu>(&start, device)?;
    let wanted = losses::<Cpu, OnCpu>(&start, &Default::default())?;
    println!("# losses on the GPU: {found:?}\n# losses on the CPU: {wanted:?}");
    for (step, (found, wanted)) in found.iter().zip(&wanted).enumerate() {
        let is_close = (found - wanted).abs() <= OnGpu::TOLERANCE * wanted.abs();
        if !is_close {
            return Err(format!("step {step}: loss {found} on the GPU and {wanted} on the CPU"));
        }
    }
    match (found.first(), found.last()) {
        (Some(first), Some(last)) if *last < first / 2.0 => Ok(()),
        ends => Err(format!("the loss did not halve: {ends:?}")),
    }
}

fn layers_learn_alike() -> Outcome {
    learn_alike::<Layers<Gpu>, Layers<Cpu>>(&CudaDevice::new(0))
}

fn convolutions_learn_alike() -> Outcome {
    learn_alike::<Convolution<Gpu>, Convolution<Cpu>>(&CudaDevice::new(0))
}

fn attention_learns_alike() -> Outcome {
    learn_alike::<Attention<Gpu>, Attention<Cpu>>(&CudaDevice::new(0))
}

fn another_device_learns_alike() -> Outcome {
    learn_alike::<Layers<Gpu>, Layers<Cpu>>(&CudaDevice::new(1))
}
