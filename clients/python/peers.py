"""Several devices: copies between them, and access to each other's memory."""

from cuda.bindings import driver
from cuda.core import Device, DeviceMemoryResource, DeviceMemoryResourceOptions

from support import call, pattern, pinned, refused

SIZE = 300007


def every_device_can_reach_every_other():
    for one in range(8):
        for other in range(8):
            assert call(driver.cuDeviceCanAccessPeer(one, other)) == (one != other)
    assert Device(0).can_access_peer(1)


def a_copy_between_devices_needs_no_access():
    here, there = Device(0), Device(1)
    (up, sent), (down, received) = pinned(SIZE), pinned(SIZE)
    sent[:], received[:] = pattern(SIZE, 5), 0
    here.set_current()
    first = here.create_stream()
    source = here.allocate(SIZE, stream=first)
    source.copy_from(up, stream=first)
    filled = first.record()
    there.set_current()
    second = there.create_stream()
    target = there.allocate(SIZE, stream=second)
    second.wait(filled)
    contexts = [call(driver.cuDevicePrimaryCtxRetain(ordinal)) for ordinal in (0, 1)]
    addresses = [int(buffer.handle) for buffer in (source, target)]
    call(driver.cuMemcpyPeerAsync(addresses[1], contexts[1], addresses[0], contexts[0], SIZE, second.handle))
    target.copy_to(down, stream=second)
    second.sync()
    assert (received == pattern(SIZE, 5)).all()
    target.close(second)
    source.close(first)
    for ordinal in (0, 1):
        call(driver.cuDevicePrimaryCtxRelease(ordinal))
    here.set_current()


def a_pool_opens_its_memory_to_a_peer():
    here, there = Device(0), Device(1)
    here.set_current()
    pool = DeviceMemoryResource(here, DeviceMemoryResourceOptions(max_size=32 << 20))
    pool.peer_accessible_by = [there]
    assert pool.peer_accessible_by == {there}
    (up, sent), (down, received) = pinned(SIZE), pinned(SIZE)
    sent[:], received[:] = pattern(SIZE, 6), 0
    first = here.create_stream()
    shared = pool.allocate(SIZE, stream=first)
    shared.copy_from(up, stream=first)
    filled = first.record()
    there.set_current()
    second = there.create_stream()
    second.wait(filled)
    own = there.allocate(SIZE, stream=second)
    own.copy_from(shared, stream=second)
    own.copy_to(down, stream=second)
    second.sync()
    assert (received == pattern(SIZE, 6)).all()
    own.close(second)
    here.set_current()
    shared.close(first)
    first.sync()
    pool.peer_accessible_by = []
    assert pool.peer_accessible_by == set()


def access_is_enabled_and_disabled_once():
    Device(1).set_current()
    peer = call(driver.cuCtxGetCurrent())
    Device(0).set_current()
    call(driver.cuCtxEnablePeerAccess(peer, 0))
    refused(driver.cuCtxEnablePeerAccess(peer, 0), driver.CUresult.CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED)
    call(driver.cuCtxDisablePeerAccess(peer))
    refused(driver.cuCtxDisablePeerAccess(peer), driver.CUresult.CUDA_ERROR_PEER_ACCESS_NOT_ENABLED)


CHECKS = [
    every_device_can_reach_every_other,
    a_copy_between_devices_needs_no_access,
    a_pool_opens_its_memory_to_a_peer,
    access_is_enabled_and_disabled_once,
]
