// Conditions of a graph, set by kernels of it.
// options: -rdc=true

// Takes 1 from *left and sets the condition to what is left; does nothing if that was 0 before. One thread.
extern "C" __global__ void count_down(cudaGraphConditionalHandle condition, unsigned* left)
{
    if (*left == 0) return;
    *left -= 1;
    cudaGraphSetConditional(condition, *left);
}

// Sets each condition to the value of its number, unless the handle is 0.
extern "C" __global__ void set_conditions(const cudaGraphConditionalHandle* conditions, const unsigned* values, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && conditions[i]) cudaGraphSetConditional(conditions[i], values[i]);
}
