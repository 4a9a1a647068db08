//! Clusters: who may be launched in them, how many a device holds, and what their blocks see. The tables are
//! an H200's.

use std::ffi::CString;
use std::ptr::null_mut;

use warploom_sim::Mode;
use warploom_sim::topology::Topology;
use warploom_testkit::driver::{Driver, Error};
use warploom_testkit::sys::types::{
    CUdeviceptr, CUfunction, CUfunction_attribute as Attribute, CUlaunchAttribute, CUlaunchAttributeID,
    CUlaunchAttributeValue, CUlaunchConfig, CUresult,
};
use warploom_testkit::{Primary, TestResult, answers, call, code_of, driver_tests, open};

use crate::arguments;
use crate::support::{Module, download, launch, upload};

const REFUSED: CUresult = CUresult::CUDA_ERROR_INVALID_CLUSTER_SIZE;

/// Kernels that do nothing, and promise something about clusters; one that adds up what its neighbours have.
fn module(driver: &Driver) -> TestResult<Module> {
    let kernel = |name: &str, promise: &str| format!(".visible .entry {name}(.param .u64 p) {promise} {{ ret; }}\n");
    let text = [
        ".version 8.3\n.target sm_90\n.address_size 64\n".to_owned(),
        kernel("plain", ""),
        kernel("two", ".explicitcluster .reqnctapercluster 2, 1, 1"),
        kernel("square", ".explicitcluster .reqnctapercluster 2, 2, 1"),
        kernel("large", ".explicitcluster .reqnctapercluster 16, 1, 1"),
        kernel("four", ".maxntid 64, 1, 1 .maxclusterrank 4"),
        ".visible .entry shared(.param .u64 p) { .reg .b32 %r<2>; .shared .align 4 .b8 s[40000]; mov.u32 %r1, s;\
         st.shared.u32 [%r1], %r1; ret; }\n"
            .to_owned(),
        ".visible .entry neighbours(.param .u64 p)
         {
             .reg .b32 %r<9>; .reg .b64 %rd<5>; .shared .align 4 .u32 own;
             ld.param.u64 %rd1, [p]; cvta.to.global.u64 %rd2, %rd1;
             mov.u32 %r1, %ctaid.x; mov.u32 %r2, own; st.shared.u32 [%r2], %r1;
             barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
             mov.u32 %r3, %cluster_ctarank; xor.b32 %r4, %r3, 1; mapa.shared::cluster.u32 %r5, %r2, %r4;
             ld.shared::cluster.u32 %r6, [%r5]; mad.lo.u32 %r7, %r6, 100, %r3;
             mul.wide.u32 %rd3, %r1, 4; add.u64 %rd4, %rd2, %rd3; st.global.u32 [%rd4], %r7;
             barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
             ret;
         }\n"
        .to_owned(),
    ];
    Module::load(driver, &CString::new(text.concat())?)
}

/// A launch of blocks in clusters; none are said where a size is not there.
struct Clusters {
    attribute: CUlaunchAttribute,
    config: CUlaunchConfig,
}

impl Clusters {
    fn new(grid: [u32; 3], cluster: Option<[u32; 3]>, threads: u32, shared: u32) -> Box<Clusters> {
        let [x, y, z] = cluster.unwrap_or([0; 3]);
        let mut value = CUlaunchAttributeValue { pad: [0; 64] };
        value.clusterDim.x = x;
        value.clusterDim.y = y;
        value.clusterDim.z = z;
        let id = CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
        let config = CUlaunchConfig {
            gridDimX: grid[0],
            gridDimY: grid[1],
            gridDimZ: grid[2],
            blockDimX: threads,
            blockDimY: 1,
            blockDimZ: 1,
            sharedMemBytes: shared,
            hStream: null_mut(),
            attrs: null_mut(),
            numAttrs: u32::from(cluster.is_some()),
        };
        let mut clusters = Box::new(Clusters { attribute: CUlaunchAttribute { id, pad: [0; 4], value }, config });
        clusters.config.attrs = &raw mut clusters.attribute;
        clusters
    }

