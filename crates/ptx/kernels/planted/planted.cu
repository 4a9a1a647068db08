// Kernels with a mistake in each, and with `fixed` set, without it.
// options: -lineinfo

#define SHARED 256

// y[i] = x[i] + its right neighbour in the block: without the barrier the neighbour may not have written yet.
extern "C" __global__ void planted_read_after_write(const int* x, int* y, int fixed)
{
    __shared__ int tile[SHARED];
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = x[i];
    if (fixed) __syncthreads();
    y[i] = tile[threadIdx.x] + tile[(threadIdx.x + 1) % blockDim.x];
}

// x[i] is rotated within the block, twice: without the second barrier a value may be gone before it was read.
extern "C" __global__ void planted_write_after_read(const int* x, int* y, int fixed)
{
    __shared__ int tile[SHARED];
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = x[i];
    __syncthreads();
    int next = tile[(threadIdx.x + 1) % blockDim.x];
    if (fixed) __syncthreads();
    tile[threadIdx.x] = next;
    __syncthreads();
    y[i] = tile[(threadIdx.x + 1) % blockDim.x];
}

// y[block] = the number of a thread of the block: of the first if it is fixed, of anyone if not.
extern "C" __global__ void planted_write_after_write(int* y, int fixed)
{
    __shared__ int winner;
    if (!fixed || threadIdx.x == 0) winner = threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) y[blockIdx.x] = winner;
}

// y[i] = x of the neighbour in the warp, passed on through shared memory: lanes do not keep step by themselves.
extern "C" __global__ void planted_warp(const int* x, int* y, int fixed)
{
    __shared__ int tile[SHARED];
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = x[i];
    if (fixed) __syncwarp();
    y[i] = tile[threadIdx.x ^ 1];
}

// *sum = the sum of x, one thread for each element, in several blocks.
extern "C" __global__ void planted_blocks(const int* x, int* sum, int fixed)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (fixed) {
        atomicAdd(sum, x[i]);
    } else {
        *sum += x[i];
    }
}

// y[0] = what block 0 made of x[0], handed to the last block by a flag: without the fence the flag may come first.
extern "C" __global__ void planted_fence(const int* x, int* data, volatile int* flag, int* y, int fixed)
{
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        *data = x[0] + 1;
        if (fixed) __threadfence();
        *flag = 1;
    }
    if (blockIdx.x == gridDim.x - 1) {
        while (*flag == 0) {
        }
        __threadfence();
        y[0] = *data;
    }
}

// *count = how many threads there are, *seen = how many a thread has seen: an atomic counter that is read as if it were none.
extern "C" __global__ void planted_mixed(unsigned* count, unsigned* seen, int fixed)
{
    atomicAdd(count, 1);
    if (threadIdx.x == 0 && blockIdx.x == 0) seen[0] = fixed ? atomicAdd(count, 0) : *count;
}

// y[i] = the sum of the block's n values, for all threads: those behind n end before the barrier.
extern "C" __global__ void planted_barrier(const int* x, int* y, unsigned n, int fixed)
{
    __shared__ int sum;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    if (!fixed && threadIdx.x >= n) return;
    if (threadIdx.x < n) atomicAdd(&sum, x[threadIdx.x]);
    __syncthreads();
    if (threadIdx.x < n) y[threadIdx.x] = sum;
}

// Half of the threads wait at another barrier than the rest.
extern "C" __global__ void planted_barriers(int* y, int fixed)
{
    if (threadIdx.x < blockDim.x / 2 || fixed) {
        asm volatile("barrier.sync 1;" ::: "memory");
    } else {
        asm volatile("barrier.sync 2;" ::: "memory");
    }
    y[threadIdx.x] = 1;
}

// The first 64 of 96 threads come to a barrier; the first 32 of them say that it is for all 96.
extern "C" __global__ void planted_counts(int* y, int fixed)
{
    if (threadIdx.x >= 64) return;
    int count = threadIdx.x < 32 && !fixed ? 96 : 64;
    asm volatile("barrier.sync 1, %0;" ::"r"(count) : "memory");
    y[threadIdx.x] = 1;
}

// y[i] = x[i], and one more behind the end unless it is fixed.
extern "C" __global__ void planted_write_outside(const int* x, int* y, unsigned n, int fixed)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (fixed ? i < n : i <= n) y[i] = x[0];
}

