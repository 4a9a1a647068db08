// What kernel.cu needs, and names of its own that kernel.cu has, too.
__device__ int table[4] = {1, 2, 3, 4};
__constant__ int factor = 10;
static __device__ int hidden = 7;

template <typename T> __device__ __noinline__ T doubled(T value) { return value + value; }

static __device__ __noinline__ int own(int value) { return value * 3 + hidden; }

__device__ int scaled(int value) { return own(value) + 1; }

extern "C" __global__ void other(int* out) { out[threadIdx.x] = scaled(doubled(100)); }