    fn launch(&self, driver: &Driver, function: CUfunction, memory: CUdeviceptr) -> Result<(), Error> {
        let mut arguments = arguments!(memory);
        call!(driver.cuLaunchKernelEx(&self.config, function, arguments.as_mut_ptr(), null_mut()))
    }

    /// The largest cluster that could be, and how many of these fit; or why neither can be told.
    fn occupancy(&self, driver: &Driver, function: CUfunction) -> Result<(i32, i32), CUresult> {
        let (mut size, mut count) = (-1, -1);
        let first = code_of(call!(driver.cuOccupancyMaxPotentialClusterSize(&mut size, function, &self.config)));
        let second = code_of(call!(driver.cuOccupancyMaxActiveClusters(&mut count, function, &self.config)));
        assert_eq!(first, second);
        if first == CUresult::CUDA_SUCCESS { Ok((size, count)) } else { Err(first) }
    }
}

type Row = ([u32; 3], Option<[u32; 3]>, CUresult, Result<(i32, i32), CUresult>);

fn row(grid: u32, cluster: u32, largest: i32, count: i32) -> Row {
    ([grid, 1, 1], Some([cluster, 1, 1]), CUresult::CUDA_SUCCESS, Ok((largest, count)))
}

fn refused(grid: [u32; 3], cluster: Option<[u32; 3]>) -> Row {
    (grid, cluster, REFUSED, Err(REFUSED))
}

fn check(driver: &Driver, function: CUfunction, memory: CUdeviceptr, rows: &[Row]) -> TestResult {
    for (grid, cluster, launched, occupancy) in rows {
        let clusters = Clusters::new(*grid, *cluster, 32, 0);
        assert_eq!(code_of(clusters.launch(driver, function, memory)), *launched, "{grid:?} in {cluster:?}");
        assert_eq!(clusters.occupancy(driver, function), *occupancy, "{grid:?} in {cluster:?}");
    }
    Ok(call!(driver.cuCtxSynchronize())?)
}

