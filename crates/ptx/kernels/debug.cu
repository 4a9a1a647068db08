// options: -G
// The same with all that a debugger wants.

struct Range {
    int start, end;
};

__device__ int clamped(int value, Range range)
{
    if (value < range.start) return range.start;
    return value > range.end ? range.end : value;
}

// y[i] = x[i], kept between the range's ends.
extern "C" __global__ void clamp_all(const int* x, int* y, Range range, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = clamped(x[i], range);
}
