// y = exp(x - max) / sum(exp(x - max)) of each row: one block of 128 threads a row.
extern "C" __global__ void softmax_rows(const float* x, float* y, unsigned columns)
{
    __shared__ float part[128];
    x += blockIdx.x * columns;
    y += blockIdx.x * columns;
    float largest = -__int_as_float(0x7f800000);
    for (unsigned i = threadIdx.x; i < columns; i += 128) largest = fmaxf(largest, x[i]);
    part[threadIdx.x] = largest;
    __syncthreads();
    for (unsigned half = 64; half > 0; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] = fmaxf(part[threadIdx.x], part[threadIdx.x + half]);
        __syncthreads();
    }
    largest = part[0];
    __syncthreads();
    float sum = 0.0f;
    for (unsigned i = threadIdx.x; i < columns; i += 128) {
        float e = expf(x[i] - largest);
        y[i] = e;
        sum += e;
    }
    part[threadIdx.x] = sum;
    __syncthreads();
    for (unsigned half = 64; half > 0; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    for (unsigned i = threadIdx.x; i < columns; i += 128) y[i] /= part[0];
}

// y = (x - mean) / sqrt(variance + epsilon) of each row: one warp a row.
extern "C" __global__ void normalize_rows(const float* x, float* y, unsigned columns, float epsilon)
{
    x += blockIdx.x * columns;
    y += blockIdx.x * columns;
    float sum = 0.0f, squares = 0.0f;
    for (unsigned i = threadIdx.x; i < columns; i += 32) {
        sum += x[i];
        squares += x[i] * x[i];
    }
    for (int distance = 16; distance > 0; distance /= 2) {
        sum += __shfl_xor_sync(0xffffffffu, sum, distance);
        squares += __shfl_xor_sync(0xffffffffu, squares, distance);
    }
    float mean = sum / columns;
    float scale = rsqrtf(squares / columns - mean * mean + epsilon);
    for (unsigned i = threadIdx.x; i < columns; i += 32) y[i] = (x[i] - mean) * scale;
}
