// A kernel that needs a function, variables and shared memory of another file.
extern __device__ int scaled(int);
extern __device__ int table[4];
extern __constant__ int factor;
extern __shared__ int room[];
static __device__ int hidden = 5;

template <typename T> __device__ __noinline__ T doubled(T value) { return value + value; }

static __device__ __noinline__ int own(int value) { return doubled(value) + table[value & 3] + hidden; }

// out[i] = (3 i + 8) · 10 + (2 i + table[i mod 4] + 5), and 2 i through shared memory.
extern "C" __global__ void linked(int* out)
{
    int i = threadIdx.x;
    room[i] = doubled(i);
    __syncthreads();
    out[i] = scaled(i) * factor + own(i);
    out[blockDim.x + i] = room[i];
}
