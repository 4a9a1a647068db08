//! Launches, and questions about clusters, take a stream (S4.1, S4.4, S4.22).

use warploom::{Buffer, GraphExec, Kernel, LaunchConfig, Occupancy, Result, TypedKernel};

fn kernel(kernel: &Kernel, config: &LaunchConfig, to: &mut Buffer<u8>) -> Result<()> {
    unsafe { kernel.launch(config, (to,)) }
}

fn typed_kernel(kernel: &TypedKernel<(&mut [u8],)>, config: &LaunchConfig, to: &mut Buffer<u8>) -> Result<()> {
    unsafe { kernel.launch(config, (to,)) }
}

fn graph(exec: &GraphExec) -> Result<()> {
    exec.launch()
}

fn upload_of_a_graph(exec: &GraphExec) -> Result<()> {
    exec.upload()
}

fn largest_cluster(occupancy: &Occupancy<'_>, config: &LaunchConfig) -> Result<u32> {
    occupancy.max_cluster_size(config)
}

fn active_clusters(occupancy: &Occupancy<'_>, config: &LaunchConfig) -> Result<u32> {
    occupancy.max_active_clusters(config)
}

fn main() {}
