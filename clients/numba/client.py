"""A program on the published numba-cuda, on a machine with eight H100: Python that is compiled to cubins.

With `lineinfo=True` a cubin carries the PTX that it was made of, which is what the simulator runs. Reports in TAP; exit code 1
if a check failed.
"""

import math
import sys
import traceback
import warnings

import numpy
from numba import cuda, float32

# Small grids and arrays of the host are slow, and what a check wants.
warnings.simplefilter("ignore")


@cuda.jit(lineinfo=True)
def saxpy(a, x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = a * x[i] + y[i]


@cuda.jit(lineinfo=True)
def distances(points, others, answers):
    row, column = cuda.grid(2)
    if row < answers.shape[0] and column < answers.shape[1]:
        total = 0.0
        for axis in range(points.shape[1]):
            difference = points[row, axis] - others[column, axis]
            total += difference * difference
        answers[row, column] = math.sqrt(total)


@cuda.jit(lineinfo=True)
def sums(x, total):
    part = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    part[t] = x[i] if i < x.size else 0.0
    cuda.syncthreads()
    width = 64
    while width > 0:
        if t < width:
            part[t] += part[t + width]
        cuda.syncthreads()
        width //= 2
    if t == 0:
        cuda.atomic.add(total, 0, part[0])


def whole_numbers(count, seed):
    """Numbers whose sums are exact."""
    return numpy.random.default_rng(seed).integers(-100, 100, count).astype(numpy.float32)


def a_kernel_computes_on_arrays_of_the_host():
    x, y = whole_numbers(1000, 1), whole_numbers(1000, 2)
    expected = numpy.float32(2.5) * x + y
    saxpy[8, 128](numpy.float32(2.5), x, y)
    assert (y == expected).all()


def a_kernel_computes_on_arrays_of_a_device_and_on_a_stream():
    stream = cuda.stream()
    x, y = whole_numbers(5000, 3), whole_numbers(5000, 4)
    there_x, there_y = cuda.to_device(x, stream=stream), cuda.to_device(y, stream=stream)
    for _ in range(3):
        saxpy[40, 128, stream](numpy.float32(1.0), there_x, there_y)
    received = there_y.copy_to_host(stream=stream)
    stream.synchronize()
    assert (received == 3 * x + y).all()


def grids_have_two_dimensions():
    points, others = whole_numbers(60, 5).reshape(20, 3), whole_numbers(90, 6).reshape(30, 3)
    answers = numpy.zeros((20, 30))
    distances[(3, 4), (8, 8)](points, others, answers)
    expected = numpy.sqrt(((points[:, None].astype(numpy.float64) - others[None]) ** 2).sum(axis=2))
    assert numpy.allclose(answers, expected, rtol=1e-12)


def blocks_add_up_in_shared_memory():
    x, total = whole_numbers(3000, 7), numpy.zeros(1, numpy.float32)
    sums[24, 128](x, total)
    assert total[0] == x.sum(dtype=numpy.float64)


def every_device_runs_a_kernel():
    x = whole_numbers(500, 8)
    assert len(cuda.gpus) == 8
    for gpu in cuda.gpus:
        with gpu:
            y = cuda.to_device(numpy.zeros_like(x))
            saxpy[4, 128](numpy.float32(gpu.id + 1), cuda.to_device(x), y)
            assert (y.copy_to_host() == (gpu.id + 1) * x).all()


CHECKS = [
    a_kernel_computes_on_arrays_of_the_host,
    a_kernel_computes_on_arrays_of_a_device_and_on_a_stream,
    grids_have_two_dimensions,
    blocks_add_up_in_shared_memory,
    every_device_runs_a_kernel,
]


def main():
    print(f"1..{len(CHECKS)}", flush=True)
    failed = False
    for number, check in enumerate(CHECKS, 1):
        outcome = "ok"
        try:
            check()
        except Exception:
            for line in traceback.format_exc().splitlines():
                print(f"# {line}")
            outcome, failed = "not ok", True
        print(f"{outcome} {number} - {check.__name__.replace('_', ' ')}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
