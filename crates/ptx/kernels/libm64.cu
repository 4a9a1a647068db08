// Functions of f64: y[k * n + i] = f(x[i]) for the k-th function below.

#define ROW(k, value) y[k * n + i] = (value)

// exp log sqrt rsqrt cbrt sin cos tan asin acos atan sinh tanh erf floor ceil trunc rint fabs log1p
extern "C" __global__ void libm_f64(const double* x, double* y, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double v = x[i];
    ROW(0, exp(v)); ROW(1, log(v)); ROW(2, sqrt(v)); ROW(3, rsqrt(v)); ROW(4, cbrt(v));
    ROW(5, sin(v)); ROW(6, cos(v)); ROW(7, tan(v)); ROW(8, asin(v)); ROW(9, acos(v)); ROW(10, atan(v));
    ROW(11, sinh(v)); ROW(12, tanh(v)); ROW(13, erf(v));
    ROW(14, floor(v)); ROW(15, ceil(v)); ROW(16, trunc(v)); ROW(17, rint(v)); ROW(18, fabs(v)); ROW(19, log1p(v));
}

// Of two arguments: pow atan2 fmod hypot fmin fmax copysign.
extern "C" __global__ void libm_pairs_f64(const double* a, const double* b, double* y, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double v = a[i], w = b[i];
    ROW(0, pow(v, w)); ROW(1, atan2(v, w)); ROW(2, fmod(v, w)); ROW(3, hypot(v, w));
    ROW(4, fmin(v, w)); ROW(5, fmax(v, w)); ROW(6, copysign(v, w));
}
