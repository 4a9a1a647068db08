//! The networks, with the data that they learn.

use burn::nn::attention::{MhaInput, MultiHeadAttention, MultiHeadAttentionConfig};
use burn::nn::conv::{Conv2d, Conv2dConfig};
use burn::nn::loss::{CrossEntropyLossConfig, MseLoss, Reduction};
use burn::nn::pool::{MaxPool2d, MaxPool2dConfig};
use burn::nn::{BatchNorm, BatchNormConfig, LayerNorm, LayerNormConfig, Linear, LinearConfig};
use burn::prelude::*;
use burn::tensor::activation::{gelu, relu, tanh};
use burn::tensor::backend::AutodiffBackend;

use crate::training::{Network, noise};

/// The tolerance for sums that are added in another order.
const SUMS: f32 = 1e-3;
/// The tolerance for convolutions and products of matrices whose factors burn rounds to `tf32` on a GPU.
const SHORT_FACTORS: f32 = 1e-2;

/// Points of a square, and the product of their coordinates.
#[derive(Module, Debug)]
pub(crate) struct Layers<B: Backend> {
    first: Linear<B>,
    second: Linear<B>,
    last: Linear<B>,
}

impl<B: AutodiffBackend> Network<B> for Layers<B> {
    const RATE: f64 = 0.02;
    const TOLERANCE: f32 = SUMS;

    fn new(device: &B::Device) -> Self {
        Self {
            first: LinearConfig::new(2, 32).init(device),
            second: LinearConfig::new(32, 32).init(device),
            last: LinearConfig::new(32, 1).init(device),
        }
    }

    fn loss(&self, device: &B::Device) -> Tensor<B, 1> {
        const COUNT: usize = 64;
        let points = noise(2 * COUNT, 1);
        let products: Vec<f32> = points.chunks(2).map(|point| point[0] * point[1]).collect();
        let points = Tensor::<B, 2>::from_data(TensorData::new(points, [COUNT, 2]), device);
        let products = Tensor::<B, 2>::from_data(TensorData::new(products, [COUNT, 1]), device);
        let hidden = tanh(self.second.forward(relu(self.first.forward(points))));
        MseLoss::new().forward(self.last.forward(hidden), products, Reduction::Mean)
    }
}

/// Pictures of 8 × 8 with a horizontal or a vertical bar.
#[derive(Module, Debug)]
pub(crate) struct Convolution<B: Backend> {
    convolution: Conv2d<B>,
    norm: BatchNorm<B>,
    pool: MaxPool2d,
    last: Linear<B>,
}

impl<B: AutodiffBackend> Network<B> for Convolution<B> {
    const RATE: f64 = 0.02;
    const TOLERANCE: f32 = SHORT_FACTORS;

    fn new(device: &B::Device) -> Self {
        Self {
            convolution: Conv2dConfig::new([1, 4], [3, 3]).init(device),
            norm: BatchNormConfig::new(4).init(device),
            pool: MaxPool2dConfig::new([2, 2]).with_strides([2, 2]).init(),
            last: LinearConfig::new(36, 2).init(device),
        }
    }

    fn loss(&self, device: &B::Device) -> Tensor<B, 1> {
        const COUNT: usize = 16;
        let (mut pictures, mut kinds) = (Vec::new(), Vec::new());
        for picture in 0..COUNT {
            let (kind, at) = (picture % 2, picture / 2);
            let bar = |row: usize, column: usize| [row, column][kind] == at;
            pictures.extend((0..64).map(|pixel| f32::from(u8::from(bar(pixel / 8, pixel % 8)))));
            kinds.push(kind as i32);
        }
        let pictures = Tensor::<B, 4>::from_data(TensorData::new(pictures, [COUNT, 1, 8, 8]), device);
        let kinds = Tensor::<B, 1, Int>::from_data(TensorData::new(kinds, [COUNT]), device);
        let features = self.pool.forward(relu(self.norm.forward(self.convolution.forward(pictures))));
        let scores = self.last.forward(features.flatten(1, 3));
        CrossEntropyLossConfig::new().init(device).forward(scores, kinds)
    }
}

/// Sequences of vectors, and the sum of each.
#[derive(Module, Debug)]
pub(crate) struct Attention<B: Backend> {
    first: Linear<B>,
    attention: MultiHeadAttention<B>,
    norm: LayerNorm<B>,
    last: Linear<B>,
}

impl<B: AutodiffBackend> Network<B> for Attention<B> {
    const RATE: f64 = 0.02;
    const TOLERANCE: f32 = SHORT_FACTORS;

    fn new(device: &B::Device) -> Self {
        Self {
            first: LinearConfig::new(4, 16).init(device),
            attention: MultiHeadAttentionConfig::new(16, 2).with_dropout(0.0).init(device),
            norm: LayerNormConfig::new(16).init(device),
            last: LinearConfig::new(16, 1).init(device),
        }
    }

    fn loss(&self, device: &B::Device) -> Tensor<B, 1> {
        const COUNT: usize = 8;
        const LENGTH: usize = 6;
        const WIDTH: usize = 4;
        let values = noise(COUNT * LENGTH * WIDTH, 3);
        let sums: Vec<f32> = values.chunks(LENGTH * WIDTH).map(|values| values.iter().sum()).collect();
        let values = Tensor::<B, 3>::from_data(TensorData::new(values, [COUNT, LENGTH, WIDTH]), device);
        let sums = Tensor::<B, 2>::from_data(TensorData::new(sums, [COUNT, 1]), device);
        let hidden = gelu(self.first.forward(values));
        let seen = self.attention.forward(MhaInput::self_attn(hidden.clone())).context;
        let mixed = self.norm.forward(hidden + seen).mean_dim(1);
        MseLoss::new().forward(self.last.forward(mixed.squeeze_dim(1)), sums, Reduction::Mean)
    }
}
