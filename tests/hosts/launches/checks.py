"""Checks for GPUs: each launches through functions of ours and compares numbers with NumPy's, or on the stand-in the
record of launches."""

import threading

import numpy as np
import tvm_ffi

from launches.place import NotHere, Wrong, launch, on, refused

N = 3000
BLOCKS = -(-N // 128)


def numbers(count=N):
    """Returns numbers that are small enough for every sum of a check to be exact."""
    return np.arange(count, dtype="float32") % 97


def add(place, image):
    kernels = place.library(image)
    x, y, z = (place.array(values) for values in (numbers(), numbers()[::-1].copy(), numbers()))
    kernels.add(x.tensor, y.tensor, z.tensor)
    place.launched(launch("add_kernel", BLOCKS, 128))
    place.holds(z, numbers() + numbers()[::-1], "z")
    kernels.add(*[place.array(numbers(1)).tensor for _ in range(3)])
    place.launched(launch("add_kernel", 1, 128))


def add_cubin(place):
    if place.capability[0] != 9:
        raise NotHere("the cubin is for compute capability 9.x")
    add(place, "kernels.cubin")


def add_fatbin(place):
    if place.capability[0] not in (8, 9):
        raise NotHere("the fatbin is for compute capability 8.x and 9.x")
    add(place, "kernels.fatbin")


def add_ptx(place):
    add(place, "kernels.ptx")


def no_elements(place):
    """A grid without blocks launches nothing; a driver would refuse it."""
    kernels = place.library(place.image())
    x, y = place.array(numbers(0)), place.array(numbers(0))
    kernels.axpy(x.tensor, y.tensor, 2.5)
    place.launched()


def shared_memory(place):
    kernels = place.library(place.image())
    x = place.array(np.zeros(1, "int32"))
    too_much = lambda: kernels.shared(x.tensor, 1, 16 << 20)
    refused(too_much, "ValueError: Out of range shared memory of shared_kernel", "on cuda:0 but got 16777216")
    for number, size in ((7, 1 << 10), (8, 64 << 10), (9, 4)):
        kernels.shared(x.tensor, number, size)
        place.launched(launch("shared_kernel", 1, 32, shared=size))
        place.holds(x, [number], "x")
    # The driver refuses this size.
    refused(too_much, "16777216")


def errors(place):
    kernels = place.library(place.image())
    x, y = place.array(numbers()), place.array(numbers())
    refused(
        lambda: kernels.axpy_in(x.tensor, y.tensor, 2.5, 4096),
        "ValueError: Out of range block.x of axpy_kernel",
        "expected 1 to 1024 on cuda:0 but got 4096",
    )
    host = np.zeros(N, "float32")
    refused(lambda: kernels.axpy(host, host, 2.5), "ValueError: Mismatched x.device")
    kernels.axpy_in(x.tensor, y.tensor, 2.5, 1024)
    place.holds(y, 3.5 * numbers(), "y after the errors")


def cluster(place):
    place.needs(9, 0)
    hopper = place.library("hopper.ptx")
    # 16 exceeds the limit of some devices with clusters.
    sizes = (1, 2, 8, 16) if place.capability[0] in (9, 10) else (1, 2, 8)
    for size in sizes:
        ranks = place.array(np.full(32, -1, "int32"))
        hopper.rank(ranks.tensor, size)
        place.launched(launch("rank_kernel", 32, 1, attributes=f"4:{size:02x}0000000100000001"))
        place.holds(ranks, 256 * size + np.arange(32) % size, f"ranks in clusters of {size}")


def cooperative(place):
    together = place.library("together.ptx")
    count = place.driver.multiprocessors(0)
    counter, seen = place.array(np.zeros(1, "int32")), place.array(np.zeros(count, "int32"))
    together.meet_all(counter.tensor, seen.tensor)
    place.launched(launch("meet_kernel", count, 1, attributes="2:01"))
    place.holds(seen, np.full(count, count), "what blocks have seen")
    many = place.array(np.zeros(1 << 20, "int32"))
    refused(lambda: together.meet_all(counter.tensor, many.tensor), "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE")


def tensor_map(place):
    place.needs(9, 0)
    hopper = place.library("hopper.ptx")
    values = np.arange(100 * 64, dtype="float32").reshape(100, 64)
    padded = np.pad(values, ((0, 8), (0, 32)))
    x, tile = place.array(values), place.array(np.full((8, 32), -1, "float32"))
    # The last box reaches beyond the edges, where the map reads zeros.
    for row, column in ((0, 0), (17, 20), (96, 48)):
        hopper.tile(x.tensor, tile.tensor, row, column)
        place.launched(launch("tile_kernel", 1, 256))
        place.holds(tile, padded[row : row + 8, column : column + 32], f"the tile at ({row}, {column})")


def columns(place):
    """Pixels under a filter of 3 by 3 with a padding of 1, as a convolution takes them."""
    place.needs(9, 0)
    hopper = place.library("hopper.ptx")
    images = np.arange(2 * 6 * 5 * 8, dtype="float32").reshape(2, 6, 5, 8)
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1), (0, 0)))
    x, column = place.array(images), place.array(np.full((16, 8), -1, "float32"))
    # The second goes on in the next image.
    for image, row, start, r, s in ((0, -1, -1, 0, 0), (0, 3, 2, 1, 2), (1, 1, 0, 2, 1)):
        hopper.columns(x.tensor, column.tensor, image, row, start, r, s)
        place.launched(launch("columns_kernel", 1, 128))
        first = (image * 6 + row + 1) * 5 + start + 1
        pixels = [(at // 30, at // 5 % 6 + r, at % 5 + s) for at in range(first, first + 16)]
        place.holds(column, np.stack([padded[at] for at in pixels]), f"the pixels from ({image}, {row}, {start}) on")


def chain(place):
    """Launches that may overlap, of kernels that wait for each other."""
    place.needs(9, 0)
    hopper = place.library("hopper.ptx")
    for overlap in (False, True):
        x = place.array(np.zeros(1280, "float32"))
        hopper.chain(x.tensor, 20, overlap)
        place.launched(*[launch("then_kernel", 10, 128, attributes=f"6:{'01' if overlap else ''}")] * 20)
        place.holds(x, np.full(1280, 2**20 - 1), "x")


def two_streams(place):
    """Two blocks wait for each other, each on a stream of its own: on one stream they would deadlock."""
    together = place.library("together.ptx")
    together.prepare(0)
    place.launched()
    counter, seen = place.array(np.zeros(1, "int32")), [place.array(np.zeros(1, "int32")) for _ in range(2)]
    streams = [place.stream(), place.stream()]
    for stream, out in zip(streams, seen):
        with on(stream):
            together.meet(counter.tensor, out.tensor, 2)
    for stream, out in zip(streams, seen):
        stream.wait()
        place.holds(out, [2], f"what {stream.name} has seen")
    place.launched(*[launch("meet_kernel", 1, 1, stream=stream.name) for stream in streams])


def no_context(place):
    """A thread without a context launches, and has none afterwards."""
    kernels = place.library(place.image())
    x, y = place.array(numbers()), place.array(numbers())
    found = []

    def work():
        try:
            kernels.axpy(x.tensor, y.tensor, 2.5)
            found.append(place.driver.current())
        except Exception as error:
            found.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if found != [0]:
        raise Wrong(f"expected no context in the thread, found {found}")
    place.launched(launch("axpy_kernel", BLOCKS, 128))
    place.holds(y, 3.5 * numbers(), "y")


def another_device(place):
    """A launch on the second device, while a context of the first is current."""
    if place.driver.devices < 2:
        raise NotHere("there is one device")
    if place.driver.capability(1)[0] != place.capability[0]:
        raise NotHere("the second device is of another kind")
    with place.on_device(1):
        x, y = place.array(numbers(), 1), place.array(numbers(), 1)
    place.library(place.image()).axpy(x.tensor, y.tensor, 2.5)
    place.launched(launch("axpy_kernel", BLOCKS, 128, device=1))
    with place.on_device(1):
        place.holds(y, 3.5 * numbers(), "y")


def graph(place):
    """After `prepare` launches can be captured; they run whenever the graph is launched."""
    kernels = place.library(place.image())
    kernels.prepare(0)
    x, y, stream = place.array(numbers()), place.array(numbers()), place.stream()

    def work():
        for _ in range(2):
            kernels.axpy(x.tensor, y.tensor, 2.5)

    with on(stream), stream.capture(work) as captured:
        place.launched(*2 * [launch("axpy_kernel", BLOCKS, 128, stream=stream.name, captured=True)])
        place.holds(y, numbers(), "y before the graph is launched")
        # The stand-in cannot launch graphs.
        if not place.is_stand_in:
            captured.launch(stream, times=3)
    place.holds(y, (1 + 3 * 2 * 2.5) * numbers(), "y")


def triton(place):
    if not (place.folder / "triton.cubin.so").exists():
        raise NotHere("Triton has made none")
    kernels = place.library("triton.cubin")
    x, y, z = (place.array(values) for values in (numbers(), numbers()[::-1].copy(), numbers()))
    kernels.add(x.tensor, y.tensor, z.tensor)
    place.launched(launch("add_kernel", 3, 128))
    place.holds(z, numbers() + numbers()[::-1], "z")


def variables(place):
    """The host sets variables of the device, a kernel reads and writes them; before that the image calls a function."""
    calls = []
    tvm_ffi.register_global_func("gpu.loaded", lambda *call: calls.append(call), override=True)
    code = place.library("globals.ptx")
    factors, x, y = (place.array(np.array(v, "float32")) for v in ([1, 2, 3, 4], [5, 6, 7, 8], [0, 0, 0, 0]))
    code.set(factors.tensor)
    for turn in (1, 2):
        code.step(x.tensor, y.tensor)
        place.launched(launch("step_kernel", 1, 4))
        place.holds(y, turn * factors.like * x.like, "y")
    if code.sizes(x.tensor) != 1616:
        raise Wrong(f"the variables have other sizes: {code.sizes(x.tensor)}")
    [(library, module, device)] = calls
    if not library.value or not module.value or device != 0:
        raise Wrong(f"the image is loaded with {calls}")


CHECKS = {
    "vector add, cubin": add_cubin,
    "vector add, fatbin": add_fatbin,
    "vector add, PTX": add_ptx,
    "a kernel by Triton": triton,
    "no elements, no launch": no_elements,
    "shared memory": shared_memory,
    "what errors say": errors,
    "clusters": cluster,
    "a cooperative launch": cooperative,
    "a tensor map": tensor_map,
    "a tensor map of columns": columns,
    "launches that overlap": chain,
    "two streams": two_streams,
    "a thread without a context": no_context,
    "variables of the device": variables,
    "another device": another_device,
    "graph capture after prepare": graph,
}
