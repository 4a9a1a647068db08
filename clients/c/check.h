/* A check is a function that returns at its first failure. Its name is a sentence; the report is TAP: `ok 1 - sentence`. */
#ifndef CHECK_H
#define CHECK_H

#include "driver.h"

/* Ends the check as failed, and says what did not hold. */
#define HOLDS(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            check_failed(__FILE__, __LINE__, #condition);                                                              \
            return;                                                                                                    \
        }                                                                                                              \
    } while (0)

/* Ends the check as failed unless the call answers with the code. */
#define ANSWERS(call, code)                                                                                            \
    do {                                                                                                               \
        CUresult answer_ = (call);                                                                                     \
        if (answer_ != (code)) {                                                                                       \
            check_answered(__FILE__, __LINE__, #call, answer_, #code);                                                 \
            return;                                                                                                    \
        }                                                                                                              \
    } while (0)

#define WORKS(call) ANSWERS(call, CUDA_SUCCESS)

/* Marks the running check as failed. Safe on any thread: `WORKS` and `HOLDS` may be used in a thread's function, too. */
void check_failed(const char *file, int line, const char *what);
void check_answered(const char *file, int line, const char *call, CUresult answer, const char *expected);

typedef struct {
    const char *sentence;
    void (*function)(void);
} Check;

/* Reports one check; nonzero if it failed. */
int check_run(Check check);
/* Reports a check of which only the outcome is known. */
int check_report(const char *sentence, int failed);

/* Each file's checks; the last has no function. */
extern const Check before_init[], names[], devices[], streams[], memory[], peers[], kernels[], legacy[], misuse[],
    threads[], every_name[];

/* Arranges for the checks that run while the process ends, of which there are `late_checks`. */
extern const int late_checks;
void late_prepare(void);

/* What the checks work with: the first two devices, their primary contexts (the first one is current on the main thread). */
extern CUdevice device[2];
extern CUcontext context[2];

/* Bytes that differ from their neighbours, and from those of another seed. */
void pattern(unsigned char *bytes, size_t size, unsigned seed);
int has_pattern(const unsigned char *bytes, size_t size, unsigned seed);

/* Pinned memory that holds a stream until it is opened. */
typedef struct {
    uint32_t *word;
    CUdeviceptr address;
} Latch;
CUresult latch_make(Latch *latch);
CUresult latch_hold(Latch *latch, CUstream stream);
void latch_open(Latch *latch);

#endif
