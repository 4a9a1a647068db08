// architectures: 90
// Features of compute capability 9.0: bulk copies, barriers that count bytes, clusters.

__device__ unsigned shared_address(const void* pointer) { return (unsigned)__cvta_generic_to_shared(pointer); }

// y[i] = 2 * x[i]: each block's 256 ints come by one bulk copy, which a barrier counts by bytes. 256 threads.
extern "C" __global__ void bulk_copy(const int* x, int* y)
{
    __shared__ __align__(128) int part[256];
    __shared__ unsigned long long barrier;
    unsigned address = shared_address(&barrier), t = threadIdx.x, start = blockIdx.x * 256;
    if (t == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(address) : "memory");
        asm volatile("fence.proxy.async;" ::: "memory");
    }
    __syncthreads();
    if (t == 0) {
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 1024;" :: "r"(address) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 1024, [%2];"
            :: "r"(shared_address(part)), "l"(x + start), "r"(address) : "memory");
    }
    asm volatile("{ .reg .pred done;\n"
        "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], 0;\n\t@done bra over;\n\tbra again;\nover: }" :: "r"(address) : "memory");
    y[start + t] = 2 * part[t];
}

// y[i] = x of the block's neighbour in a cluster of two: read from its shared memory. 64 threads.
extern "C" __global__ void __cluster_dims__(2, 1, 1) cluster_neighbours(const int* x, int* y)
{
    __shared__ int part[64];
    unsigned rank, there;
    int value;
    part[threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x];
    asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(shared_address(part + threadIdx.x)), "r"(rank ^ 1));
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(there) : "memory");
    y[blockIdx.x * 64 + threadIdx.x] = value;
    asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// y[i] = x[i] + 1, and the kernel behind it may start before this one is over.
extern "C" __global__ void early_launch(const int* x, int* y)
{
    asm volatile("griddepcontrol.wait;" ::: "memory");
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = x[i] + 1;
    asm volatile("griddepcontrol.launch_dependents;");
}
