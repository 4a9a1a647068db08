/* Every function of the CUDA headers: exported under each of its names, and found by name and version. */
#include "check.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* The folder with the headers' names (symbols.txt) and the versions of their ABIs (functions.txt). */
#ifndef SYS_FOLDER
#error "the build says where the lists are"
#endif

static void every_declared_name_is_exported(void) {
    char name[128];
    int count = 0;
    FILE *list = fopen(SYS_FOLDER "/symbols.txt", "r");
    HOLDS(list != NULL);
    while (fscanf(list, "%127s", name) == 1) {
        count += 1;
        if (dlsym(driver_library, name) == NULL) {
            check_failed(__FILE__, __LINE__, name);
        }
    }
    fclose(list);
    HOLDS(count > 700);
}

/* `cuMemAlloc_v2` is asked for as `cuMemAlloc`. */
static void cut_version(char *name) {
    char *last = strrchr(name, '_');
    if (last != NULL && last[1] == 'v' && last[2] != '\0' && strspn(last + 2, "0123456789") == strlen(last + 2)) {
        *last = '\0';
    }
}

static void every_abi_is_found_by_name_and_version(void) {
    char line[256], name[128], base[128];
    int version, driver = 0, count = 0;
    FILE *list = fopen(SYS_FOLDER "/functions.txt", "r");
    HOLDS(list != NULL);
    WORKS(cuDriverGetVersion(&driver));
    while (fgets(line, sizeof line, list) != NULL) {
        void *found = NULL;
        int status = -1;
        if (strncmp(line, "cu", 2) != 0 || sscanf(line, "%127s %d", name, &version) != 2 || version > driver) {
            continue;
        }
        count += 1;
        strcpy(base, name);
        cut_version(base);
        CUresult result = cuGetProcAddress_v2(base, &found, version, PROC_LEGACY_STREAM, &status);
        if (result != CUDA_SUCCESS || found == NULL || found != dlsym(driver_library, name)) {
            check_failed(__FILE__, __LINE__, name);
        }
    }
    fclose(list);
    HOLDS(count > 500);
}

const Check every_name[] = {
    {"every name that the headers declare is exported", every_declared_name_is_exported},
    {"every ABI is found by name and version", every_abi_is_found_by_name_and_version},
    {NULL, NULL},
};
