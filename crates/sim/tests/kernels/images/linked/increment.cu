extern "C" __global__ void increment(int* out) { out[threadIdx.x] += 1; }
