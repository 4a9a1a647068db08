// Integers and their bits: y[k * n + i] = the k-th operation below of a[i], b[i].

#define ROW(k, value) y[k * n + i] = (value)

// popc clz ffs brev, byte permutation, funnel shifts left and right, high products signed and unsigned, 24-bit products, sum of
// absolute differences, halved sums, bit fields extracted (signed, unsigned) and inserted, dot products of bytes.
extern "C" __global__ void bits_u32(const unsigned* a, const unsigned* b, unsigned* y, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned u = a[i], v = b[i], field;
    ROW(0, __popc(u)); ROW(1, __clz(u)); ROW(2, __ffs(u)); ROW(3, __brev(u));
    ROW(4, __byte_perm(u, v, 0x7250)); ROW(5, __byte_perm(u, v, v));
    ROW(6, __funnelshift_l(u, v, u)); ROW(7, __funnelshift_r(u, v, v)); ROW(8, __funnelshift_lc(u, v, u)); ROW(9, __funnelshift_rc(u, v, v));
    ROW(10, __mulhi(u, v)); ROW(11, __umulhi(u, v)); ROW(12, __mul24(u, v)); ROW(13, __umul24(u, v));
    ROW(14, __usad(u, v, 7)); ROW(15, __sad(u, v, 7)); ROW(16, __hadd(u, v)); ROW(17, __urhadd(u, v));
    asm("bfe.s32 %0, %1, 5, 11;" : "=r"(field) : "r"(u)); ROW(18, field);
    asm("bfe.u32 %0, %1, %2, 9;" : "=r"(field) : "r"(u), "r"(v)); ROW(19, field);
    asm("bfi.b32 %0, %1, %2, 7, 13;" : "=r"(field) : "r"(u), "r"(v)); ROW(20, field);
    ROW(21, __dp4a(u, v, 3u)); ROW(22, __dp4a((int)u, (int)v, 3)); ROW(23, __dp2a_lo(u, v, 3u)); ROW(24, __dp2a_hi((int)u, (int)v, 3));
    asm("bfind.u32 %0, %1;" : "=r"(field) : "r"(u)); ROW(25, field);
    asm("bfind.shiftamt.s32 %0, %1;" : "=r"(field) : "r"(u)); ROW(26, field);
    asm("lop3.b32 %0, %1, %2, %3, 0xe8;" : "=r"(field) : "r"(u), "r"(v), "r"(u >> 7)); ROW(27, field);
    asm("bmsk.clamp.b32 %0, %1, %2;" : "=r"(field) : "r"(u & 31), "r"(v & 31)); ROW(28, field);
    ROW(29, u << (v & 31)); ROW(30, u >> (v & 31)); ROW(31, (unsigned)((int)u >> (v & 31)));
    asm("shl.b32 %0, %1, %2;" : "=r"(field) : "r"(u), "r"(v)); ROW(32, field);
    asm("shr.s32 %0, %1, %2;" : "=r"(field) : "r"(u), "r"(v)); ROW(33, field);
    ROW(34, u < v ? u : v); ROW(35, (unsigned)abs((int)u));
}

// With 64 bits: popc clz ffs brev, high products unsigned and signed, quotient and remainder unsigned and signed (b is not 0),
// shifts, minimum unsigned and signed; then sums, differences and products with carries, as they are written out below.
extern "C" __global__ void bits_u64(const unsigned long long* a, const unsigned long long* b, unsigned long long* y, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned long long u = a[i], v = b[i];
    long long s = (long long)u, t = (long long)v;
    ROW(0, __popcll(u)); ROW(1, __clzll(s)); ROW(2, __ffsll(s)); ROW(3, __brevll(u));
    ROW(4, __umul64hi(u, v)); ROW(5, (unsigned long long)__mul64hi(s, t));
    ROW(6, u / v); ROW(7, u % v); ROW(8, (unsigned long long)(s / t)); ROW(9, (unsigned long long)(s % t));
    ROW(10, u << (v & 63)); ROW(11, u >> (v & 63)); ROW(12, (unsigned long long)(s >> (v & 63)));
    ROW(13, u < v ? u : v); ROW(14, (unsigned long long)(s < t ? s : t));
    unsigned long long low, high;
    asm("add.cc.u64 %0, %2, %3;\n\taddc.u64 %1, %2, 0;" : "=l"(low), "=l"(high) : "l"(u), "l"(v));
    ROW(15, low); ROW(16, high);
    asm("{ .reg .u32 a0, a1, b0, b1, c0, c1; mov.b64 {a0, a1}, %1; mov.b64 {b0, b1}, %2;\n\t"
        "sub.cc.u32 c0, a0, b0; subc.u32 c1, a1, b1; mov.b64 %0, {c0, c1}; }" : "=l"(low) : "l"(u), "l"(v));
    ROW(17, low);
    asm("{ .reg .u32 a0, a1, b0, b1, c0, c1; mov.b64 {a0, a1}, %1; mov.b64 {b0, b1}, %2;\n\t"
        "mad.lo.cc.u32 c0, a0, b0, b1; madc.hi.u32 c1, a0, b0, a1; mov.b64 %0, {c0, c1}; }" : "=l"(low) : "l"(u), "l"(v));
    ROW(18, low);
}

// Quotients and remainders of 32 and 16 bits, signed and unsigned; b is not 0 in the low 8 bits.
extern "C" __global__ void divisions(const int* a, const int* b, int* y, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int u = a[i], v = b[i];
    ROW(0, u / v); ROW(1, u % v); ROW(2, (int)((unsigned)u / (unsigned)v)); ROW(3, (int)((unsigned)u % (unsigned)v));
    ROW(4, (short)u / (short)v); ROW(5, (short)u % (short)v); ROW(6, (unsigned short)u / (unsigned short)v);
    ROW(7, (unsigned char)u % (unsigned char)v); ROW(8, u / 10); ROW(9, u % 1000003); ROW(10, (int)((unsigned)u / 7u));
}

// A generator of random numbers, steps of a xorshift with 64 bits and a multiplication: y[i] after rounds steps from seed + i.
extern "C" __global__ void xorshift(unsigned long long seed, unsigned rounds, unsigned long long* y)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long state = seed + i;
    for (unsigned round = 0; round < rounds; ++round) {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
    }
    y[i] = state * 0x2545f4914f6cdd1dull;
}
