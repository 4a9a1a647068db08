// Transposes of row-major matrices: to[column][row] = from[row][column].

#define TILE 32
#define ROWS 8

// Through a tile in shared memory with a padded row; blocks of 32 by 8 threads, a grid of 32 by 32 tiles, any size.
extern "C" __global__ void transpose_tiled(const float* from, float* to, unsigned rows, unsigned columns)
{
    __shared__ float tile[TILE][TILE + 1];
    unsigned x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    for (unsigned j = 0; j < TILE; j += ROWS)
        if (x < columns && y + j < rows) tile[threadIdx.y + j][threadIdx.x] = from[(y + j) * columns + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    for (unsigned j = 0; j < TILE; j += ROWS)
        if (x < rows && y + j < columns) to[(y + j) * rows + x] = tile[threadIdx.x][threadIdx.y + j];
}

// One thread per element, in three dimensions: to[x][z][y] = from[z][y][x]; sizes are those of the grid.
extern "C" __global__ void rotate_3d(const unsigned short* from, unsigned short* to)
{
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x, nx = gridDim.x * blockDim.x;
    unsigned y = blockIdx.y * blockDim.y + threadIdx.y, ny = gridDim.y * blockDim.y;
    unsigned z = blockIdx.z * blockDim.z + threadIdx.z, nz = gridDim.z * blockDim.z;
    to[(x * nz + z) * ny + y] = from[(z * ny + y) * nx + x];
}
