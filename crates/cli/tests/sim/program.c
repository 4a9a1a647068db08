// A program that finds the driver by its name. The first argument says what it does.
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef unsigned long long pointer;

static void *library;

static void *function(const char *name) {
    void *found = dlsym(library, name);
    if (!found) {
        fprintf(stderr, "%s: %s\n", name, dlerror());
        exit(90);
    }
    return found;
}

#define CALL(name, types, ...)                                  \
    do {                                                        \
        int code = ((int(*) types)function(name))(__VA_ARGS__); \
        if (code) {                                             \
            fprintf(stderr, "%s: %d\n", name, code);            \
            exit(91);                                           \
        }                                                       \
    } while (0)

// Initialises the driver; memory of 4096 bytes, filled.
static pointer begin(void) {
    void *context;
    pointer memory;
    library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(92);
    }
    CALL("cuInit", (unsigned), 0);
    CALL("cuDevicePrimaryCtxRetain", (void **, int), &context, 0);
    CALL("cuCtxSetCurrent", (void *), context);
    CALL("cuMemAlloc_v2", (pointer *, size_t), &memory, 4096);
    CALL("cuMemsetD8_v2", (pointer, unsigned char, size_t), memory, 1, 4096);
    CALL("cuCtxSynchronize", (void));
    return memory;
}

// Two streams use the same bytes, and nothing orders them.
static void race(void) {
    pointer memory = begin();
    void *one, *other;
    CALL("cuStreamCreate", (void **, unsigned), &one, 1);
    CALL("cuStreamCreate", (void **, unsigned), &other, 1);
    CALL("cuMemsetD8Async", (pointer, unsigned char, size_t, void *), memory, 2, 2048, one);
    CALL("cuMemcpyDtoDAsync_v2", (pointer, pointer, size_t, void *), memory + 2048, memory, 1024, other);
}

static void on_term(int signal) {
    (void)signal;
    exit(42);
}

// Waits for a signal, after a line that says so.
static void wait_for_signal(void) {
    begin();
    puts("ready");
    fflush(stdout);
    for (;;) pause();
}

// Compiles with an NVRTC or links with an nvJitLink at a path; the library prints its options.
static int compile(const char *path, const char *name, int number, char **options) {
    void *compiler = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!compiler) return 93;
    int (*function)(void *, int, char **) = dlsym(compiler, name);
    int (*again)(void *, int, char **) = dlsym(compiler, name);
    if (!function || function != again) return 94;
    // In the program's own scope there is none, though the preloaded library has one.
    if (dlsym(RTLD_DEFAULT, name)) return 95;
    return function(NULL, number, options);
}

int main(int count, char **arguments) {
    const char *what = count > 1 ? arguments[1] : "exit";
    if (!strcmp(what, "exit")) {
        begin();
        return count > 2 ? atoi(arguments[2]) : 0;
    }
    if (!strcmp(what, "devices")) {
        int devices;
        begin();
        CALL("cuDeviceGetCount", (int *), &devices);
        printf("%d\n", devices);
        return 0;
    }
    if (!strcmp(what, "free")) {
        pointer memory = begin();
        CALL("cuMemFree_v2", (pointer), memory);
        CALL("cuDevicePrimaryCtxRelease_v2", (int), 0);
        return 0;
    }
    if (!strcmp(what, "nothing")) return 0;
    if (!strcmp(what, "race")) return race(), 0;
    if (!strcmp(what, "race, killed")) return race(), raise(SIGKILL);
    if (!strcmp(what, "wait")) return signal(SIGTERM, on_term), wait_for_signal(), 0;
    if (!strcmp(what, "wait, no handler")) {
        // A test runner that was started by nohup, or in the background, passes on that these are ignored.
        int signals[] = {SIGHUP, SIGINT, SIGUSR1, SIGTERM};
        for (int index = 0; index < 4; index++) signal(signals[index], SIG_DFL);
        return wait_for_signal(), 0;
    }
    if (!strcmp(what, "fork")) {
        for (int child = 0; child < 2; child++)
            if (!fork()) exit(begin() == 0);
        while (wait(NULL) > 0) {
        }
        return begin() == 0;
    }
    if (!strcmp(what, "look")) {
        void *other = dlopen(arguments[2], RTLD_NOW | RTLD_LOCAL);
        int (*look)(void) = dlsym(other, "look");
        return look() ? 0 : 97;
    }
    if (!strcmp(what, "compile")) return compile(arguments[2], arguments[3], count - 4, arguments + 4);
    return 96;
}
