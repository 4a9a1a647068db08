// Conversions between all types.

struct Outputs {
    signed char* i8;
    unsigned char* u8;
    short* i16;
    unsigned short* u16;
    int* i32;
    unsigned* u32;
    long long* i64;
    unsigned long long* u64;
    float* f32;
    double* f64;
};

// to.T[i] = (T)x[i] for each of ten types T; out of range is what cvt makes of it.
#define CONVERT(name, type)                                                                               \
    extern "C" __global__ void name(const type* x, Outputs to, unsigned n)                                \
    {                                                                                                     \
        unsigned i = blockIdx.x * blockDim.x + threadIdx.x;                                               \
        if (i >= n) return;                                                                               \
        type v = x[i];                                                                                    \
        to.i8[i] = (signed char)v;                                                                        \
        to.u8[i] = (unsigned char)v;                                                                      \
        to.i16[i] = (short)v;                                                                             \
        to.u16[i] = (unsigned short)v;                                                                    \
        to.i32[i] = (int)v;                                                                               \
        to.u32[i] = (unsigned)v;                                                                          \
        to.i64[i] = (long long)v;                                                                         \
        to.u64[i] = (unsigned long long)v;                                                                \
        to.f32[i] = (float)v;                                                                             \
        to.f64[i] = (double)v;                                                                            \
    }
CONVERT(convert_i8, signed char)
CONVERT(convert_u8, unsigned char)
CONVERT(convert_i16, short)
CONVERT(convert_u16, unsigned short)
CONVERT(convert_i32, int)
CONVERT(convert_u32, unsigned)
CONVERT(convert_i64, long long)
CONVERT(convert_u64, unsigned long long)
CONVERT(convert_f32, float)
CONVERT(convert_f64, double)

#define ROW(k, value) y[k * n + i] = (long long)(value)

// Floats to integers, rounded to nearest, to zero, up, down: f32 to i32, u32, i64, u64, then f64 to the same.
extern "C" __global__ void round_to_integers(const float* narrow, const double* wide, long long* y, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = narrow[i];
    double w = wide[i];
    ROW(0, __float2int_rn(v)); ROW(1, __float2int_rz(v)); ROW(2, __float2int_ru(v)); ROW(3, __float2int_rd(v));
    ROW(4, __float2uint_rn(v)); ROW(5, __float2uint_rz(v)); ROW(6, __float2uint_ru(v)); ROW(7, __float2uint_rd(v));
    ROW(8, __float2ll_rn(v)); ROW(9, __float2ll_rz(v)); ROW(10, __float2ll_ru(v)); ROW(11, __float2ll_rd(v));
    ROW(12, __float2ull_rn(v)); ROW(13, __float2ull_rz(v)); ROW(14, __float2ull_ru(v)); ROW(15, __float2ull_rd(v));
    ROW(16, __double2int_rn(w)); ROW(17, __double2int_rz(w)); ROW(18, __double2int_ru(w)); ROW(19, __double2int_rd(w));
    ROW(20, __double2uint_rn(w)); ROW(21, __double2uint_rz(w)); ROW(22, __double2uint_ru(w)); ROW(23, __double2uint_rd(w));
    ROW(24, __double2ll_rn(w)); ROW(25, __double2ll_rz(w)); ROW(26, __double2ll_ru(w)); ROW(27, __double2ll_rd(w));
    ROW(28, __double2ull_rn(w)); ROW(29, __double2ull_rz(w)); ROW(30, __double2ull_ru(w)); ROW(31, __double2ull_rd(w));
}

#undef ROW
#define ROW(k, value) y[k * n + i] = (double)(value)

// To f32, rounded to nearest, to zero, up, down: from i32, i64, u64, f64; then to f64 from i64 and u64.
extern "C" __global__ void round_to_floats(const long long* x, const double* wide, double* y, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    long long v = x[i];
    int narrow = (int)v;
    unsigned long long u = (unsigned long long)v;
    double w = wide[i];
    ROW(0, __int2float_rn(narrow)); ROW(1, __int2float_rz(narrow)); ROW(2, __int2float_ru(narrow)); ROW(3, __int2float_rd(narrow));
    ROW(4, __ll2float_rn(v)); ROW(5, __ll2float_rz(v)); ROW(6, __ll2float_ru(v)); ROW(7, __ll2float_rd(v));
    ROW(8, __ull2float_rn(u)); ROW(9, __ull2float_rz(u)); ROW(10, __ull2float_ru(u)); ROW(11, __ull2float_rd(u));
    ROW(12, __double2float_rn(w)); ROW(13, __double2float_rz(w)); ROW(14, __double2float_ru(w)); ROW(15, __double2float_rd(w));
    ROW(16, __ll2double_rn(v)); ROW(17, __ll2double_rz(v)); ROW(18, __ll2double_ru(v)); ROW(19, __ll2double_rd(v));
    ROW(20, __ull2double_rn(u)); ROW(21, __ull2double_rz(u)); ROW(22, __ull2double_ru(u)); ROW(23, __ull2double_rd(u));
}
