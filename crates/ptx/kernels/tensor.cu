// Products of small matrices by a whole warp, with the fragments that the compiler hides.
#include <mma.h>

using namespace nvcuda;

// d = a * b + c of 16 by 16 halves into floats: a row by row, b column by column. One warp.
extern "C" __global__ void wmma_f16(const __half* a, const __half* b, const float* c, float* d)
{
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> right;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::load_matrix_sync(left, a, 16);
    wmma::load_matrix_sync(right, b, 16);
    wmma::load_matrix_sync(sum, c, 16, wmma::mem_row_major);
    wmma::mma_sync(sum, left, right, sum);
    wmma::store_matrix_sync(d, sum, 16, wmma::mem_row_major);
}

// d = a * b of 16 by 16 signed bytes into ints, both row by row.
extern "C" __global__ void wmma_s8(const signed char* a, const signed char* b, int* d)
{
    wmma::fragment<wmma::matrix_a, 16, 16, 16, signed char, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, signed char, wmma::row_major> right;
    wmma::fragment<wmma::accumulator, 16, 16, 16, int> sum;
    wmma::fill_fragment(sum, 0);
    wmma::load_matrix_sync(left, a, 16);
    wmma::load_matrix_sync(right, b, 16);
    wmma::mma_sync(sum, left, right, sum);
    wmma::store_matrix_sync(d, sum, 16, wmma::mem_row_major);
}

// The registers of ldmatrix: y[k * 32 + lane] = the lane's k-th register of four 8 by 8 matrices of 16 bits, plain, then
// transposed. One warp; x has 256 elements.
extern "C" __global__ void ldmatrix(const unsigned short* x, unsigned* y)
{
    __shared__ __align__(16) unsigned short tile[256];
    for (int i = 0; i < 8; ++i) tile[threadIdx.x * 8 + i] = x[threadIdx.x * 8 + i];
    __syncwarp();
    unsigned address = (unsigned)__cvta_generic_to_shared(tile + threadIdx.x * 8);
    unsigned r[4];
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address));
    for (int k = 0; k < 4; ++k) y[k * 32 + threadIdx.x] = r[k];
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address));
    for (int k = 0; k < 4; ++k) y[(k + 4) * 32 + threadIdx.x] = r[k];
}

// One m16n8k8 product of halves: a, b, c as each lane holds them, 2, 1 and 4 registers; d the same 4.
extern "C" __global__ void mma_m16n8k8(const unsigned* a, const unsigned* b, const float* c, float* d)
{
    unsigned lane = threadIdx.x;
    float r[4];
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %8, %9, %10};"
        : "=f"(r[0]), "=f"(r[1]), "=f"(r[2]), "=f"(r[3])
        : "r"(a[2 * lane]), "r"(a[2 * lane + 1]), "r"(b[lane]),
          "f"(c[4 * lane]), "f"(c[4 * lane + 1]), "f"(c[4 * lane + 2]), "f"(c[4 * lane + 3]));
    for (int k = 0; k < 4; ++k) d[4 * lane + k] = r[k];
}
