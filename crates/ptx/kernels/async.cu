// architectures: 80 90
// Copies to shared memory that run beside the threads, and barriers that count.

__device__ unsigned shared_address(const void* pointer) { return (unsigned)__cvta_generic_to_shared(pointer); }

// y = x + 1, through shared memory filled by cp.async of 16 bytes: 64 threads a block, four ints each.
extern "C" __global__ void async_copy(const int4* x, int4* y)
{
    __shared__ int4 part[64];
    unsigned i = blockIdx.x * 64 + threadIdx.x;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(shared_address(part + threadIdx.x)), "l"(x + i) : "memory");
    asm volatile("cp.async.commit_group;\n\tcp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    int4 v = part[threadIdx.x ^ 1];
    y[i ^ 1] = make_int4(v.x + 1, v.y + 1, v.z + 1, v.w + 1);
}

// y[block] = the sum of the block's rows of x, 128 ints each, fetched two stages ahead: 128 threads, rows per block.
extern "C" __global__ void async_pipeline(const int* x, int* y, unsigned rows)
{
    __shared__ int stages[2][128];
    x += blockIdx.x * rows * 128;
    unsigned t = threadIdx.x;
    for (unsigned row = 0; row < 2; ++row) {
        if (row < rows)
            asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(shared_address(&stages[row][t])), "l"(x + row * 128 + t) : "memory");
        asm volatile("cp.async.commit_group;" ::: "memory");
    }
    int sum = 0;
    for (unsigned row = 0; row < rows; ++row) {
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncthreads();
        sum += stages[row % 2][(t + row) % 128];
        __syncthreads();
        if (row + 2 < rows)
            asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(shared_address(&stages[row % 2][t])), "l"(x + (row + 2) * 128 + t) : "memory");
        asm volatile("cp.async.commit_group;" ::: "memory");
    }
    atomicAdd(y + blockIdx.x, sum);
}

// Zero-filled: the first bytes of each group of 16, as many as said, and zeros behind them.
extern "C" __global__ void async_zero_fill(const int4* x, int4* y, unsigned bytes)
{
    __shared__ int4 part[32];
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(shared_address(part + threadIdx.x)), "l"(x + threadIdx.x), "r"(bytes) : "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");
    y[threadIdx.x] = part[threadIdx.x];
}

// A barrier in memory: rounds times every thread passes its value to its neighbour; 64 threads. x is changed in place.
extern "C" __global__ void mbarrier_rounds(int* x, unsigned rounds)
{
    __shared__ unsigned long long barrier;
    __shared__ int values[2][64];
    unsigned address = shared_address(&barrier), t = threadIdx.x;
    if (t == 0) asm volatile("mbarrier.init.shared.b64 [%0], 64;" :: "r"(address) : "memory");
    __syncthreads();
    int value = x[t];
    for (unsigned round = 0; round < rounds; ++round) {
        values[round % 2][t] = value;
        unsigned long long state;
        asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(address) : "memory");
        unsigned done = 0;
        while (!done)
            asm volatile("{ .reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(address), "l"(state) : "memory");
        value = values[round % 2][(t + 1) % 64] + 1;
    }
    x[t] = value;
    __syncthreads();
    if (t == 0) asm volatile("mbarrier.inval.shared.b64 [%0];" :: "r"(address) : "memory");
}
