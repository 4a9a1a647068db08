// 16-bit floats.
#include <cuda_fp16.h>
#include <cuda_bf16.h>

// y[i] = a * x[i] + y[i] in f16, as one fused multiply-add.
extern "C" __global__ void half_axpy(__half a, const __half* x, __half* y, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = __hfma(a, x[i], y[i]);
}

// Two at a time: y[k][i] = a + b, a - b, a * b, min, max, -a, |a|; n counts pairs. Comparison a < b as 0 or 1 in the last.
extern "C" __global__ void half2_operations(const __half2* a, const __half2* b, __half2* y, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __half2 u = a[i], v = b[i];
    y[i] = __hadd2(u, v);
    y[n + i] = __hsub2(u, v);
    y[2 * n + i] = __hmul2(u, v);
    y[3 * n + i] = __hmin2(u, v);
    y[4 * n + i] = __hmax2(u, v);
    y[5 * n + i] = __hneg2(u);
    y[6 * n + i] = __habs2(u);
    y[7 * n + i] = __hlt2(u, v);
}

// From f32 and back: rounded to nearest, to zero, up, down in f16, to nearest in bf16.
extern "C" __global__ void half_conversions(const float* x, float* y, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    y[i] = __half2float(__float2half_rn(x[i]));
    y[n + i] = __half2float(__float2half_rz(x[i]));
    y[2 * n + i] = __half2float(__float2half_ru(x[i]));
    y[3 * n + i] = __half2float(__float2half_rd(x[i]));
    y[4 * n + i] = __bfloat162float(__float2bfloat16_rn(x[i]));
}

// y[k][i]: x as int rounded to nearest, to zero, up, down; then int back to f16.
extern "C" __global__ void half_integers(const __half* x, int* y, __half* back, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    y[i] = __half2int_rn(x[i]);
    y[n + i] = __half2int_rz(x[i]);
    y[2 * n + i] = __half2int_ru(x[i]);
    y[3 * n + i] = __half2int_rd(x[i]);
    back[i] = __int2half_rn(y[i]);
}

// Of f16: sqrt, reciprocal, exp2, log2, divided by three.
extern "C" __global__ void half_functions(const __half* x, __half* y, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    y[i] = hsqrt(x[i]);
    y[n + i] = hrcp(x[i]);
    y[2 * n + i] = hexp2(x[i]);
    y[3 * n + i] = hlog2(x[i]);
    y[4 * n + i] = __hdiv(x[i], __float2half(3.0f));
}

// *sum += x in pairs of f16, atomically.
extern "C" __global__ void half2_atomic_sum(const __half2* x, __half2* sum, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(sum, x[i]);
}
