"""Graphs: node by node, captured, updated, with conditions, bodies, memory of their own and objects that they keep."""

import ctypes
import gc
import pathlib
import tempfile
import time
import weakref

import numpy
from cuda.bindings import driver
from cuda.core import Device, GraphMemoryResource, LaunchConfig, ObjectCode, launch
from cuda.core.graph import GraphBuilder, GraphCompleteOptions, GraphDebugPrintOptions, GraphDefinition

from kernels import N, SAXPY, download, numbers, upload
from support import Latch, call, pattern, refused

# halve(float *value, float limit, cudaGraphConditionalHandle more)
HALVE = (pathlib.Path(__file__).parents[2] / "crates" / "warploom" / "examples" / "halve.ptx").read_bytes()
SHAPE = LaunchConfig(grid=8, block=128)


def start():
    device = Device(0)
    device.set_current()
    return device, device.create_stream()


def saxpy():
    return ObjectCode.from_ptx(SAXPY).get_kernel("saxpy")


def run(executable, stream):
    executable.launch(stream)
    stream.sync()


def eventually(is_true):
    """Owners are released soon after the driver lets go of them, not at once."""
    until = time.monotonic() + 30
    while not is_true() and time.monotonic() < until:
        gc.collect()
        time.sleep(0.01)
    return is_true()


def a_graph_of_copies_fills_and_kernels_runs_in_order():
    device, stream = start()
    x, y = numbers(0.5), numbers(0.25)
    there_x, there_y = upload(device, stream, x), upload(device, stream, y)
    result = upload(device, stream, numpy.zeros(N, numpy.float32))
    graph = GraphDefinition()
    step = graph.launch(SHAPE, saxpy(), ctypes.c_float(1.5), there_x, there_y, ctypes.c_uint32(N))
    copy = step.memcpy(result, there_y, 4 * N)
    copy.memset(there_y, 0, 4 * N)
    assert len(graph.nodes()) == 3 and len(graph.edges()) == 2
    executable = graph.instantiate()
    run(executable, stream)
    assert (download(stream, result, numpy.float32) == 1.5 * x + y).all()
    run(executable, stream)
    assert (download(stream, result, numpy.float32) == 1.5 * x).all()


def nodes_are_changed_in_the_definition_and_in_the_executable():
    device, stream = start()
    x = numbers(0.5)
    there_x, there_y = upload(device, stream, x), upload(device, stream, numpy.zeros(N, numpy.float32))
    graph = GraphDefinition()
    clear = graph.memset(there_y, 0, 4 * N)
    kernel = saxpy()
    arguments = [(ctypes.c_float(a), there_x, there_y, ctypes.c_uint32(N)) for a in (1, 2, 3)]
    step = clear.launch(SHAPE, kernel, *arguments[0])
    executable = graph.instantiate()
    step.update(args=arguments[1])  # for later executables
    run(executable, stream)
    assert (download(stream, there_y, numpy.float32) == x).all()
    run(graph.instantiate(), stream)
    assert (download(stream, there_y, numpy.float32) == 2 * x).all()
    executable[step].update(config=SHAPE, kernel=kernel, args=arguments[2])
    run(executable, stream)
    assert (download(stream, there_y, numpy.float32) == 3 * x).all()
    executable.update(graph)
    run(executable, stream)
    assert (download(stream, there_y, numpy.float32) == 2 * x).all()
    executable[step].disable()
    run(executable, stream)
    assert not executable[step].is_enabled
    assert not download(stream, there_y, numpy.float32).any()


def an_update_from_another_topology_is_refused():
    _, stream = start()
    graph, other = GraphDefinition(), GraphDefinition()
    graph.join(graph.empty(), graph.empty())
    other.empty().join(other.empty(), other.empty())
    executable = graph.instantiate()
    try:
        executable.update(other)
    except Exception as error:
        assert "topology" in str(error).lower(), error
    else:
        raise AssertionError("it was updated")
    run(executable, stream)


