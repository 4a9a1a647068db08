// One step of bodies that attract each other: x, y, z and mass in a float4, velocities in another. Blocks of 64 threads, n a
// multiple of 64. Softened by epsilon squared.
extern "C" __global__ void nbody(const float4* from, float4* to, float4* velocity, float step, float softening, unsigned n)
{
    __shared__ float4 part[64];
    unsigned i = blockIdx.x * 64 + threadIdx.x;
    float4 here = from[i];
    float3 pull = make_float3(0.0f, 0.0f, 0.0f);
    for (unsigned start = 0; start < n; start += 64) {
        part[threadIdx.x] = from[start + threadIdx.x];
        __syncthreads();
        for (unsigned k = 0; k < 64; ++k) {
            float4 other = part[k];
            float dx = other.x - here.x, dy = other.y - here.y, dz = other.z - here.z;
            float square = dx * dx + dy * dy + dz * dz + softening;
            float inverse = rsqrtf(square);
            float scale = other.w * inverse * inverse * inverse;
            pull.x += dx * scale;
            pull.y += dy * scale;
            pull.z += dz * scale;
        }
        __syncthreads();
    }
    float4 v = velocity[i];
    v.x += step * pull.x;
    v.y += step * pull.y;
    v.z += step * pull.z;
    velocity[i] = v;
    to[i] = make_float4(here.x + step * v.x, here.y + step * v.y, here.z + step * v.z, here.w);
}
