"""Several processes: events, memory and buffers of pools that workers open, and children of fork."""

import ctypes
import multiprocessing
import os
import sys
import traceback

import numpy
from cuda.bindings import driver
from cuda.core import Device, DeviceMemoryResource, DeviceMemoryResourceOptions, EventOptions

from support import Latch, call, pattern, pinned

SIZE = 100003
SECONDS = 30


def run(work, pipe):
    """Runs a worker's part; exit code 1 if it fails."""
    try:
        # Events and buffers can be received once a context is current.
        Device(0).set_current()
        pipe.send("ready")
        work(pipe, *pipe.recv())
    except Exception:
        traceback.print_exc()
        sys.exit(1)


class Worker:
    """A process that works until its part is done."""

    def __init__(self, method, work, *arguments):
        # The packages warn of the method "fork", where it is the default.
        multiprocessing.set_start_method("spawn", force=True)
        context = multiprocessing.get_context(method)
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=run, args=(work, theirs), daemon=True)
        self.process.start()
        theirs.close()
        assert self.hear() == "ready"
        self.pipe.send(arguments)

    def hear(self):
        assert self.pipe.poll(SECONDS), "the worker says nothing"
        return self.pipe.recv()

    def end(self):
        self.process.join(SECONDS)
        assert self.process.exitcode == 0, f"the worker ended with {self.process.exitcode}"
        self.process.close()


def awaits(pipe, event):
    stream = Device().create_stream()
    assert event.is_ipc_enabled and not event.is_done
    stream.wait(event)
    pipe.send("waiting")
    stream.sync()
    assert event.is_done
    event.close()


def an_event_is_awaited_by_workers():
    device = Device(0)
    device.set_current()
    for method in ("spawn", "forkserver"):
        stream, latch = device.create_stream(), Latch()
        latch.hold(stream)
        event = stream.record(options=EventOptions(ipc_enabled=True))
        worker = Worker(method, awaits, event)
        assert worker.hear() == "waiting"
        latch.open()
        worker.end()
        stream.sync()
        event.close()


def doubles(pipe, reserved):
    handle = driver.CUipcMemHandle()
    ctypes.memmove(handle.getPtr(), reserved, len(reserved))
    flags = driver.CUipcMem_flags.CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS.value
    memory = call(driver.cuIpcOpenMemHandle(handle, flags))
    array = numpy.zeros(SIZE, numpy.uint8)
    call(driver.cuMemcpyDtoH(array.ctypes.data, memory, SIZE))
    assert (array == pattern(SIZE, 5)).all()
    array *= 2
    call(driver.cuMemcpyHtoD(memory, array.ctypes.data, SIZE))
    call(driver.cuIpcCloseMemHandle(memory))


def memory_is_opened_by_workers_and_written_back():
    Device(0).set_current()
    memory, array = call(driver.cuMemAlloc(SIZE)), pattern(SIZE, 5)
    call(driver.cuMemcpyHtoD(memory, array.ctypes.data, SIZE))
    handle = call(driver.cuIpcGetMemHandle(memory))
    Worker("spawn", doubles, ctypes.string_at(handle.getPtr(), 64)).end()
    call(driver.cuMemcpyDtoH(array.ctypes.data, memory, SIZE))
    assert (array == pattern(SIZE, 5) * numpy.uint8(2)).all()
    call(driver.cuMemFree(memory))


def sends_a_buffer_back(pipe, buffer, event):
    device = Device()
    stream, (host, array) = device.create_stream(), pinned(SIZE)
    stream.wait(event)
    buffer.copy_to(host, stream=stream)
    stream.sync()
    assert (array == pattern(SIZE, 6)).all()
    array[:] = pattern(SIZE, 7)
    host.copy_to(buffer, stream=stream)
    stream.sync()
    buffer.close(stream)
    stream.sync()


def a_buffer_of_a_pool_is_shared_with_workers():
    device = Device(0)
    device.set_current()
    pool = DeviceMemoryResource(device, DeviceMemoryResourceOptions(max_size=2 << 20, ipc_enabled=True))
    for method in ("spawn", "forkserver"):
        stream, (host, array) = device.create_stream(), pinned(SIZE)
        buffer = pool.allocate(SIZE, stream=stream)
        array[:] = pattern(SIZE, 6)
        host.copy_to(buffer, stream=stream)
        event = stream.record(options=EventOptions(ipc_enabled=True))
        Worker(method, sends_a_buffer_back, buffer, event).end()
        buffer.copy_to(host, stream=stream)
        stream.sync()
        assert (array == pattern(SIZE, 7)).all()
        buffer.close(stream)
        event.close()
    pool.close()


def a_child_of_fork_finds_no_driver():
    Device(0).set_current()
    child = os.fork()
    if child == 0:
        codes = [driver.cuDeviceGetCount()[0], driver.cuStreamCreate(0)[0], driver.cuMemAlloc(64)[0]]
        os._exit(0 if set(codes) == {driver.CUresult.CUDA_ERROR_NOT_INITIALIZED} else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    call(driver.cuMemFree(call(driver.cuMemAlloc(64))))


CHECKS = [
    an_event_is_awaited_by_workers,
    memory_is_opened_by_workers_and_written_back,
    a_buffer_of_a_pool_is_shared_with_workers,
    a_child_of_fork_finds_no_driver,
]
