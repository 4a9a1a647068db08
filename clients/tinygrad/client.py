"""A program on the published tinygrad, on a machine with four A100: neural networks, trained.

tinygrad writes CUDA C for every step of a network, has it compiled by NVRTC, and launches it through the driver; a step
that is repeated becomes a graph. Reports in TAP; exit code 1 if a check failed.
"""

import ctypes
import math
import os
import pathlib
import random
import sys
import sysconfig
import tempfile
import traceback

# tinygrad looks for NVRTC where a toolkit puts it, and NVRTC for its second library on the path of libraries. Kernels
# are compiled in this process, and kept in a folder of their own.
packages = pathlib.Path(sysconfig.get_paths()["purelib"])
nvrtc = next(packages.glob("nvidia/*/lib/libnvrtc.so.1?"))
builtins = [ctypes.CDLL(str(library)) for library in nvrtc.parent.glob("libnvrtc-builtins.so.*")]
os.environ["NVRTC_PATH"] = str(nvrtc)
os.environ["PARALLEL"] = "0"
scratch = tempfile.TemporaryDirectory()
os.environ["CACHEDB"] = str(pathlib.Path(scratch.name) / "kernels.db")
os.environ["DEV"] = "CUDA"
# A copy of tinygrad's from one device to another does not wait for kernels that still use its destination; with
# WARPLOOM_CHECK=report the simulator names such races. In the order of the calls the results are right.
os.environ["WARPLOOM_MODE"] = "eager"

from tinygrad import Context, Tensor, TinyJit, nn  # noqa: E402

DEVICES = tuple(f"CUDA:{index}" for index in range(4))
HIDDEN = 8
STEPS = 12
RATE = 0.3


def examples(count=32):
    """Points of a square, and the sign of the product of their coordinates."""
    generator = random.Random(1)
    points = [[generator.uniform(-1, 1), generator.uniform(-1, 1)] for _ in range(count)]
    return points, [1.0 if x * y > 0 else -1.0 for x, y in points]


def weights():
    generator = random.Random(2)
    uniform = lambda rows, columns: [[generator.uniform(-1, 1) for _ in range(columns)] for _ in range(rows)]
    return uniform(2, HIDDEN), uniform(1, HIDDEN)[0], uniform(1, HIDDEN)[0], 0.1


def losses_by_hand():
    """Losses of each step, with one hidden layer and its derivatives written out."""
    (points, wanted), (first, offsets, second, offset) = examples(), weights()
    count, losses = len(points), []
    for _ in range(STEPS):
        loss, by_offset = 0.0, 0.0
        by_first, by_offsets, by_second = [[0.0] * HIDDEN, [0.0] * HIDDEN], [0.0] * HIDDEN, [0.0] * HIDDEN
        for (x, y), want in zip(points, wanted):
            hidden = [math.tanh(x * first[0][h] + y * first[1][h] + offsets[h]) for h in range(HIDDEN)]
            error = sum(a * b for a, b in zip(hidden, second)) + offset - want
            loss += error * error / count
            slope = 2 * error / count
            by_offset += slope
            for h in range(HIDDEN):
                by_second[h] += slope * hidden[h]
                inner = slope * second[h] * (1 - hidden[h] ** 2)
                by_offsets[h] += inner
                by_first[0][h] += inner * x
                by_first[1][h] += inner * y
        losses.append(loss)
        offset -= RATE * by_offset
        for h in range(HIDDEN):
            second[h] -= RATE * by_second[h]
            offsets[h] -= RATE * by_offsets[h]
            first[0][h] -= RATE * by_first[0][h]
            first[1][h] -= RATE * by_first[1][h]
    return losses


def losses(devices=None, jit=False):
    """Losses of each step on one device, or with the examples shared out to several."""
    points, wanted = examples()
    first, offsets, second, offset = weights()
    inputs, targets = Tensor(points), Tensor(wanted)
    parameters = [Tensor(value) for value in (first, offsets, [[weight] for weight in second], [offset])]
    if devices:
        inputs, targets = inputs.shard(devices, axis=0), targets.shard(devices, axis=0)
        for parameter in parameters:
            parameter.to_(devices)
    optimizer = nn.optim.SGD(parameters, lr=RATE)

    def step():
        optimizer.zero_grad()
        hidden = (inputs @ parameters[0] + parameters[1]).tanh()
        errors = (hidden @ parameters[2]).reshape(len(wanted)) + parameters[3] - targets
        loss = (errors * errors).mean().backward()
        # Together: the loss is that of the parameters before the step.
        return loss.realize(*optimizer.schedule_step())

    with Context(TRAINING=1):
        step = TinyJit(step) if jit else step
        return [step().to("CUDA").item() for _ in range(STEPS)]


def expect_losses(found):
    for index, (one, other) in enumerate(zip(found, losses_by_hand(), strict=True)):
        assert math.isclose(one, other, rel_tol=1e-4), f"step {index}: {one} and not {other}"
    assert found[-1] < found[0] / 2, f"{found[0]} became {found[-1]}"


def a_network_learns_as_computed_by_hand():
    expect_losses(losses())


def a_step_as_a_graph_learns_alike():
    expect_losses(losses(jit=True))


def four_devices_learn_like_one():
    expect_losses(losses(DEVICES))


def four_devices_learn_alike_with_graphs():
    expect_losses(losses(DEVICES, jit=True))


def a_convolutional_network_tells_bars_apart():
    """Pictures of 8 x 8 with a horizontal or a vertical bar."""
    generator = random.Random(3)
    pictures, kinds = [], []
    for index in range(16):
        kind, at = index % 2, generator.randrange(8)
        pictures.append([[[1.0 if (row, column)[kind] == at else 0.0 for column in range(8)] for row in range(8)]])
        kinds.append(kind)
    Tensor.manual_seed(4)
    convolution, out = nn.Conv2d(1, 4, 3), nn.Linear(36, 2)
    inputs, targets = Tensor(pictures), Tensor(kinds)
    forward = lambda: out(convolution(inputs).relu().max_pool2d().flatten(1))
    optimizer = nn.optim.Adam([convolution.weight, convolution.bias, out.weight, out.bias], lr=0.05)

    def step():
        optimizer.zero_grad()
        loss = forward().sparse_categorical_crossentropy(targets).backward()
        # Together: the loss is that of the parameters before the step.
        return loss.realize(*optimizer.schedule_step())

    with Context(TRAINING=1):
        step = TinyJit(step)
        found = [step().item() for _ in range(40)]
    assert found[-1] < 0.2 * found[0], f"{found[0]} became {found[-1]}"
    assert forward().argmax(axis=1).tolist() == kinds


CHECKS = [
    a_network_learns_as_computed_by_hand,
    a_step_as_a_graph_learns_alike,
    four_devices_learn_like_one,
    four_devices_learn_alike_with_graphs,
    a_convolutional_network_tells_bars_apart,
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
