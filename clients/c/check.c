#include "check.h"

#include <stdatomic.h>
#include <stdio.h>

static atomic_int failures;
static int number;

void check_failed(const char *file, int line, const char *what) {
    atomic_fetch_add(&failures, 1);
    printf("# %s:%d: this does not hold: %s\n", file, line, what);
}

void check_answered(const char *file, int line, const char *call, CUresult answer, const char *expected) {
    const char *name = NULL;
    if (cuGetErrorName == NULL || cuGetErrorName(answer, &name) != CUDA_SUCCESS) {
        name = "a code without a name";
    }
    atomic_fetch_add(&failures, 1);
    printf("# %s:%d: %s answers %s (%d), not %s\n", file, line, call, name, answer, expected);
}

int check_report(const char *sentence, int failed) {
    number += 1;
    printf("%s %d - %s\n", failed ? "not ok" : "ok", number, sentence);
    fflush(stdout);
    return failed;
}

int check_run(Check check) {
    atomic_store(&failures, 0);
    check.function();
    return check_report(check.sentence, atomic_load(&failures) != 0);
}

void pattern(unsigned char *bytes, size_t size, unsigned seed) {
    for (size_t at = 0; at < size; at++) {
        bytes[at] = (unsigned char)(at * 31 + (at >> 8) + seed * 97 + 1);
    }
}

int has_pattern(const unsigned char *bytes, size_t size, unsigned seed) {
    for (size_t at = 0; at < size; at++) {
        if (bytes[at] != (unsigned char)(at * 31 + (at >> 8) + seed * 97 + 1)) {
            return 0;
        }
    }
    return 1;
}

CUresult latch_make(Latch *latch) {
    void *word;
    CUresult result = cuMemHostAlloc(&word, sizeof(uint32_t), 0);
    if (result != CUDA_SUCCESS) {
        return result;
    }
    latch->word = word;
    __atomic_store_n(latch->word, 0, __ATOMIC_SEQ_CST);
    return cuMemHostGetDevicePointer_v2(&latch->address, word, 0);
}

CUresult latch_hold(Latch *latch, CUstream stream) {
    return cuStreamWaitValue32_v2(stream, latch->address, 1, WAIT_VALUE_GEQ);
}

void latch_open(Latch *latch) {
    __atomic_store_n(latch->word, 1, __ATOMIC_SEQ_CST);
}
