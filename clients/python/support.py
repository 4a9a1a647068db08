"""What the checks share."""

import ctypes

import numpy
from cuda.bindings import driver
from cuda.core import LegacyPinnedMemoryResource


def call(answer):
    """The results of a driver call of the bindings, if it worked."""
    code, *results = answer
    assert code == driver.CUresult.CUDA_SUCCESS, code
    return results[0] if len(results) == 1 else results


def refused(answer, code):
    """Whether a driver call of the bindings answered with a code."""
    assert answer[0] == code, f"{answer[0]!r} instead of {code!r}"


def pinned(size):
    """Pinned memory, and the same as an array."""
    buffer = LegacyPinnedMemoryResource().allocate(size)
    return buffer, numpy.from_dlpack(buffer).view(numpy.uint8)


def pattern(size, seed=0):
    """Bytes that differ from their neighbours, and from those of another seed."""
    return ((numpy.arange(size) * 31 + seed * 97 + 1) % 253).astype(numpy.uint8)


class Latch:
    """Pinned memory that holds a stream until it is opened."""

    def __init__(self):
        self.buffer, _ = pinned(4)
        self.word = ctypes.c_uint32.from_address(int(self.buffer.handle))
        self.word.value = 0

    def hold(self, stream):
        at_least = driver.CUstreamWaitValue_flags.CU_STREAM_WAIT_VALUE_GEQ
        call(driver.cuStreamWaitValue32(stream.handle, int(self.buffer.handle), 1, at_least))

    def open(self):
        self.word.value = 1
