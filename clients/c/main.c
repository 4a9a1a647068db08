/* A program in C that knows the driver by its library's name alone. Reports in TAP; exit code 1 if a check failed. */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>

static const Check *const groups[] = {before_init, names, every_name, devices, streams,
                                      memory,      peers, kernels,    legacy,  misuse,  threads};
enum { GROUPS = sizeof groups / sizeof *groups };

CUdevice device[2];
CUcontext context[2];

/* What every group but the first needs. */
static CUresult start(void) {
    CUresult result = cuInit(0);
    for (int at = 0; at < 2 && result == CUDA_SUCCESS; at++) {
        result = cuDeviceGet(&device[at], at);
        if (result == CUDA_SUCCESS) {
            result = cuDevicePrimaryCtxRetain(&context[at], device[at]);
        }
    }
    return result == CUDA_SUCCESS ? cuCtxSetCurrent(context[0]) : result;
}

int main(void) {
    int planned = late_checks, failed = 0;
    for (int group = 0; group < GROUPS; group++) {
        for (const Check *check = groups[group]; check->function != NULL; check++) {
            planned += 1;
        }
    }
    printf("1..%d\n", planned);
    if (!driver_open()) {
        return EXIT_FAILURE;
    }
    for (int group = 0; group < GROUPS; group++) {
        if (groups[group] == devices) {
            CUresult result = start();
            if (result != CUDA_SUCCESS) {
                printf("# two devices cannot be started: code %d\n", result);
                return EXIT_FAILURE;
            }
        }
        for (const Check *check = groups[group]; check->function != NULL; check++) {
            failed += check_run(*check);
        }
    }
    late_prepare();
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
