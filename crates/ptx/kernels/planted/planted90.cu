// architectures: 90
// options: -lineinfo
// Kernels with a mistake in each, and with `fixed` set, without it: copies beside the threads, clusters of two blocks.

#define THREADS 64

__device__ unsigned shared_address(const void* pointer) { return (unsigned)__cvta_generic_to_shared(pointer); }

__device__ void copy_word(int* into, const int* from)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared_address(into)), "l"(from) : "memory");
}

__device__ void wait_for_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

__device__ void cluster_sync()
{
    asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
}

// The same place in the shared memory of the other block of the cluster.
__device__ volatile int* of_other_block(volatile int* pointer)
{
    unsigned rank;
    volatile int* there;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(pointer), "r"(rank ^ 1));
    return there;
}

// y[i] = x of the neighbour, fetched by a copy beside the threads: without the wait it may not have come. 64 threads.
extern "C" __global__ void planted_copy_wait(const int* x, int* y, int fixed)
{
    __shared__ int tile[THREADS];
    copy_word(&tile[threadIdx.x], &x[threadIdx.x]);
    asm volatile("cp.async.commit_group;" ::: "memory");
    if (fixed) asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    y[threadIdx.x] = tile[threadIdx.x ^ 1];
}

// The same: a thread that waits knows of its own copy only, not of its neighbour's. 64 threads.
extern "C" __global__ void planted_copy_barrier(const int* x, int* y, int fixed)
{
    __shared__ int tile[THREADS];
    copy_word(&tile[threadIdx.x], &x[threadIdx.x]);
    wait_for_copies();
    if (fixed) __syncthreads();
    y[threadIdx.x] = tile[threadIdx.x ^ 1];
}

// y[i] = x[i], and x[i] = 0: without the wait what is copied may be the zero. 64 threads.
extern "C" __global__ void planted_copy_source(int* x, int* y, int fixed)
{
    __shared__ int tile[THREADS];
    copy_word(&tile[threadIdx.x], &x[threadIdx.x]);
    if (fixed) wait_for_copies();
    x[threadIdx.x] = 0;
    wait_for_copies();
    y[threadIdx.x] = tile[threadIdx.x];
}

// y[i] = x of the same thread of the other block: a barrier of the block does not order the two. 64 threads.
extern "C" __global__ void __cluster_dims__(2, 1, 1) planted_cluster_race(const int* x, int* y, int fixed)
{
    __shared__ int tile[THREADS];
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    cluster_sync();
    tile[threadIdx.x] = x[i];
    if (fixed) cluster_sync(); else __syncthreads();
    y[i] = *const_cast<int*>(of_other_block(&tile[threadIdx.x]));
    cluster_sync();
}

// The same, handed over by writing: the other block may not have started yet. 64 threads.
extern "C" __global__ void __cluster_dims__(2, 1, 1) planted_cluster_start(const int* x, int* y, int fixed)
{
    __shared__ int tile[THREADS];
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (fixed) cluster_sync();
    *const_cast<int*>(of_other_block(&tile[threadIdx.x])) = x[i];
    cluster_sync();
    y[i] = tile[threadIdx.x];
}

// The same, fetched by reading: the other block may have ended by then, and its memory be somebody else's. 64 threads.
extern "C" __global__ void __cluster_dims__(2, 1, 1) planted_cluster_end(const int* x, int* y, int fixed)
{
    __shared__ int tile[THREADS];
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = x[i];
    cluster_sync();
    y[i] = *const_cast<int*>(of_other_block(&tile[threadIdx.x]));
    if (fixed) cluster_sync();
}

__device__ void fetch_tile(int* into, const int* from, unsigned long long* barrier)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 256;" ::"r"(shared_address(barrier)) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];"
                 ::"r"(shared_address(into)), "l"(from), "r"(shared_address(barrier)) : "memory");
}

__device__ void wait_for_barrier(unsigned long long* barrier)
{
    unsigned done = 0;
    while (!done)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done) : "r"(shared_address(barrier)) : "memory");
}

__device__ void send_tile(int* into, const int* from)
{
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256;\n\tcp.async.bulk.commit_group;"
                 ::"l"(into), "r"(shared_address(from)) : "memory");
}

// y[i] = x[i], fetched by one bulk copy: a barrier of the block does not wait for it. 64 threads.
extern "C" __global__ void planted_bulk_wait(const int* x, int* y, int fixed)
{
    __shared__ alignas(128) int tile[THREADS];
    __shared__ unsigned long long barrier;
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&barrier)) : "memory");
    __syncthreads();
    if (threadIdx.x == 0) fetch_tile(tile, x, &barrier);
    if (fixed) wait_for_barrier(&barrier); else __syncthreads();
    y[threadIdx.x] = tile[threadIdx.x];
}

// y[i] = x[i] + 1, sent by one bulk copy: without the proxy fence it may send what was there before. 64 threads.
extern "C" __global__ void planted_bulk_fence(const int* x, int* y, int fixed)
{
    __shared__ alignas(128) int tile[THREADS];
    tile[threadIdx.x] = x[threadIdx.x] + 1;
    if (fixed) asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        send_tile(y, tile);
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }
}

// y[i] = x[i] + 1, and the tile is cleared: without the wait the copy may send zeros. 64 threads.
extern "C" __global__ void planted_bulk_source(const int* x, int* y, int fixed)
{
    __shared__ alignas(128) int tile[THREADS];
    tile[threadIdx.x] = x[threadIdx.x] + 1;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        send_tile(y, tile);
        if (fixed) asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    }
    __syncthreads();
    ((volatile int*)tile)[threadIdx.x] = 0;
}
