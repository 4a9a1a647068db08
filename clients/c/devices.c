/* Devices: how many, who they are, what they can do. The machine has eight H100. */
#include "check.h"

#include <string.h>

static void there_are_eight(void) {
    int count = 0;
    WORKS(cuDeviceGetCount(&count));
    HOLDS(count == 8);
    CUdevice last = -1;
    WORKS(cuDeviceGet(&last, 7));
    HOLDS(last != device[0] && last != device[1]);
}

static void a_device_has_a_name_and_memory(void) {
    char name[64] = "";
    size_t bytes = 0;
    WORKS(cuDeviceGetName(name, sizeof name, device[0]));
    HOLDS(strstr(name, "H100") != NULL);
    WORKS(cuDeviceTotalMem_v2(&bytes, device[0]));
    HOLDS(bytes > (size_t)64 << 30);
    char short_name[4];
    WORKS(cuDeviceGetName(short_name, sizeof short_name, device[0]));
    HOLDS(strncmp(short_name, name, 3) == 0 && short_name[3] == 0);
}

static void a_device_is_found_by_its_address(void) {
    char address[32] = "";
    CUdevice found = -1;
    WORKS(cuDeviceGetPCIBusId(address, sizeof address, device[1]));
    WORKS(cuDeviceGetByPCIBusId(&found, address));
    HOLDS(found == device[1]);
}

static void no_two_devices_have_the_same_identifier(void) {
    CUuuid first, second;
    WORKS(cuDeviceGetUuid_v2(&first, device[0]));
    WORKS(cuDeviceGetUuid_v2(&second, device[1]));
    HOLDS(memcmp(&first, &second, sizeof first) != 0);
}

static void attributes_are_those_of_the_model(void) {
    static const struct {
        int attribute, value;
    } expected[] = {
        {MAX_THREADS_PER_BLOCK, 1024}, {WARP_SIZE, 32},
        {MULTIPROCESSOR_COUNT, 132},   {UNIFIED_ADDRESSING, 1},
        {COMPUTE_CAPABILITY_MAJOR, 9}, {COMPUTE_CAPABILITY_MINOR, 0},
        {MEMORY_POOLS_SUPPORTED, 1},
    };
    for (size_t at = 0; at < sizeof expected / sizeof *expected; at++) {
        int value = -1;
        WORKS(cuDeviceGetAttribute(&value, expected[at].attribute, device[0]));
        HOLDS(value == expected[at].value);
    }
}

static void what_is_no_device_or_attribute_is_refused(void) {
    CUdevice none;
    int value;
    char name[8];
    ANSWERS(cuDeviceGet(&none, 8), CUDA_ERROR_INVALID_DEVICE);
    ANSWERS(cuDeviceGet(&none, -1), CUDA_ERROR_INVALID_DEVICE);
    ANSWERS(cuDeviceGetAttribute(&value, WARP_SIZE, 99), CUDA_ERROR_INVALID_DEVICE);
    ANSWERS(cuDeviceGetAttribute(&value, 100000, device[0]), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuDeviceGetName(name, sizeof name, 99), CUDA_ERROR_INVALID_DEVICE);
    ANSWERS(cuDeviceGetByPCIBusId(&none, "nowhere"), CUDA_ERROR_INVALID_VALUE);
}

const Check devices[] = {
    {"there are eight devices", there_are_eight},
    {"a device has a name and memory", a_device_has_a_name_and_memory},
    {"a device is found by its address", a_device_is_found_by_its_address},
    {"no two devices have the same identifier", no_two_devices_have_the_same_identifier},
    {"attributes are those of the model", attributes_are_those_of_the_model},
    {"what is no device or attribute is refused", what_is_no_device_or_attribute_is_refused},
    {NULL, NULL},
};
