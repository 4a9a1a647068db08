// Cooperative groups: reductions, scans, partitions and copies, by their headers.
// architectures: 80 90
#include <cuda/barrier>
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace groups = cooperative_groups;

// For each thread of one block of 128: y[0] = the sum of its warp, y[1] and y[2] = the greatest and the exclusive or of its eight,
// y[3] = the sum of its warp up to it, y[4] = that of its eight without it.
extern "C" __global__ void group_integers(const int* x, int* y)
{
    auto block = groups::this_thread_block();
    auto warp = groups::tiled_partition<32>(block);
    auto eight = groups::tiled_partition<8>(block);
    unsigned i = threadIdx.x;
    int value = x[i];
    y[i] = groups::reduce(warp, value, groups::plus<int>());
    y[128 + i] = groups::reduce(eight, value, groups::greater<int>());
    y[256 + i] = groups::reduce(eight, value, groups::bit_xor<int>());
    y[384 + i] = groups::inclusive_scan(warp, value, groups::plus<int>());
    y[512 + i] = groups::exclusive_scan(eight, value);
}

// The same block: y[0] = the sum of its warp, y[1] = the least of its eight; z = the sum of its sixteen in double precision.
extern "C" __global__ void group_floats(const float* x, float* y, double* z)
{
    auto block = groups::this_thread_block();
    auto warp = groups::tiled_partition<32>(block);
    auto sixteen = groups::tiled_partition<16>(block);
    auto eight = groups::tiled_partition<8>(block);
    unsigned i = threadIdx.x;
    y[i] = groups::reduce(warp, x[i], groups::plus<float>());
    y[128 + i] = groups::reduce(eight, x[i], groups::less<float>());
    z[i] = groups::reduce(sixteen, (double)x[i], groups::plus<double>());
}

// The same block, whose elements are not negative: y[0] = the sum of the odd elements of the warp and the rank among them, 100 times
// apart, for those that have one, y[1] = the sum of those of its sixteen with the same rest by three, y[2] = how many of its sixteen are
// greater than three, or are not, like it, and its rank among them, 100 times apart.
extern "C" __global__ void group_partitions(const int* x, int* y)
{
    auto block = groups::this_thread_block();
    unsigned i = threadIdx.x;
    int value = x[i];
    y[i] = 0;
    if (value & 1) {
        auto odd = groups::coalesced_threads();
        y[i] = groups::reduce(odd, value, groups::plus<int>()) * 100 + odd.thread_rank();
    }
    auto tile = groups::tiled_partition<16>(block);
    auto alike = groups::labeled_partition(tile, value % 3);
    y[128 + i] = groups::reduce(alike, value, groups::plus<int>());
    auto side = groups::binary_partition(tile, value > 3);
    y[256 + i] = side.size() * 100 + side.thread_rank();
    auto token = block.barrier_arrive();
    block.barrier_wait(static_cast<decltype(token)&&>(token));
}

// The same block: y[0] = x backwards, y[1] = neighbours of x exchanged, y[2] = the same by four, all through shared memory of the launch,
// 128 ints, which groups fill beside their threads; the last copies are of 16 bytes.
extern "C" __global__ void group_copies(const int* x, int* y)
{
    extern __shared__ __align__(16) int part[];
    auto block = groups::this_thread_block();
    auto warp = groups::tiled_partition<32>(block);
    unsigned i = threadIdx.x, first = warp.meta_group_rank() * 32;
    groups::memcpy_async(block, part, x, sizeof(int) * 128);
    groups::wait(block);
    y[i] = part[127 - i];
    block.sync();
    groups::memcpy_async(warp, part + first, 32, x + first, 32);
    groups::wait_prior<0>(warp);
    y[128 + i] = part[i ^ 1];
    block.sync();
    if (first == 0) groups::memcpy_async(warp, (int4*)part, (const int4*)x, cuda::aligned_size_t<16>(512));
    groups::wait(block);
    y[256 + i] = part[i ^ 4];
}

// counts[0] = how many blocks there are; counts[1] = how many warps, and y = how many had been there before that of each thread.
extern "C" __global__ void group_elections(int* counts, int* y)
{
    auto block = groups::this_thread_block();
    groups::invoke_one(block, [&] { atomicAdd(counts, 1); });
    auto warp = groups::tiled_partition<32>(block);
    y[blockIdx.x * blockDim.x + threadIdx.x] = groups::invoke_one_broadcast(warp, [&] { return atomicAdd(counts + 1, 1); });
}
