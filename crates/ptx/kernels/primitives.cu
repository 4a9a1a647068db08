// Block and warp primitives of CUB.
// architectures: 75
// options: -diag-suppress=1444
#include <cub/block/block_load.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_store.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>

// One block of 128 threads, 512 elements: sorted = x in order, sums = their sums up to each, *total = all of them.
extern "C" __global__ void primitives_of_blocks(const int* x, int* sorted, int* sums, int* total)
{
    using Load = cub::BlockLoad<int, 128, 4, cub::BLOCK_LOAD_TRANSPOSE>;
    using Store = cub::BlockStore<int, 128, 4, cub::BLOCK_STORE_WARP_TRANSPOSE>;
    using Sort = cub::BlockRadixSort<int, 128, 4>;
    using Scan = cub::BlockScan<int, 128>;
    using Reduce = cub::BlockReduce<int, 128>;
    __shared__ union {
        Load::TempStorage load;
        Store::TempStorage store;
        Sort::TempStorage sort;
        Scan::TempStorage scan;
        Reduce::TempStorage reduce;
    } room;
    int values[4], up_to[4];
    Load(room.load).Load(x, values);
    __syncthreads();
    Sort(room.sort).Sort(values);
    __syncthreads();
    Scan(room.scan).InclusiveSum(values, up_to);
    __syncthreads();
    int all = Reduce(room.reduce).Sum(values);
    if (threadIdx.x == 0) *total = all;
    __syncthreads();
    Store(room.store).Store(sorted, values);
    __syncthreads();
    Store(room.store).Store(sums, up_to);
}

// One block of 128 threads and elements: y[0] = the sum of the warp for its first lane, y[1] = the sum of those before each.
extern "C" __global__ void primitives_of_warps(const int* x, int* y)
{
    __shared__ cub::WarpReduce<int>::TempStorage reduce[4];
    __shared__ cub::WarpScan<int>::TempStorage scan[4];
    unsigned warp = threadIdx.x / 32, i = threadIdx.x;
    int sum = cub::WarpReduce<int>(reduce[warp]).Sum(x[i]);
    y[i] = i % 32 == 0 ? sum : 0;
    cub::WarpScan<int>(scan[warp]).ExclusiveSum(x[i], y[128 + i]);
}
