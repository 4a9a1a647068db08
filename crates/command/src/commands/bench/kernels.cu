// Kernels of `warploom bench`. kernels.ptx is this, compiled by NVRTC for compute_75 and marked as PTX 7.0, which every driver from
// 11.0 on reads.

// y = a * x + y: bound by memory.
extern "C" __global__ void saxpy(float a, const float* x, float* y, unsigned n)
{
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = a * x[i] + y[i];
}

// *total += the sum of x: shuffles, and an atomic addition for each warp.
extern "C" __global__ void sum(const int* x, int* total, unsigned n)
{
    int value = 0;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) value += x[i];
    for (int distance = 16; distance > 0; distance /= 2) value += __shfl_down_sync(0xffffffffu, value, distance);
    if (threadIdx.x % 32 == 0) atomicAdd(total, value);
}

// c = a * b by tiles of 16 by 16 in shared memory; n is a multiple of 16.
extern "C" __global__ void matmul(const float* a, const float* b, float* c, unsigned n)
{
    __shared__ float left[16][16], right[16][16];
    unsigned row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    float sum = 0.0f;
    for (unsigned k = 0; k < n; k += 16) {
        left[threadIdx.y][threadIdx.x] = a[row * n + k + threadIdx.x];
        right[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + column];
        __syncthreads();
        for (unsigned i = 0; i < 16; ++i) sum += left[threadIdx.y][i] * right[i][threadIdx.x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

// Steps of z = z * z + c for each pixel of a square around the Mandelbrot set: bound by arithmetic, and divergent.
extern "C" __global__ void mandelbrot(unsigned* steps, unsigned side, unsigned limit)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= side * side) return;
    float cx = -2.0f + 2.5f * (i % side) / side, cy = -1.25f + 2.5f * (i / side) / side, x = 0.0f, y = 0.0f;
    unsigned count = 0;
    while (count < limit && x * x + y * y <= 4.0f) {
        float next = x * x - y * y + cx;
        y = 2.0f * x * y + cy;
        x = next;
        ++count;
    }
    steps[i] = count;
}

// Nothing: the cost of a launch.
extern "C" __global__ void nothing() {}
