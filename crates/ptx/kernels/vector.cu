// Sums of vectors, element by element: one thread each, and what is past the end does nothing.

// y[i] = a * x[i] + y[i], as one fused multiply-add.
extern "C" __global__ void saxpy(float a, const float* x, float* y, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}

// The same in double precision, with a loop over the grid: any number of threads does the work.
extern "C" __global__ void daxpy_strided(double a, const double* x, double* y, unsigned n)
{
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = a * x[i] + y[i];
}

// c[i] = a[i] + b[i]; integers wrap.
#define ADD(name, type)                                                                                   \
    extern "C" __global__ void name(const type* a, const type* b, type* c, unsigned n)                    \
    {                                                                                                     \
        unsigned i = blockIdx.x * blockDim.x + threadIdx.x;                                               \
        if (i < n) c[i] = a[i] + b[i];                                                                    \
    }
ADD(add_i8, signed char)
ADD(add_u8, unsigned char)
ADD(add_i16, short)
ADD(add_u16, unsigned short)
ADD(add_i32, int)
ADD(add_u32, unsigned)
ADD(add_i64, long long)
ADD(add_u64, unsigned long long)
ADD(add_f32, float)
ADD(add_f64, double)

// c[i] = a[i] + b[i] for groups of four, read and written 128 bits at a time; n counts groups.
extern "C" __global__ void add_float4(const float4* a, const float4* b, float4* c, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 x = a[i], y = b[i];
    c[i] = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
}

// The pairs of a with their halves swapped.
extern "C" __global__ void swap_double2(const double2* a, double2* b, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) b[i] = make_double2(a[i].y, a[i].x);
}

// The sum of the four bytes of each element.
extern "C" __global__ void sum_uchar4(const uchar4* a, unsigned* sums, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uchar4 x = a[i];
    sums[i] = x.x + x.y + x.z + x.w;
}

// b[i] = a[i], through the read-only cache.
extern "C" __global__ void copy_read_only(const int4* __restrict__ a, int4* __restrict__ b, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) b[i] = __ldg(a + i);
}
