// The Mandelbrot set in colour: the more steps a point takes to leave a circle, the lighter. The picture is as wide and as high as
// the grid has threads.
extern "C" __global__ void mandelbrot(unsigned char* pixels)
{
    unsigned width = gridDim.x * blockDim.x, height = gridDim.y * blockDim.y;
    unsigned px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
    float size = 3.6f / width, cx = (px - 0.68f * width) * size, cy = (py - 0.5f * height) * size, x = 0.0f, y = 0.0f;
    int steps = 0;
    for (; steps < 128 && x * x + y * y <= 16.0f; ++steps) {
        float next = x * x - y * y + cx;
        y = 2.0f * x * y + cy;
        x = next;
    }
    unsigned char* pixel = pixels + 3 * (py * width + px);
    float t = steps == 128 ? 0.0f : __log2f(steps + 1.0f) / 7.0f;
    pixel[0] = 255.0f * t * t;
    pixel[1] = 255.0f * __saturatef(1.6f * t - 0.2f);
    pixel[2] = steps == 128 ? 0.0f : 60.0f + 195.0f * t;
}
