// architectures: 80 90
// Reductions of a warp in one instruction: add, min, max of signed, then of unsigned; and, or, xor.
extern "C" __global__ void redux(const int* x, int* y, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    int value = x[i];
    unsigned bits = (unsigned)value;
    y[i] = __reduce_add_sync(0xffffffffu, value);
    y[n + i] = __reduce_min_sync(0xffffffffu, value);
    y[2 * n + i] = __reduce_max_sync(0xffffffffu, value);
    y[3 * n + i] = (int)__reduce_add_sync(0xffffffffu, bits);
    y[4 * n + i] = (int)__reduce_min_sync(0xffffffffu, bits);
    y[5 * n + i] = (int)__reduce_max_sync(0xffffffffu, bits);
    y[6 * n + i] = (int)__reduce_and_sync(0xffffffffu, bits);
    y[7 * n + i] = (int)__reduce_or_sync(0xffffffffu, bits);
    y[8 * n + i] = (int)__reduce_xor_sync(0xffffffffu, bits);
}
