// Products of matrices by fragments of singles, doubles and brain floats.
// architectures: 80 90
#include <cuda_bf16.h>
#include <mma.h>

using namespace nvcuda;

// c = a * b of n by n singles that are cut to 10 bits of fraction, row by row: a warp for each 16 by 16 elements. n is a multiple of 16.
extern "C" __global__ void fragment_gemm_tf32(const float* a, const float* b, float* c, unsigned n)
{
    wmma::fragment<wmma::accumulator, 16, 16, 8, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    for (unsigned from = 0; from < n; from += 8) {
        wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> x;
        wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::row_major> y;
        wmma::load_matrix_sync(x, a + blockIdx.y * 16 * n + from, n);
        wmma::load_matrix_sync(y, b + from * n + blockIdx.x * 16, n);
        for (int i = 0; i < x.num_elements; ++i) x.x[i] = wmma::__float_to_tf32(x.x[i]);
        for (int i = 0; i < y.num_elements; ++i) y.x[i] = wmma::__float_to_tf32(y.x[i]);
        wmma::mma_sync(sum, x, y, sum);
    }
    wmma::store_matrix_sync(c + blockIdx.y * 16 * n + blockIdx.x * 16, sum, n, wmma::mem_row_major);
}

// c = a * b + c of n by n doubles, each product fused into its sum; a column by column, b and c row by row: a warp for each 8 by 8
// elements. n is a multiple of 8.
extern "C" __global__ void fragment_gemm_f64(const double* a, const double* b, double* c, unsigned n)
{
    double* place = c + blockIdx.y * 8 * n + blockIdx.x * 8;
    wmma::fragment<wmma::accumulator, 8, 8, 4, double> sum;
    wmma::load_matrix_sync(sum, place, n, wmma::mem_row_major);
    for (unsigned from = 0; from < n; from += 4) {
        wmma::fragment<wmma::matrix_a, 8, 8, 4, double, wmma::col_major> x;
        wmma::fragment<wmma::matrix_b, 8, 8, 4, double, wmma::row_major> y;
        wmma::load_matrix_sync(x, a + from * n + blockIdx.y * 8, n);
        wmma::load_matrix_sync(y, b + from * n + blockIdx.x * 8, n);
        wmma::mma_sync(sum, x, y, sum);
    }
    wmma::store_matrix_sync(place, sum, n, wmma::mem_row_major);
}

// c = a * b of 8 by k and k by 32 brain floats into singles, a row by row, b and c column by column. One warp; k is a multiple of 16.
extern "C" __global__ void fragment_gemm_bf16(const __nv_bfloat16* a, const __nv_bfloat16* b, float* c, unsigned k)
{
    wmma::fragment<wmma::accumulator, 8, 32, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    for (unsigned from = 0; from < k; from += 16) {
        wmma::fragment<wmma::matrix_a, 8, 32, 16, __nv_bfloat16, wmma::row_major> x;
        wmma::fragment<wmma::matrix_b, 8, 32, 16, __nv_bfloat16, wmma::col_major> y;
        wmma::load_matrix_sync(x, a + from, k);
        wmma::load_matrix_sync(y, b + from, k);
        wmma::mma_sync(sum, x, y, sum);
    }
    wmma::store_matrix_sync(c, sum, 8, wmma::mem_col_major);
}
