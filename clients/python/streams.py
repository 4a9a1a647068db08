"""Streams and events. A latch holds a stream wherever a check needs to see work that is not done."""

from concurrent.futures import ThreadPoolExecutor

from cuda.bindings import driver
from cuda.core import LEGACY_DEFAULT_STREAM, PER_THREAD_DEFAULT_STREAM, Device, EventOptions, StreamOptions

from support import Latch, pattern, pinned, refused


def a_stream_knows_how_it_was_made():
    device = Device(0)
    device.set_current()
    stream = device.create_stream(options=StreamOptions(nonblocking=True, priority=-1))
    assert stream.is_nonblocking
    assert stream.priority == -1
    assert stream.device.device_id == 0
    assert not device.create_stream(options=StreamOptions(nonblocking=False)).is_nonblocking
    stream.close()
    assert stream.is_closed


def an_event_is_done_when_the_work_before_it_is():
    stream, latch = Device(0).create_stream(), Latch()
    latch.hold(stream)
    event = stream.record()
    assert not event.is_done
    refused(driver.cuStreamQuery(stream.handle), driver.CUresult.CUDA_ERROR_NOT_READY)
    latch.open()
    event.sync()
    assert event.is_done
    stream.sync()


def an_event_orders_two_streams():
    device, latch = Device(0), Latch()
    first, second = device.create_stream(), device.create_stream()
    (up, sent), (down, received) = pinned(1 << 18), pinned(1 << 18)
    sent[:], received[:] = pattern(1 << 18, 1), 0
    there = device.allocate(1 << 18, stream=first)
    first.sync()
    latch.hold(first)
    there.copy_from(up, stream=first)
    second.wait(first.record())
    there.copy_to(down, stream=second)
    done = second.record()
    assert not done.is_done
    latch.open()
    done.sync()
    assert (received == pattern(1 << 18, 1)).all()
    there.close(second)


def a_stream_waits_for_a_stream():
    device, latch = Device(1), Latch()
    device.set_current()
    first, second = device.create_stream(), device.create_stream()
    latch.hold(first)
    second.wait(first)
    done = second.record()
    assert not done.is_done
    latch.open()
    second.sync()
    assert done.is_done
    Device(0).set_current()


def two_events_time_what_lies_between_them():
    device = Device(0)
    stream, options = device.create_stream(), EventOptions(timing_enabled=True)
    there = device.allocate(16 << 20, stream=stream)
    start = stream.record(options=options)
    there.fill(7, stream=stream)
    end = stream.record(options=options)
    end.sync()
    assert 0 < end - start < 1000
    untimed = stream.record()
    untimed.sync()
    try:
        untimed - start
    except RuntimeError:
        pass
    else:
        raise AssertionError("an event without time was timed")


def both_default_streams_work():
    device = Device(0)
    for stream in (LEGACY_DEFAULT_STREAM, PER_THREAD_DEFAULT_STREAM):
        (down, received), there = pinned(4096), device.allocate(4096, stream=stream)
        there.fill(9, stream=stream)
        there.copy_to(down, stream=stream)
        stream.sync()
        assert (received == 9).all()
        there.close(stream)


def threads_do_not_disturb_each_other():
    def work(seed):
        device = Device(seed % 8)
        device.set_current()
        stream = device.create_stream()
        (up, sent), (down, received) = pinned(20011), pinned(20011)
        for round_ in range(10):
            expected = pattern(20011, seed * 10 + round_)
            sent[:], received[:] = expected, 0
            there = device.allocate(20011, stream=stream)
            there.copy_from(up, stream=stream)
            there.copy_to(down, stream=stream)
            there.close(stream)
            stream.sync()
            assert (received == expected).all()

    with ThreadPoolExecutor(8) as threads:
        for done in [threads.submit(work, seed) for seed in range(16)]:
            done.result()


CHECKS = [
    a_stream_knows_how_it_was_made,
    an_event_is_done_when_the_work_before_it_is,
    an_event_orders_two_streams,
    a_stream_waits_for_a_stream,
    two_events_time_what_lies_between_them,
    both_default_streams_work,
    threads_do_not_disturb_each_other,
]