driver_tests! {
    fn a_grid_is_one_of_clusters_where_the_kernel_says_so(driver) {
        let _primary = Primary::of(driver, 0)?;
        let text = ".version 9.0\n.target sm_90\n.address_size 64
            .visible .entry f(.param .u64 p) .blocksareclusters .reqntid 32 .reqnctapercluster 2 {
            .reg .b32 %r<4>; .reg .b64 %rd<2>; ld.param.u64 %rd1, [p];
            atom.global.add.u32 %r0, [%rd1], 1; mov.u32 %r1, %nctaid.x; st.global.u32 [%rd1+4], %r1;
            mov.u32 %r2, %nclusterid.x; st.global.u32 [%rd1+8], %r2; ret; }
            .visible .entry only(.param .u64 p) .explicitcluster { ret; }";
        let module = Module::load(driver, &CString::new(text)?)?;
        let (function, memory) = (module.function("f")?, upload(driver, &[0; 3])?);
        for threads in [32, 1] {
            call!(driver.cuMemsetD32_v2(memory, 0, 3))?;
            launch(driver, function, (3, threads), null_mut(), &mut arguments!(memory))?;
            assert_eq!(download(driver, memory, 3)?, [192, 6, 3], "blocks of {threads}");
        }
        let alone = launch(driver, module.function("only")?, (4, 32), null_mut(), &mut arguments!(memory));
        assert_eq!(code_of(alone), REFUSED);
        call!(driver.cuMemFree_v2(memory))?;
    }

    fn clusters_have_eight_blocks_at_most_unless_more_are_allowed(driver) {
        let _primary = Primary::of(driver, 0)?;
        let (module, memory) = (module(driver)?, upload(driver, &[0; 16])?);
        let plain = module.function("plain")?;
        let done = CUresult::CUDA_SUCCESS;
        check(driver, plain, memory, &[
            ([3, 1, 1], None, done, Ok((8, 0))),
            row(16, 1, 8, 1056), row(4, 2, 8, 528), row(12, 3, 8, 327), row(4, 4, 8, 248), row(10, 5, 8, 193), row(64, 8, 8, 124),
            ([4, 2, 1], Some([2, 2, 1]), done, Ok((8, 248))),
            ([1, 1, 2], Some([1, 1, 2]), done, Ok((8, 528))),
            refused([3, 1, 1], Some([2, 1, 1])),
            refused([4, 1, 1], Some([0, 1, 1])),
            refused([9, 1, 1], Some([9, 1, 1])),
            refused([16, 1, 1], Some([16, 1, 1])),
            refused([1, 16, 1], Some([1, 16, 1])),
        ])?;
        call!(driver.cuFuncSetAttribute(plain, Attribute::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1))?;
        check(driver, plain, memory, &[
            row(4, 2, 16, 528), row(9, 9, 16, 102), row(16, 16, 16, 58),
            ([1, 16, 1], Some([1, 16, 1]), done, Ok((16, 58))),
            ([32, 1, 1], Some([32, 1, 1]), REFUSED, Ok((16, 0))),
        ])?;
        call!(driver.cuMemFree_v2(memory))?;
    }

    fn resources_of_blocks_limit_the_number_of_clusters(driver) {
        let _primary = Primary::of(driver, 0)?;
        let module = module(driver)?;
        let plain = module.function("plain")?;
        for (threads, shared, counts) in [
            (1024, 0, [264, 132, 62, 30]),
            (512, 0, [528, 264, 124, 62]),
            (256, 0, [1056, 528, 248, 124]),
            (1024, 40_000, [264, 132, 62, 30]),
            (32, 40_000, [660, 330, 154, 77]),
            (32, 49_152, [528, 264, 124, 62]),
        ] {
            for (size, count) in [1, 2, 4, 8].into_iter().zip(counts) {
                let clusters = Clusters::new([size * 4, 1, 1], Some([size, 1, 1]), threads, shared);
                assert_eq!(clusters.occupancy(driver, plain), Ok((8, count)), "{threads} threads, {shared} bytes, {size}");
            }
        }
        let too_much = Clusters::new([4, 1, 1], Some([2, 1, 1]), 32, 60_000);
        assert_eq!(too_much.occupancy(driver, plain), Ok((0, 0)));
        let clusters = Clusters::new([4, 1, 1], Some([2, 1, 1]), 32, 0);
        assert_eq!(clusters.occupancy(driver, module.function("shared")?), Ok((8, 330)));
        answers!(driver.cuOccupancyMaxActiveClusters(null_mut(), plain, &clusters.config), CUDA_ERROR_INVALID_VALUE);
    }

    fn cluster_attributes_of_a_kernel_are_enforced(driver) {
        let _primary = Primary::of(driver, 0)?;
        let (module, memory) = (module(driver)?, upload(driver, &[0; 16])?);
        let done = CUresult::CUDA_SUCCESS;
        let get = |function, attribute| {
            let mut value = -1;
            call!(driver.cuFuncGetAttribute(&mut value, Attribute(attribute), function)).map(|()| value)
        };
        let (two, square, large, four) =
            (module.function("two")?, module.function("square")?, module.function("large")?, module.function("four")?);
        let attributes = |function| -> Result<[i32; 5], Error> {
            Ok([get(function, 10)?, get(function, 11)?, get(function, 12)?, get(function, 13)?, get(function, 14)?])
        };
        assert_eq!(attributes(two)?, [1, 2, 1, 1, 0]);
        assert_eq!(attributes(square)?, [1, 2, 2, 1, 0]);
        assert_eq!(attributes(four)?, [0; 5]);
        check(driver, two, memory, &[
            ([4, 1, 1], None, done, Ok((8, 528))), row(4, 2, 8, 528), refused([3, 1, 1], None),
            refused([4, 1, 1], Some([4, 1, 1])), refused([16, 1, 1], Some([1, 1, 1])),
        ])?;
        check(driver, square, memory, &[([4, 2, 1], Some([2, 2, 1]), done, Ok((8, 248))), refused([4, 1, 1], None)])?;
        check(driver, large, memory, &[refused([16, 1, 1], None), refused([16, 1, 1], Some([16, 1, 1]))])?;
        call!(driver.cuFuncSetAttribute(large, Attribute::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1))?;
        check(driver, large, memory, &[([16, 1, 1], None, done, Ok((16, 58)))])?;
        check(driver, four, memory, &[
            row(12, 3, 8, 327), row(4, 4, 8, 248), refused([10, 1, 1], Some([5, 1, 1])), refused([8, 1, 1], Some([8, 1, 1])),
        ])?;
        call!(driver.cuMemFree_v2(memory))?;
    }

    fn clusters_are_required_of_a_kernel_by_its_attributes(driver) {
        let _primary = Primary::of(driver, 0)?;
        let (module, memory) = (module(driver)?, upload(driver, &[0; 16])?);
        let (plain, two) = (module.function("plain")?, module.function("two")?);
        for axis in [11, 12, 13] {
            call!(driver.cuFuncSetAttribute(plain, Attribute(axis), 2))?;
            answers!(driver.cuFuncSetAttribute(plain, Attribute(axis), -1), CUDA_ERROR_INVALID_VALUE);
        }
        answers!(driver.cuFuncSetAttribute(plain, Attribute(15), -1), CUDA_ERROR_INVALID_VALUE);
        for (blocks, expected) in [([4, 1, 1], REFUSED), ([4, 4, 4], CUresult::CUDA_SUCCESS)] {
            assert_eq!(code_of(Clusters::new(blocks, None, 32, 0).launch(driver, plain, memory)), expected);
        }
        let other = Clusters::new([4, 1, 1], Some([2, 1, 1]), 32, 0);
        assert_eq!(code_of(other.launch(driver, plain, memory)), REFUSED);
        call!(driver.cuFuncSetAttribute(two, Attribute(11), 2))?;
        answers!(driver.cuFuncSetAttribute(two, Attribute(12), 2), CUDA_ERROR_INVALID_VALUE);
        call!(driver.cuCtxSynchronize())?;
        call!(driver.cuMemFree_v2(memory))?;
    }

    fn blocks_of_a_cluster_reach_each_other(driver) {
        let _primary = Primary::of(driver, 0)?;
        let (module, memory) = (module(driver)?, upload(driver, &[0; 64])?);
        let neighbours = module.function("neighbours")?;
        for size in [2, 4, 8] {
            Clusters::new([64, 1, 1], Some([size, 1, 1]), 1, 0).launch(driver, neighbours, memory)?;
            let expected: Vec<u32> = (0..64).map(|block| (block ^ 1) * 100 + block % size).collect();
            assert_eq!(download(driver, memory, 64)?, expected, "in clusters of {size}");
        }
        call!(driver.cuMemFree_v2(memory))?;
    }
}

