"""What a program can get wrong, and the error it gets for it."""

from cuda.bindings import driver
from cuda.core import Device

from support import call, refused


def raises(kind, word, function):
    """Whether an error of a kind comes up, with a word in its text."""
    try:
        function()
    except kind as error:
        assert word in str(error), error
    else:
        raise AssertionError(f"no {kind.__name__}")


def a_device_that_is_not_there_is_refused():
    raises(ValueError, "8", lambda: Device(8))
    refused(driver.cuDeviceGet(8), driver.CUresult.CUDA_ERROR_INVALID_DEVICE)


def more_memory_than_there_is_is_refused():
    device = Device(0)
    stream = device.create_stream()
    raises(Exception, "CUDA_ERROR_OUT_OF_MEMORY", lambda: device.allocate(1 << 50, stream=stream))
    device.allocate(256, stream=stream).close(stream)


def memory_is_freed_once():
    there = call(driver.cuMemAlloc(256))
    call(driver.cuMemFree(there))
    refused(driver.cuMemFree(there), driver.CUresult.CUDA_ERROR_INVALID_VALUE)


def an_unknown_flag_or_attribute_is_refused():
    refused(driver.cuStreamCreate(1024), driver.CUresult.CUDA_ERROR_INVALID_VALUE)
    refused(driver.cuInit(1), driver.CUresult.CUDA_ERROR_INVALID_VALUE)


def an_error_has_a_name_and_a_text():
    code = driver.CUresult.CUDA_ERROR_INVALID_CONTEXT
    assert call(driver.cuGetErrorName(code)) == b"CUDA_ERROR_INVALID_CONTEXT"
    assert call(driver.cuGetErrorString(code))


CHECKS = [
    a_device_that_is_not_there_is_refused,
    more_memory_than_there_is_is_refused,
    memory_is_freed_once,
    an_unknown_flag_or_attribute_is_refused,
    an_error_has_a_name_and_a_text,
]
