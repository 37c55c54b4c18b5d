"""NumPy and PyTorch, each in its best forms, as the peers of `go run ./bench peers`.

bench/peers.go starts this program, tells it on standard input what to do, and reads its answers from standard output.
A message is a line of JSON, with "bytes" raw bytes behind it where it has such a field. In this order:

    {"threads": 1, "bytes": n}       and float32 numbers, which all memory is filled with. The answer says what there
                                     is: {"python": "3.11.2", "numpy": "1.24.2", "torch": "", "missing": ["torch: .."]}
    {"do": "prepare", "kernel": ..}  with the shape, and int64 ids: "lists" times as many as one call takes. The answer
                                     names what can do the job: {"sides": [..]}
    {"do": "result", "side": ..}     does it once, on the first list of ids. The answer is {"bytes": n} and what came
                                     out: float32, of a table only the rows that the ids choose
    {"do": "run", "side": .., "first": i, "calls": n, "warm": m}
                                     does it m + n times, on the i-th list of ids and those after it. The answer is
                                     {"ns": t}: what the last n calls took, measured here, around the calls alone

Where something goes wrong, the answer is {"error": ".."}. The end of the input is the end of the program.

Inputs and outputs live on 2 MiB pages, where the system has such, and NumPy and PyTorch share them. What either makes
for itself comes from its own allocator. Without NumPy or without PyTorch, the other one is left.
"""

import gc
import json
import math
import mmap
import os
import platform
import sys
import time
from types import SimpleNamespace

np = torch = None
FLOAT = 4  # bytes
PART = 1000  # numbers that the contents of one buffer start behind those of the one before


class Memory:
    """Buffers that one job takes over from the other, and so their pages."""

    parts = ["table", "rows", "positions", "out_grad", "x", "y"]

    def __init__(self, numbers):
        self.numbers = memoryview(numbers)
        self.buffers = {}

    def bytes(self, name, count):
        """Returns room for count floats; of zeros, unless numbers are to fill it."""
        size = FLOAT * count
        if size > len(self.buffers.get(name, b"")):
            self.buffers.pop(name, None)
            self.buffers[name] = self.pages(size)
        room = memoryview(self.buffers[name])[:size]
        if name in self.parts:
            self.repeat(room, self.numbers, FLOAT * PART * self.parts.index(name))
        else:
            self.clear(room)
        return room

    @staticmethod
    def pages(size):
        if not hasattr(mmap, "MAP_ANONYMOUS"):
            return mmap.mmap(-1, size)
        buffer = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        try:
            buffer.madvise(mmap.MADV_HUGEPAGE)
        except (AttributeError, OSError):
            pass  # no such pages, or no way to ask for them
        return buffer

    @staticmethod
    def repeat(room, numbers, begin):
        """Fills room with numbers from byte begin on, and from their start again wherever they end."""
        at = 0
        while at < len(room):
            n = min(len(room) - at, len(numbers) - begin)
            room[at:at + n] = numbers[begin:begin + n]
            at, begin = at + n, 0

    def clear(self, room):
        self.repeat(room, memoryview(bytes(min(len(room), 1 << 20))), 0)


class Job:
    """One job: its memory, as either library sees it, and the sides that can do it."""

    def __init__(self, memory, message, ids):
        self.memory = memory
        for key in ("kernel", "vocab", "dim", "ids", "seq", "n", "lists"):
            setattr(self, key, message[key])
        self.scale = message["scale"]
        per_token, per_position, per_id = (self.vocab, self.dim), (self.seq, self.dim), (self.ids, self.dim)
        shapes, self.written, self.chosen, sides = {
            "Gather": ({"table": per_token, "rows": per_id}, "rows", False, lookups),
            "Embed": ({"table": per_token, "positions": per_position, "rows": per_id}, "rows", False, layers),
            "ScatterAdd": ({"table": per_token, "rows": per_id}, "table", True, scatters),
            "AddScaled": ({"x": (self.n,), "y": (self.n,), "temporary": (self.n,)}, "y", False, axpys),
            "Sinusoidal": ({"positions": per_position}, "positions", False, sinusoids),
            "Training": ({"table": per_token, "grad": per_token, "rows": per_id, "out_grad": per_id},
                         "grad", True, trainings),
        }[self.kernel]
        self.room = {name: memory.bytes(name, math.prod(shape)) for name, shape in shapes.items()}
        self.sides = {}
        for lib, view in ((np, numpy_view), (torch, torch_view)):
            if lib is None:
                continue
            v = SimpleNamespace(**{name: view(self.room[name], "float32", shape) for name, shape in shapes.items()})
            v.lists = list(view(ids, "int64", (self.lists, self.ids))) if ids else [None]
            for name, loop, *result in sides(self, lib, v):
                self.sides[name] = SimpleNamespace(lib=lib, view=v, loop=loop, result=result[0] if result else None)

    def once(self, name):
        """Returns what a side makes of the first list of ids."""
        side = self.sides[name]
        self.memory.clear(self.room[self.written])
        first = side.view.lists[:1]
        with quick(side.lib):
            out = side.loop(first)
            if side.result:
                out = side.result(first[0])
            elif out is None:
                out = getattr(side.view, self.written)
                if self.chosen:
                    out = out[first[0]]
        return as_bytes(out)

    def run(self, name, first, calls, warm):
        """Returns how many nanoseconds a side takes."""
        side = self.sides[name]
        lists = side.view.lists
        with quick(side.lib):
            side.loop([lists[(first + i) % len(lists)] for i in range(warm)])
            picked = [lists[(first + warm + i) % len(lists)] for i in range(calls)]
            begin = time.perf_counter_ns()
            side.loop(picked)
            return time.perf_counter_ns() - begin


