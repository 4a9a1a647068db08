// Groups of threads, from eight to the whole grid.
#include <cooperative_groups.h>

namespace groups = cooperative_groups;

// rounds times: every element becomes the sum of itself and its right neighbour (the last's is the first), all at once. One
// thread per element; x and y change places, and the result is in x after an even number of rounds. Must be launched cooperatively.
extern "C" __global__ void grid_rotate_add(int* x, int* y, unsigned rounds)
{
    groups::grid_group grid = groups::this_grid();
    unsigned i = grid.thread_rank(), n = grid.size();
    for (unsigned round = 0; round < rounds; ++round) {
        y[i] = x[i] + x[(i + 1) % n];
        grid.sync();
        int* other = x;
        x = y;
        y = other;
    }
}

// sums[tile] = the sum of each group of eight threads, with tiles of that size.
extern "C" __global__ void tile_sums(const int* x, int* sums)
{
    auto tile = groups::tiled_partition<8>(groups::this_thread_block());
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = x[i];
    for (int distance = 4; distance > 0; distance /= 2) sum += tile.shfl_down(sum, distance);
    if (tile.thread_rank() == 0) sums[i / 8] = sum;
}
