// Functions of f32: y[k * n + i] = f(x[i]) for the k-th function below.

#define ROW(k, value) y[k * n + i] = (value)

// exp exp2 exp10 expm1 log log2 log10 log1p sqrt rsqrt cbrt rcbrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh
// erf erfc lgamma tgamma floor ceil trunc round rint fabs
extern "C" __global__ void libm_f32(const float* x, float* y, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i];
    ROW(0, expf(v)); ROW(1, exp2f(v)); ROW(2, exp10f(v)); ROW(3, expm1f(v));
    ROW(4, logf(v)); ROW(5, log2f(v)); ROW(6, log10f(v)); ROW(7, log1pf(v));
    ROW(8, sqrtf(v)); ROW(9, rsqrtf(v)); ROW(10, cbrtf(v)); ROW(11, rcbrtf(v));
    ROW(12, sinf(v)); ROW(13, cosf(v)); ROW(14, tanf(v));
    ROW(15, asinf(v)); ROW(16, acosf(v)); ROW(17, atanf(v));
    ROW(18, sinhf(v)); ROW(19, coshf(v)); ROW(20, tanhf(v));
    ROW(21, asinhf(v)); ROW(22, acoshf(v)); ROW(23, atanhf(v));
    ROW(24, erff(v)); ROW(25, erfcf(v)); ROW(26, lgammaf(v)); ROW(27, tgammaf(v));
    ROW(28, floorf(v)); ROW(29, ceilf(v)); ROW(30, truncf(v)); ROW(31, roundf(v)); ROW(32, rintf(v)); ROW(33, fabsf(v));
}

// The approximate ones of the hardware: exp exp10 log log2 log10 sin cos tan, and y / x as divide and as reciprocal.
extern "C" __global__ void libm_fast_f32(const float* x, float* y, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i];
    ROW(0, __expf(v)); ROW(1, __exp10f(v)); ROW(2, __logf(v)); ROW(3, __log2f(v)); ROW(4, __log10f(v));
    ROW(5, __sinf(v)); ROW(6, __cosf(v)); ROW(7, __tanf(v)); ROW(8, __fdividef(3.0f, v)); ROW(9, __frcp_rn(v));
}

// Of two arguments: pow atan2 fmod remainder hypot fdim fmin fmax copysign nextafter, and ldexp and ilogb and frexp of the first.
extern "C" __global__ void libm_pairs_f32(const float* a, const float* b, float* y, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = a[i], w = b[i];
    int exponent;
    ROW(0, powf(v, w)); ROW(1, atan2f(v, w)); ROW(2, fmodf(v, w)); ROW(3, remainderf(v, w)); ROW(4, hypotf(v, w));
    ROW(5, fdimf(v, w)); ROW(6, fminf(v, w)); ROW(7, fmaxf(v, w)); ROW(8, copysignf(v, w)); ROW(9, nextafterf(v, w));
    ROW(10, ldexpf(v, 3)); ROW(11, (float)ilogbf(v)); ROW(12, frexpf(v, &exponent)); ROW(13, (float)exponent);
}
