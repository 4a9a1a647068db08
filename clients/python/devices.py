"""Devices: how many, who they are, what they can do."""

from cuda.bindings import driver
from cuda.core import Device

from support import call, refused


def before_it_is_initialised_the_driver_refuses():
    refused(driver.cuDeviceGetCount(), driver.CUresult.CUDA_ERROR_NOT_INITIALIZED)
    assert call(driver.cuDriverGetVersion()) >= 12000


def there_are_eight_devices():
    assert len(Device.get_all_devices()) == 8
    assert call(driver.cuDeviceGetCount()) == 8


def a_device_has_a_name_and_an_identifier():
    assert "H100" in Device(0).name
    assert len({Device(ordinal).uuid for ordinal in range(8)}) == 8
    assert call(driver.cuDeviceTotalMem(0)) > 64 << 30
    address = call(driver.cuDeviceGetPCIBusId(16, 5))
    assert int(call(driver.cuDeviceGetByPCIBusId(address))) == 5


def properties_are_those_of_the_model():
    properties = Device(0).properties
    assert Device(0).compute_capability == (9, 0)
    assert Device(0).arch == "90"
    assert properties.warp_size == 32
    assert properties.multiprocessor_count == 132
    assert properties.max_threads_per_block == 1024
    assert properties.memory_pools_supported
    assert properties.unified_addressing


def every_property_can_be_read():
    properties = Device(0).properties
    names = [name for name in dir(properties) if not name.startswith("_")]
    assert len(names) > 100
    for name in names:
        getattr(properties, name)


def the_current_device_can_be_changed():
    Device(3).set_current()
    assert Device().device_id == 3
    Device(0).set_current()
    assert Device().device_id == 0


CHECKS = [
    before_it_is_initialised_the_driver_refuses,
    there_are_eight_devices,
    a_device_has_a_name_and_an_identifier,
    properties_are_those_of_the_model,
    every_property_can_be_read,
    the_current_device_can_be_changed,
]
