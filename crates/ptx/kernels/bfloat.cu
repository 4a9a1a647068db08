// architectures: 80 90
// 16-bit floats with the exponent of f32, whose arithmetic came with compute capability 8.0.
#include <cuda_bf16.h>

// y[i] = a * x[i] + y[i] in bf16, as one fused multiply-add.
extern "C" __global__ void bfloat_axpy(__nv_bfloat16 a, const __nv_bfloat16* x, __nv_bfloat16* y, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = __hfma(a, x[i], y[i]);
}

// Two at a time: y[k][i] = a + b, a * b, min, max; n counts pairs.
extern "C" __global__ void bfloat2_operations(const __nv_bfloat162* a, const __nv_bfloat162* b, __nv_bfloat162* y, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    y[i] = __hadd2(a[i], b[i]);
    y[n + i] = __hmul2(a[i], b[i]);
    y[2 * n + i] = __hmin2(a[i], b[i]);
    y[3 * n + i] = __hmax2(a[i], b[i]);
}