// y[i] = x[i + 1], which the last does not have.
extern "C" __global__ void planted_read_outside(const int* x, int* y, unsigned n, int fixed)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = fixed && i + 1 == n ? 0 : x[i + 1];
}

// y[i] = x[i], through shared memory that has room for as many threads as the block has, less one.
extern "C" __global__ void planted_shared_outside(const int* x, int* y, int fixed)
{
    extern __shared__ int room[];
    if (fixed && threadIdx.x + 1 == blockDim.x) return;
    room[threadIdx.x] = x[threadIdx.x];
    y[threadIdx.x] = room[threadIdx.x];
}

// y[i] = a square out of a table of eight in the thread's own memory; where is as far as the host says.
extern "C" __global__ void planted_local_outside(int* y, unsigned where, int fixed)
{
    volatile int table[8];
    for (int i = 0; i < 8; ++i) table[i] = i * i;
    y[threadIdx.x] = table[fixed ? where % 8 : where];
}

// y[i] = x[i] and x[i + 1] read as one long: every other one is misaligned.
extern "C" __global__ void planted_misaligned(const int* x, long long* y, int fixed)
{
    unsigned i = threadIdx.x;
    y[i] = *reinterpret_cast<const long long*>(x + (fixed ? i & ~1u : i));
}

// y[i] = x[i], of which the host has written a part only; the rest is left alone if it is fixed.
extern "C" __global__ void planted_unwritten(const int* x, int* y, unsigned n, int fixed)
{
    unsigned i = threadIdx.x;
    if (!fixed || i < n) y[i] = x[i];
}

// y[i] = the sum of all in shared memory, of which nobody has written the second half.
extern "C" __global__ void planted_unwritten_shared(const int* x, int* y, int fixed)
{
    __shared__ int tile[SHARED];
    tile[threadIdx.x] = x[threadIdx.x];
    if (fixed) tile[threadIdx.x + blockDim.x] = 0;
    __syncthreads();
    y[threadIdx.x] = tile[threadIdx.x] + tile[threadIdx.x + blockDim.x];
}

// y[1] = what block 0 left in shared memory, by an address that it handed on: by then it is another block's.
extern "C" __global__ void planted_block_over(int** address, int* y, int fixed)
{
    __shared__ int kept;
    if (blockIdx.x == 0) {
        kept = 5;
        *reinterpret_cast<int* volatile*>(address) = &kept;
        __threadfence();
        if (fixed) y[1] = kept;
    } else if (!fixed) {
        int* other;
        while ((other = *reinterpret_cast<int* volatile*>(address)) == nullptr) {
        }
        __threadfence();
        y[1] = *other;
    }
}

// Waits until *latch is set, then y[i] = x[i] + 1: what runs while something else happens to its memory.
extern "C" __global__ void planted_late(volatile int* latch, const int* x, int* y)
{
    while (*latch == 0) {
    }
    y[threadIdx.x] = x[threadIdx.x] + 1;
}

// y[0] = 7, kept in memory of the heap, which is read after it was freed unless it is fixed.
extern "C" __global__ void planted_heap_after_free(int* y, int fixed)
{
    volatile int* room = static_cast<volatile int*>(malloc(64));
    room[3] = 7;
    if (!fixed) free(const_cast<int*>(room));
    y[0] = room[3];
    if (fixed) free(const_cast<int*>(room));
}

// y[0] = 1, kept behind the 60 bytes that were asked for unless it is fixed.
extern "C" __global__ void planted_heap_outside(int* y, int fixed)
{
    volatile char* room = static_cast<volatile char*>(malloc(60));
    int last = fixed ? 59 : 60;
    room[last] = 1;
    y[0] = 1;
    free(const_cast<char*>(room));
}

// y[0] = 1; memory of the heap is freed once, and once more unless it is fixed.
extern "C" __global__ void planted_heap_twice(int* y, int fixed)
{
    volatile int* room = static_cast<volatile int*>(malloc(64));
    room[0] = 1;
    y[0] = room[0];
    free(const_cast<int*>(room));
    if (!fixed) free(const_cast<int*>(room));
}

// y[0] = 1; what is freed starts behind what was asked for unless it is fixed.
extern "C" __global__ void planted_heap_inside(int* y, int fixed)
{
    volatile int* room = static_cast<volatile int*>(malloc(64));
    room[0] = 1;
    y[0] = room[0];
    free(const_cast<int*>(room + (fixed ? 0 : 4)));
}
