// Kernels with a mistake each, for the checks, and one that prints.

// The sum of neighbours in shared memory, without the barrier between write and read.
extern "C" __global__ void no_barrier(const int* x, int* sums)
{
    __shared__ int part[256];
    part[threadIdx.x] = x[threadIdx.x];
    sums[threadIdx.x] = part[threadIdx.x] + part[(threadIdx.x + 32) % 256];
}

// Writes one value too many.
extern "C" __global__ void past_the_end(int* x, int n)
{
    if (threadIdx.x <= n) x[threadIdx.x] = threadIdx.x;
}

// Prints from the device.
extern "C" __global__ void greet(int number)
{
    if (threadIdx.x == 0) printf("number %d\n", number);
}
