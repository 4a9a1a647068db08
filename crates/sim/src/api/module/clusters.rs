//! Thread block clusters: cuOccupancyMaxPotentialClusterSize and cuOccupancyMaxActiveClusters.
//!
//! Refusals and results match those of an H200. A cluster runs on the multiprocessors of one group (GPC);
//! some groups have too few multiprocessors for large clusters.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::ffi::c_int;

use warploom_sys::types::{CUfunc_st, CUlaunchConfig, CUresult};

use super::attributes::Limits;
use super::functions::found;
use crate::ffi::status::{INVALID_HANDLE, NOT_SUPPORTED, Status};
use crate::ffi::{ConstPtr, Ptr};
use crate::machine::call::Call;
use crate::machine::code::{Facts, Settings};
use crate::machine::launch::Shape;
use crate::topology::number;

const INVALID_CLUSTER_SIZE: CUresult = CUresult::CUDA_ERROR_INVALID_CLUSTER_SIZE;
/// Maximum portable and non-portable cluster sizes, in blocks.
const PORTABLE: u64 = 8;
const MOST: u64 = 16;
/// Maximum blocks of clusters on a multiprocessor at once.
const RESIDENT: u32 = 8;
/// Multiprocessors per group, for devices whose groups are unknown.
const GROUP: u32 = 16;
/// The groups of a device with 132 multiprocessors.
const H200: &[u32] = &[18, 18, 16, 16, 16, 16, 16, 8, 2, 2, 2, 2];

fn product(sizes: [u32; 3]) -> u64 {
    sizes.iter().fold(1, |all, size| all.saturating_mul(u64::from(*size)))
}

/// Maximum cluster size of a kernel, in blocks.
fn most(settings: &Settings) -> u64 {
    if settings.allows_non_portable() { MOST } else { PORTABLE }
}

/// A launch in blocks, of a kernel whose launches count clusters. An H200 takes blocks of one thread for
/// those that the kernel requires.
pub(super) fn in_blocks(facts: &Facts<'_>, mut shape: Shape) -> Shape {
    if let Some(cluster) = facts.kernel.required_cluster().filter(|_| facts.kernel.counts_clusters()) {
        shape.grid = std::array::from_fn(|axis| shape.grid[axis].saturating_mul(cluster[axis]));
        if shape.block == [1; 3] {
            shape.block = facts.kernel.required_threads().unwrap_or(shape.block);
        }
    }
    shape
}

/// A launch with its clusters, or those that its kernel requires, if they are valid.
pub(super) fn of_launch(
    call: &Call<'_>,
    limits: &Limits<'_>,
    facts: &Facts<'_>,
    settings: &Settings,
    mut shape: Shape,
) -> Status<Shape> {
    let refuse = |reason: String| Err(call.refuse(INVALID_CLUSTER_SIZE, reason));
    let required = facts.kernel.required_cluster().or_else(|| settings.cluster());
    let (grid, Some(cluster)) = (shape.grid, shape.cluster.or(required)) else {
        return match facts.kernel.needs_cluster() {
            true => {
                refuse("the kernel runs in clusters only, and neither it nor the launch gives their shape".to_owned())
            }
            false => Ok(shape),
        };
    };
    if limits.of(number::CLUSTER_LAUNCH) == 0 {
        return Err(call.refuse(NOT_SUPPORTED, "the device has no clusters"));
    }
    if let Some(required) = required.filter(|required| *required != cluster) {
        return refuse(format!("clusters of {cluster:?} blocks; the kernel takes {required:?}"));
    }
    if !cluster.iter().zip(grid).all(|(size, blocks)| *size > 0 && blocks.is_multiple_of(*size)) {
        return refuse(format!("clusters of {cluster:?} blocks do not divide a grid of {grid:?}"));
    }
    let (blocks, portable) = (product(cluster), most(settings));
    if let Some(most) = facts.kernel.max_cluster_blocks().filter(|most| blocks > u64::from(*most)) {
        return refuse(format!("clusters of {blocks} blocks; the kernel takes up to {most}"));
    }
    if blocks > portable && portable == PORTABLE {
        return refuse(format!(
            "clusters of {blocks} blocks; {PORTABLE} at most, unless NON_PORTABLE_CLUSTER_SIZE_ALLOWED is set"
        ));
    }
    shape.cluster = Some(cluster);
    Ok(shape)
}

/// Refuses clusters beyond the largest size of any device.
pub(super) fn check_most(call: &Call<'_>, shape: &Shape) -> Status {
    match shape.cluster.map(product).filter(|blocks| *blocks > MOST) {
        Some(blocks) => Err(call.refuse(INVALID_CLUSTER_SIZE, format!("clusters of {blocks} blocks; {MOST} at most"))),
        None => Ok(()),
    }
}

/// Common input of both queries: the cluster dimensions of a launch, the maximum cluster size of its kernel,
/// the blocks per multiprocessor, and the sizes of the groups of multiprocessors.
type Asked = (Option<[u32; 3]>, u64, u32, Vec<u32>);

fn ask(call: &Call<'_>, function: Ptr<CUfunc_st>, config: ConstPtr<CUlaunchConfig>) -> Status<Asked> {
    let (config, attributes) = config.read_with_attributes()?;
    let (shape, _) = Shape::of(call, &config, attributes)?;
    let found = found(call, &mut call.world(), function)?;
    let facts = found.binary.facts(found.index).ok_or(INVALID_HANDLE)?;
    let limits = Limits::new(call, found.device);
    let shape = of_launch(call, &limits, &facts, &found.settings, shape)?;
    let threads = u32::try_from(shape.threads()).unwrap_or(u32::MAX);
    let blocks = limits.active_blocks(&facts, &found.settings, threads, shape.shared.into());
    let groups = match limits.of(number::MULTIPROCESSOR_COUNT) {
        132 => H200.to_vec(),
        count => (0..count.div_ceil(GROUP)).map(|group| GROUP.min(count - group * GROUP)).collect(),
    };
    Ok((shape.cluster, most(&found.settings), blocks.min(RESIDENT), groups))
}

pub(crate) fn cuOccupancyMaxPotentialClusterSize(
    call: &Call<'_>,
    size: Ptr<c_int>,
    function: Ptr<CUfunc_st>,
    config: ConstPtr<CUlaunchConfig>,
) -> Status {
    size.required()?;
    let (_, most, blocks, _) = ask(call, function, config)?;
    size.write(if blocks == 0 { 0 } else { most as c_int })
}

pub(crate) fn cuOccupancyMaxActiveClusters(
    call: &Call<'_>,
    clusters: Ptr<c_int>,
    function: Ptr<CUfunc_st>,
    config: ConstPtr<CUlaunchConfig>,
) -> Status {
    clusters.required()?;
    let (cluster, most, blocks, groups) = ask(call, function, config)?;
    let size = cluster.map(product).filter(|size| *size <= most);
    // A cluster takes as many multiprocessors of one group as it has blocks.
    let held = size.map(|size| {
        let large = groups.into_iter().map(u64::from).filter(|group| *group >= size);
        large.map(|group| u64::from(blocks) * group / size).sum::<u64>()
    });
    clusters.write(held.unwrap_or(0) as c_int)
}
