// How many steps of z = z * z + c it takes until |z| > 2, at most limit, for each pixel; every product and sum is rounded for
// itself.
extern "C" __global__ void mandelbrot(unsigned* steps, unsigned width, unsigned height, float left, float top, float size, unsigned limit)
{
    unsigned px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px >= width || py >= height) return;
    float cx = __fadd_rn(left, __fmul_rn((float)px, size)), cy = __fadd_rn(top, __fmul_rn((float)py, size));
    float x = 0.0f, y = 0.0f;
    unsigned count = 0;
    while (count < limit) {
        float xx = __fmul_rn(x, x), yy = __fmul_rn(y, y);
        if (__fadd_rn(xx, yy) > 4.0f) break;
        y = __fadd_rn(__fmul_rn(2.0f, __fmul_rn(x, y)), cy);
        x = __fadd_rn(__fsub_rn(xx, yy), cx);
        ++count;
    }
    steps[py * width + px] = count;
}

// The same set in double precision, over the grid in strides, with fused multiply-adds as they are written out below.
extern "C" __global__ void mandelbrot_f64(unsigned* steps, unsigned width, unsigned height, double left, double top, double size, unsigned limit)
{
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < width * height; i += gridDim.x * blockDim.x) {
        double cx = __fma_rn(i % width, size, left), cy = __fma_rn(i / width, size, top), x = 0.0, y = 0.0;
        unsigned count = 0;
        for (; count < limit && __fma_rn(x, x, __dmul_rn(y, y)) <= 4.0; ++count) {
            double next = __fma_rn(x, x, __fma_rn(-y, y, cx));
            y = __fma_rn(2.0 * x, y, cy);
            x = next;
        }
        steps[i] = count;
    }
}
