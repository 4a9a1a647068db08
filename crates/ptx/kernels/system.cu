// System functions: printf, assertions, traps, the heap.

// Prints a line per thread: its number, x as a float with two digits, a character and a string.
extern "C" __global__ void print_lines(const float* x)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    printf("thread %u: %.2f %c %s %lld%%\n", i, x[i], 'a' + i % 26, i & 1 ? "odd" : "even", -1ll - i);
}

// Prints one line without arguments, from the first thread.
extern "C" __global__ void print_greeting()
{
    if (blockIdx.x == 0 && threadIdx.x == 0) printf("hello\n");
}

// Fails if an element is negative.
extern "C" __global__ void assert_not_negative(const int* x, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) assert(x[i] >= 0);
}

// Stops at the element that is marked; the others are counted.
extern "C" __global__ void trap_at(const int* x, int marked, int* counted)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (x[i] == marked) asm volatile("trap;");
    atomicAdd(counted, 1);
}

// *y = x[offset], wherever that is.
extern "C" __global__ void read_anywhere(const int* x, long long offset, int* y)
{
    *y = x[offset];
}

// A list of its first numbers on the heap for every thread, summed up and freed: y[i] = 0 + 1 + … + i, or -1 without memory.
extern "C" __global__ void heap_sums(int* y)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    int* list = (int*)malloc((i + 1) * sizeof(int));
    if (!list) {
        y[i] = -1;
        return;
    }
    for (unsigned k = 0; k <= i; ++k) list[k] = (int)k;
    int sum = 0;
    for (unsigned k = 0; k <= i; ++k) sum += list[k];
    free(list);
    y[i] = sum;
}
