// Products of matrices by fragments of every shape that halves and bytes have.
#include <mma.h>

using namespace nvcuda;

// c = alpha * a * b + c, a of m by k and b of k by n halves, both row by row, c in floats: blocks of four warps, each with 16 by
// 16 of 32 by 32 elements, through shared memory whose rows are padded. m and n are multiples of 32, k of 16.
extern "C" __global__ void fragment_gemm_f16(const __half* a, const __half* b, float* c, float alpha, unsigned n, unsigned k)
{
    __shared__ __align__(32) __half left[32][24];
    __shared__ __align__(32) __half right[16][40];
    unsigned warp = threadIdx.x / 32, top = blockIdx.y * 32, start = blockIdx.x * 32;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum, old;
    wmma::fill_fragment(sum, 0.0f);
    for (unsigned from = 0; from < k; from += 16) {
        for (unsigned i = threadIdx.x; i < 512; i += blockDim.x) {
            left[i / 16][i % 16] = a[(top + i / 16) * k + from + i % 16];
            right[i / 32][i % 32] = b[(from + i / 32) * n + start + i % 32];
        }
        __syncthreads();
        wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> x;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> y;
        wmma::load_matrix_sync(x, &left[warp / 2 * 16][0], 24);
        wmma::load_matrix_sync(y, &right[0][warp % 2 * 16], 40);
        wmma::mma_sync(sum, x, y, sum);
        __syncthreads();
    }
    float* place = c + (top + warp / 2 * 16) * n + start + warp % 2 * 16;
    wmma::load_matrix_sync(old, place, n, wmma::mem_row_major);
    for (int i = 0; i < sum.num_elements; ++i) sum.x[i] = alpha * sum.x[i] + old.x[i];
    wmma::store_matrix_sync(place, sum, n, wmma::mem_row_major);
}

// c = a * b of signed bytes into ints that do not wrap, a row by row and b column by column, c column by column: a warp for each
// 32 by 8 elements. m is a multiple of 32, n of 8, k of 16.
extern "C" __global__ void fragment_gemm_s8(const signed char* a, const signed char* b, int* c, unsigned m, unsigned k)
{
    wmma::fragment<wmma::accumulator, 32, 8, 16, int> sum;
    wmma::fill_fragment(sum, 0);
    for (unsigned from = 0; from < k; from += 16) {
        wmma::fragment<wmma::matrix_a, 32, 8, 16, signed char, wmma::row_major> x;
        wmma::fragment<wmma::matrix_b, 32, 8, 16, signed char, wmma::col_major> y;
        wmma::load_matrix_sync(x, a + blockIdx.y * 32 * k + from, k);
        wmma::load_matrix_sync(y, b + blockIdx.x * 8 * k + from, k);
        wmma::mma_sync(sum, x, y, sum, true);
    }
    wmma::store_matrix_sync(c + blockIdx.x * 8 * m + blockIdx.y * 32, sum, m, wmma::mem_col_major);
}

// What each lane has of fragments of 8 by 32 elements, 16 between them: 16 elements of a and of b, 8 of c. One warp; the matrices
// lie column by column.
extern "C" __global__ void fragment_elements(const __half* a, const __half* b, const __half* c, __half* y)
{
    wmma::fragment<wmma::matrix_a, 8, 32, 16, __half, wmma::col_major> first;
    wmma::fragment<wmma::matrix_b, 8, 32, 16, __half, wmma::col_major> second;
    wmma::fragment<wmma::accumulator, 8, 32, 16, __half> sum;
    wmma::load_matrix_sync(first, a, 8);
    wmma::load_matrix_sync(second, b, 16);
    wmma::load_matrix_sync(sum, c, 8, wmma::mem_col_major);
    __half* own = y + threadIdx.x * 40;
    for (int i = 0; i < 16; ++i) own[i] = first.x[i];
    for (int i = 0; i < 16; ++i) own[16 + i] = second.x[i];
    for (int i = 0; i < 8; ++i) own[32 + i] = sum.x[i];
}

// d = a * b + d of 4-bit integers, 32 between them, and e = the bits in which rows of p and columns of q differ, 128 of them, added
// to e: 8 by 8 elements, one warp.
extern "C" __global__ void fragment_parts_of_bytes(const void* a, const void* b, int* d, const void* p, const void* q, int* e)
{
    using namespace wmma::experimental;
    wmma::fragment<wmma::matrix_a, 8, 8, 32, precision::s4, wmma::row_major> x;
    wmma::fragment<wmma::matrix_b, 8, 8, 32, precision::s4, wmma::col_major> y;
    wmma::fragment<wmma::accumulator, 8, 8, 32, int> sum;
    wmma::load_matrix_sync(x, a, 32);
    wmma::load_matrix_sync(y, b, 32);
    wmma::load_matrix_sync(sum, d, 8, wmma::mem_row_major);
    wmma::mma_sync(sum, x, y, sum);
    wmma::store_matrix_sync(d, sum, 8, wmma::mem_row_major);
    wmma::fragment<wmma::matrix_a, 8, 8, 128, precision::b1, wmma::row_major> rows;
    wmma::fragment<wmma::matrix_b, 8, 8, 128, precision::b1, wmma::col_major> columns;
    wmma::fragment<wmma::accumulator, 8, 8, 128, int> count;
    wmma::load_matrix_sync(rows, p, 128);
    wmma::load_matrix_sync(columns, q, 128);
    wmma::load_matrix_sync(count, e, 8, wmma::mem_row_major);
    wmma::bmma_sync(count, rows, columns, count);
    wmma::store_matrix_sync(e, count, 8, wmma::mem_row_major);
}
