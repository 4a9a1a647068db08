// Functions of the device runtime, called by kernels.

// values: status and value of the device, the number of devices, the multiprocessors, a limit; statuses of errors; the heap.
extern "C" __global__ void runtime_values(long long* values)
{
    int number = -1;
    size_t size = 0;
    values[0] = cudaGetDevice(&number), values[1] = number;
    values[2] = cudaGetDeviceCount(&number), values[3] = number;
    values[4] = cudaDeviceGetAttribute(&number, cudaDevAttrMultiProcessorCount, 0), values[5] = number;
    values[6] = cudaDeviceGetLimit(&size, cudaLimitStackSize), values[7] = size;
    values[8] = cudaGetLastError(), values[9] = cudaPeekAtLastError();
    void* block = 0;
    values[10] = cudaMalloc(&block, 64), values[11] = block != 0, values[12] = cudaFree(block);
}

// rounds times: every element becomes the sum of itself and its right neighbour (the last's is the first). One thread per
// element, launched cooperatively; ranks gets the thread's number, and sizes the threads of the grid.
extern "C" __global__ void runtime_groups(int* x, int* y, unsigned rounds, unsigned* ranks, unsigned* sizes)
{
    unsigned long long grid = cudaCGGetIntrinsicHandle(cudaCGScopeGrid);
    unsigned rank = 0, size = 0, grids = 0, which = 7;
    cudaCGGetRank(&rank, &which, grid);
    cudaCGGetSize(&size, &grids, grid);
    ranks[rank] = rank + which;
    sizes[rank] = size * grids;
    for (unsigned round = 0; round < rounds; ++round) {
        y[rank] = x[rank] + x[(rank + 1) % size];
        cudaCGSynchronizeGrid(grid, 0);
        int* other = x;
        x = y;
        y = other;
    }
}