def numpy_view(room, kind, shape):
    return np.frombuffer(room, kind, math.prod(shape)).reshape(shape)


def torch_view(room, kind, shape):
    return torch.frombuffer(room, dtype=getattr(torch, kind), count=math.prod(shape)).view(shape)


def as_bytes(out):
    """Returns float32 in row-major order, from PyTorch without the help of NumPy."""
    if torch is not None and isinstance(out, torch.Tensor):
        copy = bytearray(FLOAT * out.numel())
        torch.frombuffer(copy, dtype=torch.float32).copy_(out.detach().flatten())
        return copy
    return np.ascontiguousarray(out, np.float32).tobytes()


def quick(lib):
    """Returns a context without the bookkeeping of gradients."""
    return torch.inference_mode() if torch is not None and lib is torch else Nothing()


class Nothing:
    def __enter__(self):
        pass

    def __exit__(self, *_):
        pass


def each(f):
    """Returns the loop over f. Where a call of Python more would count, sides have loops of their own."""
    def loop(lists):
        out = None
        for ids in lists:
            out = None  # what the call before has made makes room for this one's
            out = f(ids)
        return out
    return loop


# The sides of a job: a name and a loop over lists of ids, which returns what its last call has made or None if that is
# where all sides write. A third element returns, given the ids of the last call, what a loop has left elsewhere.


def lookups(job, lib, v):
    if lib is np:
        def loop(lists):
            take, out = v.table.take, v.rows
            for ids in lists:
                take(ids, 0, out, "clip")  # with "raise", out= goes through a buffer
        yield "NumPy take(out=)", loop
    else:
        def loop(lists):
            select, table, out = torch.index_select, v.table, v.rows
            for ids in lists:
                select(table, 0, ids, out=out)
        yield "torch index_select(out=)", loop


def layers(job, lib, v):
    batch = (-1, job.seq, job.dim)
    table, positions, rows, scale = v.table, v.positions, v.rows, job.scale
    sequences = rows.reshape(batch)
    if lib is np:
        def passes(ids):
            table.take(ids, 0, rows, "clip")
            np.multiply(rows, scale, rows)
            np.add(sequences, positions, sequences)
        yield "NumPy E[ids]*s + P", each(lambda ids: table[ids.reshape(-1, job.seq)] * scale + positions)
        yield "NumPy, 3 passes in place", each(passes)
    else:
        embedding = torch.nn.functional.embedding

        def passes(ids):
            torch.index_select(table, 0, ids, out=rows)
            rows.mul_(scale)
            sequences.add_(positions)

        def two(ids):
            torch.index_select(table, 0, ids, out=rows)
            torch.add(positions, sequences, alpha=scale, out=sequences)
        yield "torch eager", each(lambda ids: embedding(ids.view(-1, job.seq), table) * scale + positions)
        yield "torch, 3 passes in place", each(passes)
        yield "torch, 2 passes in place", each(two)


def add_rows(into, ids, rows):
    """The fastest that NumPy has for wide rows, though it is a loop."""
    for i, row in zip(ids.tolist(), rows):
        total = into[i]
        np.add(total, row, total)


def scatters(job, lib, v):
    table, rows = v.table, v.rows
    if lib is np:
        yield "NumPy add.at", each(lambda ids: np.add.at(table, ids, rows))
        yield "NumPy, add row by row", each(lambda ids: add_rows(table, ids, rows))
    else:
        dense = torch.ops.aten.embedding_dense_backward
        yield "torch index_add_", each(lambda ids: nothing(table.index_add_(0, ids, rows)))
        yield "torch index_put_", each(lambda ids: nothing(table.index_put_((ids,), rows, accumulate=True)))
        loop = each(lambda ids: dense(rows, ids, job.vocab, -1, False))
        yield "torch dense backward", loop, lambda ids: loop([ids])[ids]


