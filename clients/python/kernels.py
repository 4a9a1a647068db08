"""Kernels from PTX: by cuda.core and by the bindings, on one device and on all."""

import ctypes
import pathlib

import numpy
from cuda.bindings import driver
from cuda.core import Device, LaunchConfig, ObjectCode, launch

from support import call, pinned, refused

SAXPY = (pathlib.Path(__file__).parent.parent / "saxpy.ptx").read_bytes()
N = 1000


def numbers(scale):
    return (numpy.arange(N) * scale - 7).astype(numpy.float32)


def upload(device, stream, values):
    buffer, there = pinned(values.nbytes), device.allocate(values.nbytes, stream=stream)
    buffer[1][:] = values.view(numpy.uint8)
    buffer[0].copy_to(there, stream=stream)
    stream.sync()
    return there


def download(stream, there, dtype):
    buffer, array = pinned(there.size)
    there.copy_to(buffer, stream=stream)
    stream.sync()
    return array.view(dtype).copy()


def computes(device, cooperative=False):
    device.set_current()
    stream = device.create_stream()
    kernel = ObjectCode.from_ptx(SAXPY).get_kernel("saxpy")
    x, y = numbers(0.5), numbers(0.25)
    there_x, there_y = upload(device, stream, x), upload(device, stream, y)
    config = LaunchConfig(grid=8, block=128, is_cooperative=cooperative)
    launch(stream, config, kernel, ctypes.c_float(1.5), there_x, there_y, ctypes.c_uint32(N))
    # Numbers of which every product and sum is exact.
    assert (download(stream, there_y, numpy.float32) == 1.5 * x + y).all()


def a_kernel_computes():
    computes(Device(0))


def every_device_runs_the_kernel():
    for device in Device.get_all_devices():
        computes(device)


def a_cooperative_launch_runs_all_blocks():
    computes(Device(0), cooperative=True)


def blocks_share_the_memory_they_are_given():
    device = Device(0)
    device.set_current()
    stream = device.create_stream()
    kernel = ObjectCode.from_ptx(SAXPY).get_kernel("reverse")
    rows = numpy.arange(400, dtype=numpy.uint32)
    there = upload(device, stream, rows)
    launch(stream, LaunchConfig(grid=4, block=100, shmem_size=400), kernel, there)
    assert (download(stream, there, numpy.uint32).reshape(4, 100) == rows.reshape(4, 100)[:, ::-1]).all()


def a_kernel_says_what_it_takes_and_needs():
    device = Device(0)
    device.set_current()
    kernel = ObjectCode.from_ptx(SAXPY).get_kernel("saxpy")
    assert kernel.num_arguments == 4
    assert [(argument.offset, argument.size) for argument in kernel.arguments_info] == [(0, 4), (8, 8), (16, 8), (24, 4)]
    assert kernel.attributes.max_threads_per_block == 1024
    assert kernel.attributes.shared_size_bytes == 0
    assert kernel.occupancy.max_active_blocks_per_multiprocessor(128, 0) >= 1


def a_module_is_loaded_and_launched_by_the_bindings():
    device = Device(0)
    device.set_current()
    stream = device.create_stream()
    module = call(driver.cuModuleLoadData(SAXPY + b"\0"))
    kernel = call(driver.cuModuleGetFunction(module, b"saxpy"))
    counter, size = call(driver.cuModuleGetGlobal(module, b"done"))
    assert size == 4
    x, y = numbers(1.0), numbers(2.0)
    there_x, there_y = upload(device, stream, x), upload(device, stream, y)
    values = (3.0, int(there_x.handle), int(there_y.handle), N)
    types = (ctypes.c_float, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32)
    call(driver.cuLaunchKernel(kernel, 4, 1, 1, 256, 1, 1, 0, stream.handle, (values, types), 0))
    assert (download(stream, there_y, numpy.float32) == 3 * x + y).all()
    done = numpy.zeros(1, numpy.uint32)
    call(driver.cuMemcpyDtoH(done.ctypes.data, counter, 4))
    assert done[0] == N
    call(driver.cuModuleUnload(module))


def a_kernel_that_is_not_there_is_not_found():
    Device(0).set_current()
    module = call(driver.cuModuleLoadData(SAXPY + b"\0"))
    refused(driver.cuModuleGetFunction(module, b"saxpys"), driver.CUresult.CUDA_ERROR_NOT_FOUND)
    call(driver.cuModuleUnload(module))


def text_that_is_no_ptx_is_refused():
    Device(0).set_current()
    refused(
        driver.cuModuleLoadData(b".version 7.0\n.target sm_70\nnonsense\0"), driver.CUresult.CUDA_ERROR_INVALID_PTX
    )


CHECKS = [
    a_kernel_computes,
    every_device_runs_the_kernel,
    a_cooperative_launch_runs_all_blocks,
    blocks_share_the_memory_they_are_given,
    a_kernel_says_what_it_takes_and_needs,
    a_module_is_loaded_and_launched_by_the_bindings,
    a_kernel_that_is_not_there_is_not_found,
    text_that_is_no_ptx_is_refused,
]
