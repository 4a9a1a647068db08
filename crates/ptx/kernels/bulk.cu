// architectures: 90
// Bulk copies of compute capability 9.0, by the wrappers of libcu++ (cuda::ptx), and clusters of two blocks.
#include <cuda/ptx>
#include <cuda/std/cstdint>

namespace ptx = cuda::ptx;
using cuda::std::uint64_t;

#define TILE 256

__device__ void wait_for(uint64_t* barrier, unsigned parity)
{
    while (!ptx::mbarrier_try_wait_parity(barrier, parity)) {}
}

__device__ void cluster_sync()
{
    ptx::barrier_cluster_arrive();
    ptx::barrier_cluster_wait();
}

// The same place in the shared memory of the other block of the cluster.
template <class T>
__device__ T* of_other_block(T* pointer)
{
    T* there;
    asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(pointer), "r"(ptx::get_sreg_cluster_ctarank() ^ 1));
    return there;
}

__device__ void fetch(int* into, const int* from, uint64_t* barrier)
{
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, barrier, TILE * 4);
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, into, from, TILE * 4, barrier);
}

// y[block] = the sum of the block's tiles of x, 256 ints each: a warp of its own fetches them two tiles ahead, and one barrier for each
// stage says that it is full, another that it is empty. 288 threads.
extern "C" __global__ void bulk_pipeline(const int* x, int* y, unsigned tiles)
{
    __shared__ alignas(128) int stages[2][TILE];
    __shared__ uint64_t full[2], empty[2];
    unsigned t = threadIdx.x;
    x += blockIdx.x * tiles * TILE;
    if (t == 0) {
        for (int stage = 0; stage < 2; ++stage) {
            ptx::mbarrier_init(&full[stage], 1);
            ptx::mbarrier_init(&empty[stage], TILE);
        }
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    }
    __syncthreads();
    if (t >= TILE) {
        if (t > TILE) return;
        for (unsigned tile = 0; tile < tiles; ++tile) {
            unsigned stage = tile % 2;
            if (tile >= 2) wait_for(&empty[stage], (tile / 2 - 1) & 1);
            fetch(stages[stage], x + tile * TILE, &full[stage]);
        }
        return;
    }
    int sum = 0;
    for (unsigned tile = 0; tile < tiles; ++tile) {
        unsigned stage = tile % 2;
        wait_for(&full[stage], tile / 2 & 1);
        sum += stages[stage][(t + tile) % TILE];
        ptx::mbarrier_arrive(&empty[stage]);
    }
    atomicAdd(y + blockIdx.x, sum);
}

// y[i] = x[i] + 1: each block computes 256 ints in shared memory, and sends them in two groups. 256 threads.
extern "C" __global__ void bulk_store(const int* x, int* y)
{
    __shared__ alignas(128) int part[TILE];
    unsigned t = threadIdx.x, start = blockIdx.x * TILE;
    part[t] = x[start + t] + 1;
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (t == 0) {
        for (unsigned half = 0; half < 2; ++half) {
            ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, y + start + half * 128, part + half * 128, 512);
            ptx::cp_async_bulk_commit_group();
        }
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<1>());
        ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
    }
}

// y[2 * i] = the tile of x that the even block fetched for both blocks of its cluster, and y[2 * i + 1] that of the odd one. 256 threads.
extern "C" __global__ void __cluster_dims__(2, 1, 1) bulk_multicast(const int* x, int* y)
{
    __shared__ alignas(128) int parts[2][TILE];
    __shared__ uint64_t barrier;
    unsigned t = threadIdx.x, rank = ptx::get_sreg_cluster_ctarank();
    if (t == 0) {
        ptx::mbarrier_init(&barrier, 1);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &barrier, sizeof parts);
    }
    cluster_sync();
    if (t == 0)
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, parts[rank], x + blockIdx.x * TILE, TILE * 4, &barrier, (unsigned short)3);
    wait_for(&barrier, 0);
    for (unsigned part = 0; part < 2; ++part) y[(blockIdx.x * 2 + part) * TILE + t] = parts[part][t];
    cluster_sync();
}

// y[i] = x of the other block of the cluster, sent as a whole from shared memory to shared memory; y[n + i] = the sum of both by a reduction.
// 256 threads, n in all.
extern "C" __global__ void __cluster_dims__(2, 1, 1) bulk_exchange(const int* x, int* y, unsigned n)
{
    __shared__ alignas(128) int part[TILE], other[TILE], sum[TILE];
    __shared__ uint64_t barrier;
    unsigned t = threadIdx.x, i = blockIdx.x * TILE + t;
    part[t] = x[i];
    sum[t] = x[i];
    if (t == 0) {
        ptx::mbarrier_init(&barrier, 1);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &barrier, 2 * TILE * 4);
    }
    ptx::fence_proxy_async();
    __syncthreads();
    cluster_sync();
    if (t == 0) {
        uint64_t* counts = of_other_block(&barrier);
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_shared, of_other_block(&other[0]), &part[0], TILE * 4, counts);
        ptx::cp_reduce_async_bulk(ptx::space_cluster, ptx::space_shared, ptx::op_add, of_other_block(&sum[0]), &part[0], TILE * 4, counts);
    }
    wait_for(&barrier, 0);
    y[i] = other[t];
    y[n + i] = sum[t];
    cluster_sync();
}

// y[i] += how often x has the value i, counted in each block and added as a whole; z[i] += i / 2 for each block, as floats. 256 threads.
extern "C" __global__ void bulk_histogram(const unsigned char* x, unsigned* y, float* z, unsigned n)
{
    __shared__ alignas(128) unsigned counts[TILE];
    __shared__ alignas(128) float halves[TILE];
    unsigned t = threadIdx.x;
    counts[t] = 0;
    halves[t] = t * 0.5f;
    __syncthreads();
    for (unsigned i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) atomicAdd(&counts[x[i]], 1u);
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (t == 0) {
        ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_add, y, counts, TILE * 4);
        ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_add, z, halves, TILE * 4);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    }
}

// y[i] = x of the other block of the cluster, stored there by st.async, four at a time; sums[block] = the sum of that block's x by red.async.
// 64 threads.
extern "C" __global__ void __cluster_dims__(2, 1, 1) async_stores(const int4* x, int4* y, unsigned* sums)
{
    __shared__ alignas(16) int part[256];
    __shared__ unsigned sum;
    __shared__ uint64_t barrier;
    unsigned t = threadIdx.x, i = blockIdx.x * 64 + t;
    if (t == 0) {
        sum = 0;
        ptx::mbarrier_init(&barrier, 1);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &barrier, 64 * 20);
    }
    cluster_sync();
    int4 v = x[i];
    int values[4] = {v.x, v.y, v.z, v.w};
    uint64_t* counts = of_other_block(&barrier);
    ptx::st_async(of_other_block(&part[t * 4]), values, counts);
    ptx::red_async(ptx::op_add, of_other_block(&sum), (unsigned)(v.x + v.y + v.z + v.w), counts);
    wait_for(&barrier, 0);
    y[i] = make_int4(part[t * 4], part[t * 4 + 1], part[t * 4 + 2], part[t * 4 + 3]);
    if (t == 0) sums[blockIdx.x] = sum;
    cluster_sync();
}
