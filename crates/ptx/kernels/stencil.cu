// Each element from its neighbours.

// to = the mean of the four neighbours inside, from at the edges; rows of width elements.
extern "C" __global__ void jacobi(const float* from, float* to, unsigned width, unsigned height)
{
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    unsigned i = y * width + x;
    bool edge = x == 0 || y == 0 || x == width - 1 || y == height - 1;
    to[i] = edge ? from[i] : 0.25f * (((from[i - 1] + from[i + 1]) + from[i - width]) + from[i + width]);
}

// to[i] = the sum of from[i - 3] to from[i + 3], with zeros outside, through shared memory: 256 threads a block.
extern "C" __global__ void stencil_1d(const int* from, int* to, unsigned n)
{
    __shared__ int part[256 + 6];
    int i = blockIdx.x * 256 + threadIdx.x;
    part[threadIdx.x + 3] = i < (int)n ? from[i] : 0;
    if (threadIdx.x < 3) {
        part[threadIdx.x] = i >= 3 && i - 3 < (int)n ? from[i - 3] : 0;
        part[threadIdx.x + 259] = i + 256 < (int)n ? from[i + 256] : 0;
    }
    __syncthreads();
    if (i >= (int)n) return;
    int sum = 0;
    for (int k = 0; k < 7; ++k) sum += part[threadIdx.x + k];
    to[i] = sum;
}

// One step of heat in three dimensions, in double precision: to = from + rate * (the six neighbours - 6 * from) inside, both
// products fused into their sums.
extern "C" __global__ void heat_3d(const double* from, double* to, double rate, int nx, int ny, int nz)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z;
    if (x >= nx || y >= ny || z >= nz) return;
    int i = (z * ny + y) * nx + x;
    double here = from[i];
    if (x > 0 && y > 0 && z > 0 && x < nx - 1 && y < ny - 1 && z < nz - 1) {
        double around = from[i - 1] + from[i + 1] + from[i - nx] + from[i + nx] + from[i - nx * ny] + from[i + nx * ny];
        here = __fma_rn(rate, __fma_rn(-6.0, here, around), here);
    }
    to[i] = here;
}