#[test]
fn a_block_that_reaches_for_one_that_is_not_there_ends_the_kernel() -> TestResult {
    let (machine, driver) = open(Topology::preset("h200")?, Mode::Threads)?;
    let driver = &driver;
    let mut context = null_mut();
    call!(driver.cuDevicePrimaryCtxRetain(&mut context, 0))?;
    call!(driver.cuCtxSetCurrent(context))?;
    let (module, memory) = (module(driver)?, upload(driver, &[0])?);
    // Alone in its cluster, it has no neighbour.
    launch(driver, module.function("neighbours")?, (1, 1), null_mut(), &mut arguments!(memory))?;
    answers!(driver.cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
    let reason = machine.log().pop().expect("it is logged").reason;
    assert!(reason.contains("shared memory of block 1 of a cluster of 1"), "{reason}");
    Ok(())
}

#[test]
fn a_device_without_clusters_refuses_them() -> TestResult {
    let (_machine, driver) = open(Topology::preset("hgx-a100-4")?, Mode::Sync)?;
    let driver = &driver;
    let _primary = Primary::of(driver, 0)?;
    let text = c".version 8.3\n.target sm_75\n.address_size 64\n.visible .entry plain(.param .u64 p) { ret; }";
    let module = Module::load(driver, &text.to_owned())?;
    let clusters = Clusters::new([4, 1, 1], Some([2, 1, 1]), 32, 0);
    let refused = code_of(clusters.launch(driver, module.function("plain")?, 0));
    assert_eq!(refused, CUresult::CUDA_ERROR_NOT_SUPPORTED);
    Ok(())
}
