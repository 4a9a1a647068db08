"""Memory: from pools and pinned; copies both ways and on the device."""

import numpy
from cuda.bindings import driver
from cuda.core import Device, DeviceMemoryResource, DeviceMemoryResourceOptions, PinnedMemoryResource

from support import call, pattern, pinned

SIZE = 100003


def bytes_come_back_as_they_went():
    device = Device(0)
    stream = device.create_stream()
    (up, sent), (down, received) = pinned(SIZE), pinned(SIZE)
    sent[:], received[:] = pattern(SIZE, 2), 0
    first = device.allocate(SIZE, stream=stream)
    up.copy_to(first, stream=stream)
    second = first.copy_to(stream=stream)
    first.close(stream)
    second.copy_to(down, stream=stream)
    stream.sync()
    assert (received == pattern(SIZE, 2)).all()
    second.close(stream)


def ordinary_memory_is_copied_by_the_bindings():
    device = Device(0)
    stream = device.create_stream()
    sent, received = pattern(SIZE, 3), numpy.zeros(SIZE, numpy.uint8)
    there = device.allocate(SIZE, stream=stream)
    stream.sync()
    call(driver.cuMemcpyHtoD(int(there.handle), sent.ctypes.data, SIZE))
    call(driver.cuMemcpyDtoH(received.ctypes.data, int(there.handle), SIZE))
    assert (received == sent).all()
    there.close(stream)


def a_pool_of_its_own_says_what_is_in_use():
    device = Device(0)
    stream = device.create_stream()
    pool = DeviceMemoryResource(device, DeviceMemoryResourceOptions(max_size=32 << 20))
    assert pool.is_device_accessible and not pool.is_host_accessible
    there = pool.allocate(1 << 20, stream=stream)
    assert pool.attributes.used_mem_current >= 1 << 20
    there.close(stream)
    stream.sync()
    assert pool.attributes.used_mem_current == 0
    assert pool.attributes.used_mem_high >= 1 << 20
    pool.close()


def pinned_memory_comes_from_a_pool_too():
    device = Device(0)
    stream = device.create_stream()
    buffer = PinnedMemoryResource().allocate(SIZE, stream=stream)
    stream.sync()
    assert buffer.is_host_accessible and buffer.is_device_accessible
    array = numpy.from_dlpack(buffer).view(numpy.uint8)
    array[:] = pattern(SIZE, 4)
    there = device.allocate(SIZE, stream=stream)
    there.copy_from(buffer, stream=stream)
    stream.sync()
    array[:] = 0
    there.copy_to(buffer, stream=stream)
    stream.sync()
    assert (array == pattern(SIZE, 4)).all()
    del array
    buffer.close(stream)
    there.close(stream)


def a_fill_repeats_its_pattern():
    device = Device(0)
    stream = device.create_stream()
    (down, received), there = pinned(4096), device.allocate(4096, stream=stream)
    there.fill(b"\x01\x02\x03\x04", stream=stream)
    there.copy_to(down, stream=stream)
    stream.sync()
    assert received.tobytes() == b"\x01\x02\x03\x04" * 1024
    there.close(stream)


CHECKS = [
    bytes_come_back_as_they_went,
    ordinary_memory_is_copied_by_the_bindings,
    a_pool_of_its_own_says_what_is_in_use,
    pinned_memory_comes_from_a_pool_too,
    a_fill_repeats_its_pattern,
]
