// Loads that NVRTC widens: three of four floats, three of four shorts. used_bytes.ptx is what NVRTC 13.4
// makes of it for compute_90.
struct alignas(16) Point { float x, y, z, w; };
extern "C" __global__ void length2(const Point* p, float* out, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = p[i].x * p[i].x + p[i].y * p[i].y + p[i].z * p[i].z;
}

struct alignas(8) Shorts { short a, b, c, d; };
extern "C" __global__ void ends(const Shorts* p, int* out, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = p[i].a + p[i].d + p[i].c;
}
