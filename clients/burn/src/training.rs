//! Training of a network from given parameters, on any backend.

use burn::module::AutodiffModule;
use burn::optim::{AdamConfig, GradientsParams, Optimizer};
use burn::prelude::*;
use burn::record::{BinBytesRecorder, FullPrecisionSettings, Recorder};
use burn::tensor::backend::AutodiffBackend;

const STEPS: usize = 12;

/// A network, its data and its loss.
pub(crate) trait Network<B: AutodiffBackend>: AutodiffModule<B> + Sized {
    const RATE: f64;

    /// The largest difference of two losses, relative to the CPU's.
    const TOLERANCE: f32;

    fn new(device: &B::Device) -> Self;

    /// The loss on the network's own data.
    fn loss(&self, device: &B::Device) -> Tensor<B, 1>;
}

type Bytes = BinBytesRecorder<FullPrecisionSettings>;

/// The parameters of a new network, as a file would hold them.
pub(crate) fn parameters<B: AutodiffBackend, N: Network<B>>(device: &B::Device) -> Result<Vec<u8>, String> {
    B::seed(device, 7);
    let network = N::new(device);
    Recorder::<B>::record(&Bytes::new(), network.into_record(), ()).map_err(|error| error.to_string())
}

/// The loss before each step of training.
pub(crate) fn losses<B: AutodiffBackend, N: Network<B>>(
    parameters: &[u8],
    device: &B::Device,
) -> Result<Vec<f32>, String> {
    let record = Recorder::<B>::load(&Bytes::new(), parameters.to_vec(), device).map_err(|error| error.to_string())?;
    let mut network = N::new(device).load_record(record);
    let mut optimizer = AdamConfig::new().init::<B, N>();
    let mut losses = Vec::new();
    for _ in 0..STEPS {
        let loss = network.loss(device);
        let gradients = GradientsParams::from_grads(loss.backward(), &network);
        network = optimizer.step(N::RATE, network, gradients);
        losses.push(loss.into_scalar().elem::<f32>());
    }
    Ok(losses)
}

/// Numbers between -1 and 1, the same in every run.
pub(crate) fn noise(count: usize, seed: u32) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}