def a_loop_runs_until_a_kernel_ends_it():
    device, stream = start()
    value = upload(device, stream, numpy.array([100], numpy.float32))
    halve = ObjectCode.from_ptx(HALVE).get_kernel("halve")
    graph = GraphDefinition()
    more = graph.create_condition(default_value=1)
    loop = graph.while_loop(more)
    loop.body.launch(LaunchConfig(grid=1, block=1), halve, value, ctypes.c_float(1), more)
    run(graph.instantiate(), stream)
    assert download(stream, value, numpy.float32) == [0.78125]


def a_capture_forks_joins_and_takes_a_child():
    device, stream = start()
    x, y, z = (upload(device, stream, pattern(1000, seed)) for seed in range(3))
    child = device.create_graph_builder().begin_building()
    z.fill(9, stream=child)
    child.end_building()
    seen = []
    builder = stream.create_graph_builder().begin_building()
    left, right = builder.split(2)
    x.fill(1, stream=left)
    y.fill(2, stream=right)
    builder = GraphBuilder.join(left, right)
    builder.callback(lambda: seen.append(1))
    builder.embed(child)
    executable = builder.end_building().complete()
    assert not seen
    for _ in range(3):
        run(executable, stream)
    assert len(seen) == 3
    for there, value in ((x, 1), (y, 2), (z, 9)):
        assert (download(stream, there, numpy.uint8) == value).all()


def a_captured_loop_runs_its_body():
    device, stream = start()
    value = upload(device, stream, numpy.array([100], numpy.float32))
    halve = ObjectCode.from_ptx(HALVE).get_kernel("halve")
    builder = stream.create_graph_builder().begin_building()
    more = builder.create_condition(default_value=1)
    body = builder.while_loop(more)
    body.begin_building()
    launch(body, LaunchConfig(grid=1, block=1), halve, value, ctypes.c_float(1), more)
    body.end_building()
    run(builder.end_building().complete(), stream)
    assert download(stream, value, numpy.float32) == [0.78125]


def launches_wait_for_each_other_and_for_the_stream():
    device, stream = start()
    there, latch = upload(device, stream, pattern(1000)), Latch()
    graph = GraphDefinition()
    graph.memset(there, 5, 1000)
    executable = graph.instantiate()
    executable.upload(stream)
    latch.hold(stream)
    executable.launch(stream)
    there.fill(6, stream=stream)
    done = stream.record()
    assert not done.is_done
    latch.open()
    stream.sync()
    assert (download(stream, there, numpy.uint8) == 6).all()
    run(executable, stream)
    assert (download(stream, there, numpy.uint8) == 5).all()


def a_graph_keeps_buffers_kernels_and_functions():
    device, stream = start()

    class Owned:
        def __call__(self):
            self.called = True

    graph, function = GraphDefinition(), Owned()
    alive = weakref.ref(function)
    there_x = upload(device, stream, numbers(1))
    result = upload(device, stream, numpy.zeros(N, numpy.float32))
    graph.launch(SHAPE, saxpy(), ctypes.c_float(2), there_x, result, ctypes.c_uint32(N)).callback(function)
    executable = graph.instantiate()
    del function, there_x, graph
    gc.collect()
    run(executable, stream)
    assert alive().called
    assert (download(stream, result, numpy.float32) == 2 * numbers(1)).all()
    executable.close()
    assert eventually(lambda: alive() is None)


def a_graph_allocates_memory_for_itself():
    device, stream = start()
    result = upload(device, stream, pattern(4096))
    memory = GraphMemoryResource(device)
    graph = GraphDefinition()
    scratch = graph.allocate(4096)
    last = scratch.memset(scratch.dptr, 3, 4096).memcpy(result, scratch.dptr, 4096)
    last.deallocate(scratch.dptr)
    run(graph.instantiate(), stream)
    assert (download(stream, result, numpy.uint8) == 3).all()
    assert memory.attributes.reserved_mem_high >= 4096
    left = GraphDefinition()
    left.allocate(4096)
    executable = left.instantiate(GraphCompleteOptions(auto_free_on_launch=True))
    run(executable, stream)
    run(executable, stream)


