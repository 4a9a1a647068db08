// options: --relocatable-device-code=true
// Variables of every space, with what they hold at first.

__constant__ float weights[5] = {0.0625f, 0.25f, 0.375f, 0.25f, 0.0625f};
__constant__ struct { int scale; short shift[2]; unsigned char code; double bias; } settings = {3, {-1, 2}, 0x7f, 0.5};
__constant__ int given[4];

__device__ int numbers[6] = {1, -2, 3, -4, 5, -6};
__device__ int* middle = &numbers[3];
__device__ const char* words[3] = {"one", "two", "three"};
__device__ double table[2][2] = {{1.5, -0.0}, {1e300}};
__device__ unsigned long long counter;
__device__ struct { char tag; int* target; short tail; } mixed = {'x', &numbers[1], -7};
__managed__ int shared_with_host = 42;

// y[i] = the weighted mean of x[i] to x[i + 4], a chain of fused multiply-adds; x has four elements more than y.
extern "C" __global__ void convolve_constant(const float* x, float* y, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0.0f;
    for (int k = 0; k < 5; ++k) sum += weights[k] * x[i + k];
    y[i] = sum;
}

// y = the settings, the four given numbers, six numbers, *middle, the mixed ones, in this order: 18 of them as doubles.
extern "C" __global__ void read_initial(double* y)
{
    y[0] = settings.scale;
    y[1] = settings.shift[0];
    y[2] = settings.shift[1];
    y[3] = settings.code;
    y[4] = settings.bias;
    for (int i = 0; i < 4; ++i) y[5 + i] = given[i];
    for (int i = 0; i < 6; ++i) y[9 + i] = numbers[i];
    y[15] = *middle;
    y[16] = mixed.tag + *mixed.target;
    y[17] = mixed.tail + table[0][0] + table[1][1];
}

// The bytes of the word which[i] up to eight, without the end.
extern "C" __global__ void read_words(const unsigned* which, char* y)
{
    const char* word = words[which[threadIdx.x]];
    for (int k = 0; k < 8 && word[k]; ++k) y[8 * threadIdx.x + k] = word[k];
}

// Adds to a variable of the device and to one that the host shares; y gets the counter's value before.
extern "C" __global__ void count_calls(unsigned long long* y, int add)
{
    unsigned long long before = atomicAdd(&counter, 1ull);
    atomicAdd(&shared_with_host, add);
    y[blockIdx.x * blockDim.x + threadIdx.x] = before;
}

// y = x backwards, through shared memory whose size the launch gives: blockDim ints.
extern "C" __global__ void reverse_dynamic(const int* x, int* y)
{
    extern __shared__ int line[];
    unsigned start = blockIdx.x * blockDim.x;
    line[threadIdx.x] = x[start + threadIdx.x];
    __syncthreads();
    y[start + threadIdx.x] = line[blockDim.x - 1 - threadIdx.x];
}

// Generic pointers of 64 threads: y[i] = a value from global, shared, local or constant memory by i modulo 4, through one pointer; and
// bits for the space it is in.
extern "C" __global__ void generic_pointers(const int* x, int* y, unsigned* spaces)
{
    __shared__ int here[64];
    int mine[2] = {(int)threadIdx.x, -(int)threadIdx.x};
    here[threadIdx.x] = 100 + threadIdx.x;
    __syncthreads();
    const int* pointer;
    switch (threadIdx.x % 4) {
    case 0: pointer = x + threadIdx.x; break;
    case 1: pointer = here + threadIdx.x; break;
    case 2: pointer = mine + (threadIdx.x / 4) % 2; break;
    default: pointer = given + threadIdx.x / 4 % 4; break;
    }
    y[threadIdx.x] = *pointer;
    spaces[threadIdx.x] = __isGlobal(pointer) | __isShared(pointer) << 1 | __isLocal(pointer) << 2 | __isConstant(pointer) << 3;
}

// Threads that hand values on without a barrier but with fences and flags in shared memory: two warps, y[0..32] doubled x.
extern "C" __global__ void hand_over(const int* x, int* y)
{
    __shared__ volatile int values[32];
    __shared__ volatile int ready;
    if (threadIdx.x == 0) ready = 0;
    __syncthreads();
    if (threadIdx.x < 32) {
        values[threadIdx.x] = 2 * x[threadIdx.x];
        __threadfence_block();
        __syncwarp();
        if (threadIdx.x == 0) ready = 1;
    } else {
        while (ready == 0) {}
        __threadfence_block();
        y[threadIdx.x - 32] = values[threadIdx.x - 32];
    }
}

// Barriers with names and counts: the first half of the block produces, the second consumes. 128 threads.
extern "C" __global__ void named_barriers(const int* x, int* y)
{
    __shared__ int part[64];
    unsigned i = threadIdx.x % 64;
    if (threadIdx.x < 64) {
        part[63 - i] = x[i];
        asm volatile("bar.arrive 1, 128;" ::: "memory");
    } else {
        asm volatile("bar.sync 1, 128;" ::: "memory");
        y[i] = part[i];
    }
}
