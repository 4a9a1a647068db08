// Arithmetic that IEEE 754 fixes to the bit: y[k * n + i] = the k-th operation below of a[i], b[i], c[i].

#define ROW(k, value) y[k * n + i] = (value)

// add, sub, mul, div, rcp, sqrt, fma: each rounded to nearest, to zero, up, down; then a kept between 0 and 1.
extern "C" __global__ void ieee_f32(const float* a, const float* b, const float* c, float* y, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float u = a[i], v = b[i], w = c[i];
    ROW(0, __fadd_rn(u, v)); ROW(1, __fadd_rz(u, v)); ROW(2, __fadd_ru(u, v)); ROW(3, __fadd_rd(u, v));
    ROW(4, __fsub_rn(u, v)); ROW(5, __fsub_rz(u, v)); ROW(6, __fsub_ru(u, v)); ROW(7, __fsub_rd(u, v));
    ROW(8, __fmul_rn(u, v)); ROW(9, __fmul_rz(u, v)); ROW(10, __fmul_ru(u, v)); ROW(11, __fmul_rd(u, v));
    ROW(12, __fdiv_rn(u, v)); ROW(13, __fdiv_rz(u, v)); ROW(14, __fdiv_ru(u, v)); ROW(15, __fdiv_rd(u, v));
    ROW(16, __frcp_rn(u)); ROW(17, __frcp_rz(u)); ROW(18, __frcp_ru(u)); ROW(19, __frcp_rd(u));
    ROW(20, __fsqrt_rn(u)); ROW(21, __fsqrt_rz(u)); ROW(22, __fsqrt_ru(u)); ROW(23, __fsqrt_rd(u));
    ROW(24, __fmaf_rn(u, v, w)); ROW(25, __fmaf_rz(u, v, w)); ROW(26, __fmaf_ru(u, v, w)); ROW(27, __fmaf_rd(u, v, w));
    ROW(28, __saturatef(u));
}

// The same in double precision, without the last.
extern "C" __global__ void ieee_f64(const double* a, const double* b, const double* c, double* y, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double u = a[i], v = b[i], w = c[i];
    ROW(0, __dadd_rn(u, v)); ROW(1, __dadd_rz(u, v)); ROW(2, __dadd_ru(u, v)); ROW(3, __dadd_rd(u, v));
    ROW(4, __dsub_rn(u, v)); ROW(5, __dsub_rz(u, v)); ROW(6, __dsub_ru(u, v)); ROW(7, __dsub_rd(u, v));
    ROW(8, __dmul_rn(u, v)); ROW(9, __dmul_rz(u, v)); ROW(10, __dmul_ru(u, v)); ROW(11, __dmul_rd(u, v));
    ROW(12, __ddiv_rn(u, v)); ROW(13, __ddiv_rz(u, v)); ROW(14, __ddiv_ru(u, v)); ROW(15, __ddiv_rd(u, v));
    ROW(16, __drcp_rn(u)); ROW(17, __drcp_rz(u)); ROW(18, __drcp_ru(u)); ROW(19, __drcp_rd(u));
    ROW(20, __dsqrt_rn(u)); ROW(21, __dsqrt_rz(u)); ROW(22, __dsqrt_ru(u)); ROW(23, __dsqrt_rd(u));
    ROW(24, __fma_rn(u, v, w)); ROW(25, __fma_rz(u, v, w)); ROW(26, __fma_ru(u, v, w)); ROW(27, __fma_rd(u, v, w));
}

// Comparisons as bits, from 0: < <= > >= == != isnan(a) isinf(a) signbit(a), then < <= > >= as not unordered.
extern "C" __global__ void compare_f32(const float* a, const float* b, unsigned* bits, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float u = a[i], v = b[i];
    unsigned found = 0;
    if (u < v) found |= 1;
    if (u <= v) found |= 2;
    if (u > v) found |= 4;
    if (u >= v) found |= 8;
    if (u == v) found |= 16;
    if (u != v) found |= 32;
    if (isnan(u)) found |= 64;
    if (isinf(u)) found |= 128;
    if (signbit(u)) found |= 256;
    if (!(u >= v)) found |= 512;
    if (!(u > v)) found |= 1024;
    if (!(u <= v)) found |= 2048;
    if (!(u < v)) found |= 4096;
    bits[i] = found;
}
