// Atomic operations of every kind.

// Every integer operation, each on a cell of its own: add, sub, exch, min, max, inc, dec, cas, and, or, xor. Thread i applies
// x[i]; cells 2 (exch) and 7 (cas) keep the value of one thread. old[i] is what the addition found.
extern "C" __global__ void atomics_u32(const unsigned* x, unsigned* cells, unsigned* old, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    old[i] = atomicAdd(cells + 0, x[i]);
    atomicSub(cells + 1, x[i]);
    atomicExch(cells + 2, x[i]);
    atomicMin(cells + 3, x[i]);
    atomicMax(cells + 4, x[i]);
    atomicInc(cells + 5, 100);
    atomicDec(cells + 6, 100);
    atomicCAS(cells + 7, 0, x[i]);
    atomicAnd(cells + 8, x[i]);
    atomicOr(cells + 9, x[i]);
    atomicXor(cells + 10, x[i]);
}

// The signed ones that differ: add, min, max, and what they found in old[3 * i ..].
extern "C" __global__ void atomics_i32(const int* x, int* cells, int* old, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    old[3 * i] = atomicAdd(cells, x[i]);
    old[3 * i + 1] = atomicMin(cells + 1, x[i]);
    old[3 * i + 2] = atomicMax(cells + 2, x[i]);
}

// With 64 bits: add, exch, min, max, cas, and, or, xor.
extern "C" __global__ void atomics_u64(const unsigned long long* x, unsigned long long* cells, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    atomicAdd(cells + 0, x[i]);
    atomicExch(cells + 1, x[i]);
    atomicMin(cells + 2, x[i]);
    atomicMax(cells + 3, x[i]);
    atomicCAS(cells + 4, 0ull, x[i]);
    atomicAnd(cells + 5, x[i]);
    atomicOr(cells + 6, x[i]);
    atomicXor(cells + 7, x[i]);
}

// Signed 64 bits: min and max.
extern "C" __global__ void atomics_i64(const long long* x, long long* cells, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    atomicMin(cells, x[i]);
    atomicMax(cells + 1, x[i]);
}

// Floats: sum and exchange of f32, sum of f64. With values whose sums are exact the order does not matter.
extern "C" __global__ void atomics_float(const float* x, float* sum, float* last, double* wide, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    atomicAdd(sum, x[i]);
    atomicExch(last, x[i]);
    atomicAdd(wide, (double)x[i]);
}

// Compare-and-swap of 16 bits in a loop: each thread adds 1 to the counter that is its number modulo counters.
extern "C" __global__ void atomics_u16(unsigned short* cells, unsigned counters)
{
    unsigned short* cell = cells + (blockIdx.x * blockDim.x + threadIdx.x) % counters;
    unsigned short seen = *cell, expected;
    do {
        expected = seen;
        seen = atomicCAS(cell, expected, (unsigned short)(expected + 1));
    } while (seen != expected);
}

// Shared memory, and the scopes of a block and of the system: the block's sum and maximum, added to and maximised in cells.
extern "C" __global__ void atomics_scopes(const int* x, int* cells)
{
    __shared__ int sum, largest;
    if (threadIdx.x == 0) {
        sum = 0;
        largest = -2147483647 - 1;
    }
    __syncthreads();
    int value = x[blockIdx.x * blockDim.x + threadIdx.x];
    atomicAdd_block(&sum, value);
    atomicMax(&largest, value);
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd_system(cells, sum);
        atomicMax_system(cells + 1, largest);
    }
}

// A lock that threads of one warp contend for: each adds 1 to *count, which is not atomic, rounds times.
extern "C" __global__ void spin_lock(int* lock, volatile int* count, unsigned rounds)
{
    for (unsigned round = 0; round < rounds; ++round) {
        bool done = false;
        while (!done) {
            if (atomicCAS(lock, 0, 1) == 0) {
                __threadfence();
                *count = *count + 1;
                __threadfence();
                atomicExch(lock, 0);
                done = true;
            }
        }
    }
}

// A ticket for every thread, in no particular order: tickets[i] are 0 to the number of threads, each once.
extern "C" __global__ void tickets(unsigned* next, unsigned* tickets)
{
    tickets[blockIdx.x * blockDim.x + threadIdx.x] = atomicAdd(next, 1u);
}
