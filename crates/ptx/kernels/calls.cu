// Functions that are called, not inlined.

struct Sample {
    signed char tag;
    double weight;
    short counts[3];
    float2 position;
};

struct Totals {
    double weight;
    long long count;
    float x, y;
};

// A struct by value: y = weight * tag + counts + position, one number per thread times its number.
extern "C" __global__ void struct_by_value(Sample sample, double factor, double* y)
{
    double sum = sample.weight * sample.tag + sample.counts[0] + sample.counts[1] + sample.counts[2];
    y[threadIdx.x] = (sum + sample.position.x + sample.position.y) * factor * threadIdx.x;
}

__device__ __noinline__ Totals add(Totals totals, Sample sample)
{
    totals.weight += sample.weight;
    totals.count += sample.counts[0] + sample.counts[1] + sample.counts[2] + sample.tag;
    totals.x += sample.position.x;
    totals.y += sample.position.y;
    return totals;
}

// Structs that functions take and return: the totals of n samples, by one thread.
extern "C" __global__ void struct_totals(const Sample* samples, Totals* totals, unsigned n)
{
    Totals sum = {0.0, 0, 0.0f, 0.0f};
    for (unsigned i = 0; i < n; ++i) sum = add(sum, samples[i]);
    *totals = sum;
}

__device__ __noinline__ unsigned fibonacci_of(unsigned n)
{
    return n < 2 ? n : fibonacci_of(n - 1) + fibonacci_of(n - 2);
}

// y[i] = the Fibonacci number of x[i], by recursion.
extern "C" __global__ void fibonacci(const unsigned* x, unsigned* y)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = fibonacci_of(x[i]);
}

__device__ __noinline__ unsigned ackermann_of(unsigned m, unsigned n)
{
    if (m == 0) return n + 1;
    return ackermann_of(m - 1, n == 0 ? 1 : ackermann_of(m, n - 1));
}

// y[i] = the Ackermann function of (m, i): deep recursion that differs by lane.
extern "C" __global__ void ackermann(unsigned m, unsigned* y)
{
    y[threadIdx.x] = ackermann_of(m, threadIdx.x);
}

typedef int (*Operation)(int, int);

__device__ __noinline__ int plus(int a, int b) { return a + b; }
__device__ __noinline__ int minus(int a, int b) { return a - b; }
__device__ __noinline__ int times(int a, int b) { return a * b; }
__device__ Operation operations[3] = {plus, minus, times};

// c[i] = a[i] (+ or - or *) b[i], by a table of functions that which[i] indexes.
extern "C" __global__ void function_pointers(const int* a, const int* b, const unsigned* which, int* c)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    c[i] = operations[which[i]](a[i], b[i]);
}

struct Shape {
    __device__ virtual float area() const = 0;
};

struct Square : Shape {
    float side;
    __device__ Square(float side) : side(side) {}
    __device__ float area() const override { return side * side; }
};

struct Rectangle : Shape {
    float width, height;
    __device__ Rectangle(float width, float height) : width(width), height(height) {}
    __device__ float area() const override { return width * height; }
};

// y[i] = the area of a square, or of a rectangle twice as long for odd i, through a virtual function.
extern "C" __global__ void virtual_areas(const float* x, float* y)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    Square square(x[i]);
    Rectangle rectangle(x[i], 2.0f * x[i]);
    Shape* shapes[2] = {&square, &rectangle};
    y[i] = shapes[i & 1]->area();
}

// y[i] = x's row of 16 in rising order, sorted in an array of the thread's own, then turned by i.
extern "C" __global__ void local_sort(const int* x, int* y)
{
    int row[16];
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < 16; ++k) row[k] = x[16 * i + k];
    for (int k = 1; k < 16; ++k) {
        int value = row[k], at = k;
        while (at > 0 && row[at - 1] > value) {
            row[at] = row[at - 1];
            --at;
        }
        row[at] = value;
    }
    for (int k = 0; k < 16; ++k) y[16 * i + k] = row[(k + i) % 16];
}
