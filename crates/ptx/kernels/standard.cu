// CUDA C++ library (libcu++): barriers, pipelines, semaphores and atomic references, by its headers.
// architectures: 80 90
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/pipeline>
#include <cuda/semaphore>
#pragma nv_diag_suppress static_var_with_dynamic_init

using namespace cuda;

// One block of 128 threads: in each round every thread takes what its right neighbour had, and one more: y[0]. y[1] = x backwards, copied
// beside the threads. The odd threads leave the barrier then, and the others meet once more.
extern "C" __global__ void standard_barrier(const int* x, int* y, unsigned rounds)
{
    __shared__ barrier<thread_scope_block> meeting;
    __shared__ int part[128];
    unsigned i = threadIdx.x;
    if (i == 0) init(&meeting, 128);
    __syncthreads();
    int value = x[i];
    for (unsigned round = 0; round < rounds; ++round) {
        part[i] = value;
        auto token = meeting.arrive();
        meeting.wait(static_cast<decltype(token)&&>(token));
        value = part[(i + 1) % 128] + 1;
        meeting.arrive_and_wait();
    }
    y[i] = value;
    memcpy_async(part + i, x + i, sizeof(int), meeting);
    meeting.arrive_and_wait();
    y[128 + i] = part[127 - i];
    if (i % 2) {
        meeting.arrive_and_drop();
        return;
    }
    meeting.arrive_and_wait();
    auto token = meeting.arrive();
    while (!meeting.try_wait_for(static_cast<decltype(token)&&>(token), cuda::std::chrono::nanoseconds(1000))) {}
}

struct Block {
    __device__ void sync() const { __syncthreads(); }
    __device__ unsigned size() const { return blockDim.x; }
    __device__ unsigned thread_rank() const { return threadIdx.x; }
};

// One block of 128 threads: y[0] = the sum of rows of x, read backwards, two stages at a time; y[1] = the first row, by a pipeline of each thread's own.
extern "C" __global__ void standard_pipeline(const int* x, int* y, unsigned rows)
{
    __shared__ pipeline_shared_state<thread_scope_block, 2> state;
    __shared__ int part[2][128];
    unsigned i = threadIdx.x;
    auto stages = make_pipeline(Block(), &state);
    int sum = 0;
    for (unsigned row = 0, next = 0; row < rows; ++row) {
        for (; next < rows && next < row + 2; ++next) {
            stages.producer_acquire();
            memcpy_async(&part[next % 2][i], x + next * 128 + i, sizeof(int), stages);
            stages.producer_commit();
        }
        stages.consumer_wait();
        sum += part[row % 2][127 - i];
        stages.consumer_release();
    }
    y[i] = sum;
    __syncthreads();
    auto own = make_pipeline();
    own.producer_acquire();
    memcpy_async(&part[0][i], x + i, sizeof(int), own);
    own.producer_commit();
    pipeline_consumer_wait_prior<0>(own);
    y[128 + i] = part[0][i];
    own.consumer_release();
}

// One block: counted[0] = its warps, each counted by its first thread while it has the semaphore; y = that, read by every thread behind a latch.
extern "C" __global__ void standard_semaphore(int* counted, int* y)
{
    __shared__ counting_semaphore<thread_scope_block, 1> one;
    __shared__ __align__(8) char room[sizeof(latch<thread_scope_block>)];
    auto& all = *reinterpret_cast<latch<thread_scope_block>*>(room);
    if (threadIdx.x == 0) {
        new (&one) counting_semaphore<thread_scope_block, 1>(1);
        new (&all) latch<thread_scope_block>(blockDim.x);
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        one.acquire();
        atomic_ref<int, thread_scope_block> count(*counted);
        count.store(count.load(cuda::std::memory_order_relaxed) + 1, cuda::std::memory_order_relaxed);
        one.release();
    }
    all.arrive_and_wait();
    y[threadIdx.x] = *counted;
}

// Every operation in several orders; what they found, added up.
template <typename T, thread_scope S>
__device__ T all_orders(T* place, T v)
{
    atomic_ref<T, S> r(*place);
    T found = r.load(cuda::std::memory_order_relaxed) + r.load(cuda::std::memory_order_acquire) + r.load(cuda::std::memory_order_seq_cst);
    r.store(v, cuda::std::memory_order_relaxed);
    r.store(v, cuda::std::memory_order_release);
    r.store(v, cuda::std::memory_order_seq_cst);
    found += r.exchange(v, cuda::std::memory_order_acq_rel) + r.exchange(v, cuda::std::memory_order_seq_cst);
    T expected = v;
    found += r.compare_exchange_strong(expected, v + 1, cuda::std::memory_order_acq_rel, cuda::std::memory_order_acquire);
    expected = v;
    found += r.compare_exchange_weak(expected, v + 2, cuda::std::memory_order_seq_cst);
    found += r.fetch_add(v, cuda::std::memory_order_relaxed) + r.fetch_add(v, cuda::std::memory_order_release);
    found += r.fetch_sub(v) + r.fetch_max(v, cuda::std::memory_order_acquire) + r.fetch_min(v);
    return found;
}

template <typename T, thread_scope S>
__device__ T all_bits(T* place, T v)
{
    atomic_ref<T, S> r(*place);
    T found = all_orders<T, S>(place, v);
    return found + r.fetch_and(v, cuda::std::memory_order_acq_rel) + r.fetch_or(v) + r.fetch_xor(v, cuda::std::memory_order_relaxed);
}

// One thread; places are 2 before: sums[k] = 3 * 2 + 15 * 3 + 6 for each of ten integers of 32, 64, 16 and 8 bits in several scopes and in shared memory;
// floats[k] = 3 * 2 + 12 * 3 + 6 for three of floating point. places are 0 behind, those of floating point 3.
extern "C" __global__ void standard_atomics(long long* places, double* reals, long long* sums, double* floats)
{
    __shared__ int word;
    __shared__ unsigned long long wide;
    __shared__ float real;
    word = 2, wide = 2, real = 2;
    sums[0] = all_bits<int, thread_scope_device>((int*)places, 3);
    sums[1] = all_bits<unsigned, thread_scope_system>((unsigned*)(places + 1), 3);
    sums[2] = all_bits<int, thread_scope_block>((int*)(places + 2), 3);
    sums[3] = all_bits<long long, thread_scope_device>(places + 3, 3);
    sums[4] = all_bits<unsigned long long, thread_scope_thread>((unsigned long long*)(places + 4), 3);
    sums[5] = all_bits<short, thread_scope_device>((short*)(places + 5), 3);
    sums[6] = all_bits<unsigned short, thread_scope_block>((unsigned short*)(places + 6), 3);
    sums[7] = all_bits<unsigned char, thread_scope_device>((unsigned char*)(places + 7), 3);
    sums[8] = all_bits<int, thread_scope_block>(&word, 3);
    sums[9] = all_bits<unsigned long long, thread_scope_block>(&wide, 3);
    floats[0] = all_orders<double, thread_scope_device>(reals, 3);
    floats[1] = all_orders<float, thread_scope_system>((float*)(reals + 1), 3);
    floats[2] = all_orders<float, thread_scope_block>(&real, 3);
    atomic_thread_fence(cuda::std::memory_order_seq_cst, thread_scope_device);
    atomic_thread_fence(cuda::std::memory_order_acquire, thread_scope_block);
    atomic_thread_fence(cuda::std::memory_order_release, thread_scope_system);
}