def edges_are_changed():
    _, stream = start()
    graph, seen = GraphDefinition(), []
    first, second = graph.callback(lambda: seen.append(1)), graph.callback(lambda: seen.append(2))
    first.pred.add(second)
    assert set(second.succ) == {first} and len(graph.edges()) == 1
    run(graph.instantiate(), stream)
    first.pred.clear()
    second.pred.add(first)
    run(graph.instantiate(), stream)
    assert seen == [2, 1, 1, 2]
    second.destroy()
    assert not second.is_valid and graph.nodes() == {first}
    first.succ.clear()


def a_graph_is_drawn():
    device, stream = start()
    there = upload(device, stream, pattern(16))
    graph = GraphDefinition()
    graph.memset(there, 1, 16).memcpy(there, int(there.handle) + 8, 8)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "graph.dot"
        graph.debug_dot_print(str(path), GraphDebugPrintOptions(verbose=True))
        text = path.read_text(encoding="utf-8")
    assert text.startswith("digraph") and "MEMSET" in text and "->" in text, text


def bindings_clone_find_and_update_nodes():
    device, stream = start()
    there = upload(device, stream, pattern(64))
    graph = call(driver.cuGraphCreate(0))
    params = driver.CUDA_MEMSET_NODE_PARAMS()
    params.dst, params.value, params.elementSize = int(there.handle), 7, 1
    params.width, params.height = 64, 1
    context = call(driver.cuCtxGetCurrent())
    node = call(driver.cuGraphAddMemsetNode(graph, None, 0, params, context))
    clone = call(driver.cuGraphClone(graph))
    found = call(driver.cuGraphNodeFindInClone(node, clone))
    params.value = 8
    call(driver.cuGraphMemsetNodeSetParams(found, params))
    assert call(driver.cuGraphMemsetNodeGetParams(node)).value == 7
    executable = call(driver.cuGraphInstantiate(clone, 0))
    call(driver.cuGraphLaunch(executable, stream.handle))
    assert (download(stream, there, numpy.uint8) == 8).all()
    params.value = 9
    call(driver.cuGraphExecMemsetNodeSetParams(executable, found, params, context))
    call(driver.cuGraphLaunch(executable, stream.handle))
    assert (download(stream, there, numpy.uint8) == 9).all()
    refused(driver.cuGraphNodeFindInClone(found, graph), driver.CUresult.CUDA_ERROR_INVALID_VALUE)
    call(driver.cuGraphExecDestroy(executable))
    call(driver.cuGraphDestroy(clone))
    call(driver.cuGraphDestroy(graph))


def a_cycle_is_refused_when_it_is_instantiated():
    start()
    graph = call(driver.cuGraphCreate(0))
    first, second = (call(driver.cuGraphAddEmptyNode(graph, None, 0)) for _ in range(2))
    call(driver.cuGraphAddDependencies(graph, [first, second], [second, first], None, 2))
    refused(driver.cuGraphInstantiate(graph, 0), driver.CUresult.CUDA_ERROR_INVALID_VALUE)
    call(driver.cuGraphDestroy(graph))


CHECKS = [
    a_graph_of_copies_fills_and_kernels_runs_in_order,
    nodes_are_changed_in_the_definition_and_in_the_executable,
    an_update_from_another_topology_is_refused,
    a_loop_runs_until_a_kernel_ends_it,
    a_capture_forks_joins_and_takes_a_child,
    a_captured_loop_runs_its_body,
    launches_wait_for_each_other_and_for_the_stream,
    a_graph_keeps_buffers_kernels_and_functions,
    a_graph_allocates_memory_for_itself,
    edges_are_changed,
    a_graph_is_drawn,
    bindings_clone_find_and_update_nodes,
    a_cycle_is_refused_when_it_is_instantiated,
]
