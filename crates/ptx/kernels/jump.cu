// options: --jump-table-density=10
// Jumps by table, which the compiler makes only when it is asked to.

// A jump by table: y[i] is one of sixteen things done to x[i], which x[i] modulo 17 chooses; 16 does nothing.
extern "C" __global__ void switch_jump(const unsigned* x, unsigned* y)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, v = x[i];
    switch (v % 17) {
    case 0: v = v * 3 + 1; break;
    case 1: v = v ^ 0x55555555u; break;
    case 2: v = v / 7; break;
    case 3: v = v % 1000; break;
    case 4: v = __popc(v); break;
    case 5: v = __brev(v); break;
    case 6: v = __clz(v); break;
    case 7: v = v << 3; break;
    case 8: v = v >> 5; break;
    case 9: v = ~v; break;
    case 10: v = v & 0xff00ff00u; break;
    case 11: v = v | 0x0f0f0f0fu; break;
    case 12: v = 0u - v; break;
    case 13: v = v * v; break;
    case 14: v = __umulhi(v, v); break;
    case 15: v = __ffs((int)v); break;
    }
    y[i] = v;
}

// Runs a program of words on an accumulator that starts as the thread's number: the low four bits say what to do, the rest is
// the operand. Each thread has 32 cells of memory; y[i] is the accumulator at the end. At most fuel words are run.
extern "C" __global__ void bytecode(const unsigned* program, unsigned length, unsigned* cells, unsigned* y, unsigned fuel)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, accumulator = i, at = 0;
    cells += 32 * i;
    while (at < length && fuel-- > 0) {
        unsigned word = program[at++], operand = word >> 4;
        switch (word & 15) {
        case 0: accumulator = operand; break;
        case 1: accumulator += operand; break;
        case 2: accumulator -= operand; break;
        case 3: accumulator *= operand; break;
        case 4: accumulator /= operand | 1; break;
        case 5: accumulator ^= operand; break;
        case 6: accumulator = cells[operand & 31]; break;
        case 7: cells[operand & 31] = accumulator; break;
        case 8: accumulator += cells[operand & 31]; break;
        case 9: if (accumulator == 0) at = operand; break;
        case 10: if (accumulator != 0) at = operand; break;
        case 11: at = operand; break;
        case 12: at = length; break;
        case 13: accumulator = ~accumulator; break;
        case 14: accumulator >>= operand & 31; break;
        default: accumulator <<= operand & 31; break;
        }
    }
    y[i] = accumulator;
}
