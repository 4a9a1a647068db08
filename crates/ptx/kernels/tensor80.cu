// architectures: 80 90
// Products of small matrices by a whole warp, register by register, as of compute capability 8.0. Every lane's registers lie
// together.

// d = a * b + c, with a warp's registers: a has 4, b 2, c and d 4 a lane.
#define MMA(name, type, constraint, shape)                                                                \
    extern "C" __global__ void name(const unsigned* a, const unsigned* b, const type* c, type* d)         \
    {                                                                                                     \
        const unsigned* u = a + 4 * threadIdx.x;                                                          \
        const unsigned* v = b + 2 * threadIdx.x;                                                          \
        const type* w = c + 4 * threadIdx.x;                                                              \
        type r[4];                                                                                        \
        asm volatile("mma.sync.aligned." shape " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};" \
            : "=" constraint(r[0]), "=" constraint(r[1]), "=" constraint(r[2]), "=" constraint(r[3])      \
            : "r"(u[0]), "r"(u[1]), "r"(u[2]), "r"(u[3]), "r"(v[0]), "r"(v[1]),                           \
              constraint(w[0]), constraint(w[1]), constraint(w[2]), constraint(w[3]));                    \
        for (int k = 0; k < 4; ++k) d[4 * threadIdx.x + k] = r[k];                                        \
    }
MMA(mma_f16, float, "f", "m16n8k16.row.col.f32.f16.f16.f32")
MMA(mma_bf16, float, "f", "m16n8k16.row.col.f32.bf16.bf16.f32")
MMA(mma_tf32, float, "f", "m16n8k8.row.col.f32.tf32.tf32.f32")
MMA(mma_s8, int, "r", "m16n8k32.row.col.s32.s8.s8.s32")
MMA(mma_u8_saturated, int, "r", "m16n8k32.row.col.satfinite.s32.u8.u8.s32")

// d = a * b + c of doubles, m8n8k4: one register of a and b and two of c and d a lane.
extern "C" __global__ void mma_f64(const double* a, const double* b, const double* c, double* d)
{
    unsigned lane = threadIdx.x;
    double r[2];
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%4, %5};"
        : "=d"(r[0]), "=d"(r[1]) : "d"(a[lane]), "d"(b[lane]), "d"(c[2 * lane]), "d"(c[2 * lane + 1]));
    d[2 * lane] = r[0];
    d[2 * lane + 1] = r[1];
}
