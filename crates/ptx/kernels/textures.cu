// Textures and surfaces; their handles are numbers from the driver.

// y = the texture at the middle of each pixel, times factor; blocks of any shape.
extern "C" __global__ void texture_scale(cudaTextureObject_t texture, float* y, unsigned width, unsigned height, float factor)
{
    unsigned px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px < width && py < height) y[py * width + px] = factor * tex2D<float>(texture, px + 0.5f, py + 0.5f);
}

// surface = surface + add, as ints.
extern "C" __global__ void surface_add(cudaSurfaceObject_t surface, int add, unsigned width, unsigned height)
{
    unsigned px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px >= width || py >= height) return;
    int value = surf2Dread<int>(surface, px * 4, py);
    surf2Dwrite(value + add, surface, px * 4, py);
}
