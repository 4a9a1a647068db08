// Products of square matrices in row-major order: c = a * b, n a multiple of 16, blocks of 16 by 16 threads.

#define TILE 16

// With tiles in shared memory. Each element is a chain of fused multiply-adds in the order of k.
extern "C" __global__ void matmul_tiled(const float* a, const float* b, float* c, unsigned n)
{
    __shared__ float left[TILE][TILE], right[TILE][TILE];
    unsigned row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0.0f;
    for (unsigned k = 0; k < n; k += TILE) {
        left[threadIdx.y][threadIdx.x] = a[row * n + k + threadIdx.x];
        right[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + column];
        __syncthreads();
        for (unsigned i = 0; i < TILE; ++i) sum += left[threadIdx.y][i] * right[i][threadIdx.x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

// The same in double precision, with shared memory whose size the launch gives: 2 * 16 * 16 doubles.
extern "C" __global__ void matmul_dynamic(const double* a, const double* b, double* c, unsigned n)
{
    extern __shared__ double tiles[];
    double* left = tiles;
    double* right = tiles + TILE * TILE;
    unsigned row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    unsigned here = threadIdx.y * TILE + threadIdx.x;
    double sum = 0.0;
    for (unsigned k = 0; k < n; k += TILE) {
        left[here] = a[row * n + k + threadIdx.x];
        right[here] = b[(k + threadIdx.y) * n + column];
        __syncthreads();
        for (unsigned i = 0; i < TILE; ++i) sum += left[threadIdx.y * TILE + i] * right[i * TILE + threadIdx.x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

// Without shared memory, in integers that wrap; any n, one thread per element, blocks of any shape.
extern "C" __global__ void matmul_i32(const int* a, const int* b, int* c, unsigned n)
{
    unsigned row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n || column >= n) return;
    int sum = 0;
    for (unsigned k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
    c[row * n + column] = sum;
}
