#include "driver.h"

#include <dlfcn.h>
#include <stdio.h>

#define DEFINE(name, parameters) CUresult(*name) parameters;
FUNCTIONS(DEFINE)
#undef DEFINE

void *driver_library;

int driver_open(void) {
    driver_library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (driver_library == NULL) {
        printf("# %s\n", dlerror());
        return 0;
    }
#define FIND(name, parameters)                                                                                         \
    *(void **)&name = dlsym(driver_library, #name);                                                                    \
    if (name == NULL) {                                                                                                \
        printf("# libcuda.so.1 does not export %s\n", #name);                                                          \
        return 0;                                                                                                      \
    }
    FUNCTIONS(FIND)
#undef FIND
    return 1;
}