def nothing(_):
    """Stands for what a method in place returns."""


def axpys(job, lib, v):
    scale = job.scale
    if lib is np:
        scale = np.array(scale, np.float32)  # half as slow as a number

        def loop(lists):
            multiply, add, x, y, temporary = np.multiply, np.add, v.x, v.y, v.temporary
            for _ in lists:
                multiply(x, scale, temporary)
                add(y, temporary, y)
        yield "NumPy, 2 passes", loop
    else:
        def loop(lists):
            add, x = v.y.add_, v.x
            for _ in lists:
                add(x, alpha=scale)
        yield "torch add_(alpha=)", loop


def sinusoids(job, lib, v):
    """All in float32, so that angles far out are off by more than what they turn into may be."""
    table, pairs, slope = v.positions, job.dim // 2, -math.log(10000) / job.dim
    if lib is np:
        angles, out = np.empty((job.seq, pairs), np.float32), np.empty((job.seq, pairs), np.float32)
    else:
        angles, out = torch.empty(job.seq, pairs), torch.empty(job.seq, pairs)

    def fill(_):
        steps = lib.arange(0, job.dim, 2, dtype=lib.float32)
        steps *= slope
        lib.multiply(lib.arange(job.seq, dtype=lib.float32)[:, None], lib.exp(steps), out=angles)
        lib.sin(angles, out=out)
        table[:, 0::2] = out
        lib.cos(angles, out=out)
        table[:, 1::2] = out
    yield ("NumPy" if lib is np else "torch") + ", float32", each(fill)


def trainings(job, lib, v):
    """Clear the gradient of the pass before, look up, add up the gradient."""
    table, grad, rows, out_grad = v.table, v.grad, v.rows, v.out_grad
    if lib is np:
        def training(add):
            last = v.lists[0]

            def one(ids):
                nonlocal last
                grad[last] = 0
                last = ids
                table.take(ids, 0, rows, "clip")
                add(grad, ids, out_grad)
            return each(one)
        yield "NumPy take, add.at", training(np.add.at)
        yield "NumPy take, row by row", training(add_rows)
    else:
        weight = table.detach().requires_grad_()
        embedding = torch.nn.functional.embedding

        def training(sparse):
            def one(ids):
                weight.grad = None
                embedding(ids, weight, sparse=sparse).backward(out_grad)
                if sparse:
                    weight.grad = weight.grad.coalesce()  # without it, nothing has been added up yet

            def loop(lists):
                with torch.inference_mode(False), torch.enable_grad():
                    each(one)(lists)
            return loop

        def added_up(ids):
            chosen, sums = weight.grad.indices()[0], weight.grad.values()
            return sums[torch.searchsorted(chosen, ids)]
        yield "torch dense gradient", training(False), lambda ids: weight.grad[ids]
        yield "torch sparse gradient", training(True), added_up


def load(name, missing):
    try:
        return __import__(name)
    except Exception as e:  # a broken installation can fail with anything
        missing.append("%s: %s" % (name, e))
        return None


def main():
    global np, torch
    # What libraries print goes elsewhere.
    source, sink = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)

    def receive():
        line = source.readline()
        if not line:
            sys.exit()
        message = json.loads(line)
        return message, bytearray(source.read(message.get("bytes", 0)))

    def send(answer, raw=b""):
        sink.write(json.dumps(answer).encode() + b"\n")
        sink.write(raw)
        sink.flush()

    hello, numbers = receive()
    missing = []
    np, torch = load("numpy", missing), load("torch", missing)
    if torch is not None:
        torch.set_num_threads(hello["threads"])
    send({
        "python": platform.python_version(),
        "numpy": np.__version__ if np is not None else "",
        "torch": str(torch.__version__) if torch is not None else "",
        "missing": missing,
    })

    memory = Memory(numbers)
    job = None
    gc.freeze()  # the libraries themselves, which would make each collection slow
    gc.disable()
    while True:
        message, raw = receive()
        try:
            do = message["do"]
            if do == "prepare":
                job = None  # before its memory grows
                gc.collect()
                job = Job(memory, message, raw)
                send({"sides": list(job.sides)})
            elif do == "result":
                out = job.once(message["side"])
                send({"bytes": len(out)}, out)
            elif do == "run":
                send({"ns": job.run(message["side"], message["first"], message["calls"], message["warm"])})
            else:
                raise ValueError("cannot do %r" % do)
        except Exception as e:
            send({"error": "%s: %s" % (type(e).__name__, e)})


main()
