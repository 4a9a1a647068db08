//! Census: counts of live resources.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::{null_mut, without_provenance_mut};

use warploom_sim::topology::Topology;
use warploom_sim::{Machine, Mode, Resource};
use warploom_sys::types::{
    CUmemAllocationHandleType, CUmemAllocationProp, CUmemAllocationType, CUmemLocation, CUmemLocationType,
    CUmemPoolProps, CUmemPoolPtrExportData, CUstreamCaptureMode,
};
use warploom_testkit::{TestResult, call, open, pool_properties};

const MIB: usize = 1 << 20;

fn machine() -> TestResult<(Machine, warploom_driver::Driver)> {
    open(Topology::preset("pcie-pair")?, Mode::Sync)
}

fn here() -> CUmemLocation {
    CUmemLocation::new(CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, 0)
}

const DESCRIPTOR: CUmemAllocationHandleType = CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

fn properties() -> CUmemPoolProps {
    CUmemPoolProps { handleTypes: DESCRIPTOR, ..pool_properties(here()) }
}

/// Makes one of everything, and gives it back in the end.
#[test]
fn every_kind_is_counted_from_when_it_is_made_to_when_it_is_given_back() -> TestResult {
    let (machine, driver) = machine()?;
    let before = machine.census();
    let (mut primary, mut other, mut created) = (null_mut(), null_mut(), null_mut());
    call!(driver.cuDevicePrimaryCtxRetain(&mut primary, 0))?;
    call!(driver.cuDevicePrimaryCtxRetain(&mut other, 1))?;
    call!(driver.cuCtxCreate_v2(&mut created, 0, 0))?;
    call!(driver.cuCtxSetCurrent(primary))?;
    call!(driver.cuCtxEnablePeerAccess(other, 0))?;
    let (mut stream, mut event, mut pool) = (null_mut(), null_mut(), null_mut());
    call!(driver.cuStreamCreate(&mut stream, 1))?;
    call!(driver.cuEventCreate(&mut event, 0))?;
    call!(driver.cuMemPoolCreate(&mut pool, &properties()))?;
    let (mut plain, mut managed, mut pooled, mut pinned, mut own) = (0, 0, 0, null_mut(), vec![0_u8; 4096]);
    call!(driver.cuMemAlloc_v2(&mut plain, 64))?;
    call!(driver.cuMemAllocManaged(&mut managed, 64, 1))?;
    call!(driver.cuMemAllocFromPoolAsync(&mut pooled, 64, pool, stream))?;
    call!(driver.cuMemHostAlloc(&mut pinned, 64, 0))?;
    call!(driver.cuMemHostRegister_v2(own.as_mut_ptr().cast(), own.len(), 0))?;
    let (mut physical, mut address) = (0, 0);
    // SAFETY: all of its fields are numbers and pointers that may be zero.
    #[expect(unsafe_code, reason = "a C structure of zeros")]
    let mut memory: CUmemAllocationProp = unsafe { std::mem::zeroed() };
    memory.type_ = CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
    memory.location = here();
    call!(driver.cuMemCreate(&mut physical, 2 * MIB, &memory, 0))?;
    call!(driver.cuMemAddressReserve(&mut address, 2 * MIB, 0, 0, 0))?;
    call!(driver.cuMemMap(address, 2 * MIB, 0, physical, 0))?;
    let (mut module, mut library, mut linker) = (null_mut(), null_mut(), null_mut());
    let text = c".version 8.0 .target sm_75 .address_size 64 .visible .global .u32 counter;".as_ptr().cast();
    call!(driver.cuModuleLoadData(&mut module, text))?;
    call!(driver.cuLibraryLoadData(&mut library, text, null_mut(), null_mut(), 0, null_mut(), null_mut(), 0))?;
    call!(driver.cuLinkCreate_v2(0, null_mut(), null_mut(), &mut linker))?;

    let (mut graph, mut executable, mut of_graph) = (null_mut(), null_mut(), 0);
    call!(driver.cuStreamBeginCapture_v2(stream, CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED))?;
    call!(driver.cuMemAllocAsync(&mut of_graph, 64, stream))?;
    call!(driver.cuStreamEndCapture(stream, &mut graph))?;
    call!(driver.cuGraphInstantiateWithFlags(&mut executable, graph, 0))?;
    call!(driver.cuGraphLaunch(executable, stream))?;

    let (mut file, mut foreign, mut imported) = (-1_i32, null_mut(), 0);
    call!(driver.cuMemPoolExportToShareableHandle((&raw mut file).cast(), pool, DESCRIPTOR, 0))?;
    #[expect(unsafe_code, reason = "takes a file descriptor over from the driver")]
    // SAFETY: an exported file descriptor is the program's to close, and nobody else has this one.
    let file = unsafe { OwnedFd::from_raw_fd(file) };
    let handle = without_provenance_mut(file.as_raw_fd() as usize);
    call!(driver.cuMemPoolImportFromShareableHandle(&mut foreign, handle, DESCRIPTOR, 0))?;
    let mut data = CUmemPoolPtrExportData { reserved: [0; 64] };
    call!(driver.cuMemPoolExportPointer(&mut data, pooled))?;
    call!(driver.cuMemPoolImportPointer(&mut imported, foreign, &mut data))?;

    let made = machine.census();
    for resource in Resource::ALL {
        let expected = if matches!(resource, Resource::PrimaryRetain | Resource::Pool) { 2 } else { 1 };
        assert_eq!(made.live(*resource) - before.live(*resource), expected, "{resource:?}");
    }
    assert_eq!(made.current(), [primary.addr() as u64]);
    assert_eq!(
        made.since(&before).to_string(),
        "1 context, 2 retained primary contexts, 1 stream, 1 event, 2 memory pools, 1 device allocation, \
         1 page-locked allocation, 1 registration of host memory, 1 managed allocation, 1 pool allocation, \
         1 graph allocation, 1 imported allocation, 1 physical allocation, 1 address reservation, 1 mapping, 1 module, \
         1 library, 1 graph, 1 executable graph, 1 linker, 1 peer access, other current contexts"
    );

    call!(driver.cuMemFreeAsync(imported, stream))?;
    call!(driver.cuMemPoolDestroy(foreign))?;
    call!(driver.cuMemFreeAsync(of_graph, stream))?;
    call!(driver.cuGraphExecDestroy(executable))?;
    call!(driver.cuGraphDestroy(graph))?;
    call!(driver.cuLinkDestroy(linker))?;
    call!(driver.cuLibraryUnload(library))?;
    call!(driver.cuModuleUnload(module))?;
    call!(driver.cuMemUnmap(address, 2 * MIB))?;
    call!(driver.cuMemAddressFree(address, 2 * MIB))?;
    call!(driver.cuMemRelease(physical))?;
    call!(driver.cuMemHostUnregister(own.as_mut_ptr().cast()))?;
    call!(driver.cuMemFreeHost(pinned))?;
    call!(driver.cuMemFreeAsync(pooled, stream))?;
    call!(driver.cuMemFree_v2(managed))?;
    call!(driver.cuMemFree_v2(plain))?;
    call!(driver.cuMemPoolDestroy(pool))?;
    call!(driver.cuEventDestroy_v2(event))?;
    call!(driver.cuStreamDestroy_v2(stream))?;
    call!(driver.cuCtxDisablePeerAccess(other))?;
    call!(driver.cuCtxSetCurrent(null_mut()))?;
    call!(driver.cuCtxDestroy_v2(created))?;
    call!(driver.cuDevicePrimaryCtxRelease_v2(1))?;
    call!(driver.cuDevicePrimaryCtxRelease_v2(0))?;
    let change = machine.census().since(&before);
    assert!(change.is_empty(), "{change}");
    assert_eq!(change.to_string(), "nothing");
    Ok(())
}

#[test]
fn objects_destroyed_with_their_context_count_as_leaked() -> TestResult {
    let (machine, driver) = machine()?;
    let before = machine.census();
    let mut context = null_mut();
    call!(driver.cuCtxCreate_v2(&mut context, 0, 0))?;
    call!(driver.cuStreamCreate(&mut null_mut(), 1))?;
    call!(driver.cuEventCreate(&mut null_mut(), 0))?;
    call!(driver.cuEventCreate(&mut null_mut(), 0))?;
    call!(driver.cuMemAlloc_v2(&mut 0, 64))?;
    call!(driver.cuCtxDestroy_v2(context))?;
    let change = machine.census().since(&before);
    assert_eq!(
        change.to_string(),
        "1 stream gone with its context, 2 events gone with their context, 1 device allocation gone with its context"
    );
    Ok(())
}
