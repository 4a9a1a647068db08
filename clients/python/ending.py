"""The end of the interpreter, which frees what is left in no particular order."""

import subprocess
import sys

LEFT_BEHIND = """
import atexit
from cuda.bindings import driver
from cuda.core import Device, LegacyPinnedMemoryResource

device = Device(0)
device.set_current()
stream = device.create_stream()
there = device.allocate(1 << 20, stream=stream)
pinned = LegacyPinnedMemoryResource().allocate(4096)
event = stream.record()
there.fill(1, stream=stream)

class Late:
    def __del__(self):
        driver.cuStreamQuery(stream.handle)
        print("late")

late = Late()
atexit.register(lambda: print("exit", int(driver.cuStreamSynchronize(stream.handle)[0])))
"""


def an_interpreter_that_leaves_everything_behind_ends_quietly():
    ended = subprocess.run([sys.executable, "-c", LEFT_BEHIND], capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (0, ""), ended
    assert ended.stdout.split() == ["exit", "0", "late"], ended


CALLBACKS = """
from cuda.core import Device
from cuda.core.graph import GraphDefinition

device = Device(0)
device.set_current()
definition = GraphDefinition()
for _ in range(100):
    definition.callback(lambda: None)
graph = definition.instantiate()
graph.launch(device.create_stream())
"""


def an_interpreter_ends_quietly_while_a_graph_runs_its_functions():
    for _ in range(5):
        ended = subprocess.run([sys.executable, "-c", CALLBACKS], capture_output=True, text=True, timeout=60)
        assert (ended.returncode, ended.stderr) == (0, ""), ended


CHECKS = [
    an_interpreter_that_leaves_everything_behind_ends_quietly,
    an_interpreter_ends_quietly_while_a_graph_runs_its_functions,
]
