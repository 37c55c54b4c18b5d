"""NumPy and PyTorch, each in its best forms, and loops in C, as the peers of `go run ./bench peers`.

bench/peers.go starts this program, tells it on standard input what to do, and reads its answers from standard output.
A message is a line of JSON, with "bytes" raw bytes behind it where it has such a field. In this order:

    {"threads": 1, "loops": "", "bytes": n}
                                     and float32 numbers, which all memory is filled with; loops is the file of
                                     loops/loops.c compiled, if there is one. The answer says what there is:
                                     {"python": "3.11.2", "numpy": "1.24.2", "torch": "", "missing": ["torch: .."]}
    {"do": "prepare", "kernel": ..}  with the shape, and int64 ids: "lists" times as many as one call takes. The answer
                                     names what can do the job: {"sides": [..]}
    {"do": "result", "side": ..}     does it once, on the first list of ids. The answer is {"bytes": n} and what came
                                     out: float32, of a table only the rows that the ids choose, and of a training step
                                     behind them what has been looked up
    {"do": "run", "side": .., "first": i, "calls": n, "warm": m}
                                     does it m + n times, on the i-th list of ids and those after it. The answer is
                                     {"ns": t}: what the last n calls took, measured here, around the calls alone
    {"do": "learn", "vocab": ..}     with two tables to begin with; see SkipGram. The answer is {}
    {"do": "train"}                  with batches for that. The answer is {"ns": t}: what all of them took
    {"do": "learnt"}                 The answer is {"bytes": n} and the two tables

Where something goes wrong, the answer is {"error": ".."}. The end of the input is the end of the program.

Inputs and outputs live on 2 MiB pages, where the system has such, and all sides share them. What either makes
for itself comes from its own allocator. Without NumPy or without PyTorch, the other one is left.
"""

import array
import ctypes
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
NORM_EPSILON = 1e-5  # as in contenders.go
FOUND = 10  # neighbours that a search finds, as in contests.go
HEAD = 64  # elements of a head that is rotated, as in contenders.go
RATE, EPSILON, BETA1, BETA2 = 0.1, 0.01, 0.9, 0.999  # of optimizers, as in steps.go


class Memory:
    """Buffers that one job takes over from the other, and so their pages."""

    parts = ["table", "rows", "positions", "out_grad", "x", "y", "weights", "segments", "affine", "logits"]

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

    def __init__(self, memory, loops, message, ids):
        self.memory = memory
        for key in ("kernel", "vocab", "dim", "ids", "seq", "n", "lists"):
            setattr(self, key, message[key])
        self.scale = message["scale"]
        per_token, per_position, per_id = (self.vocab, self.dim), (self.seq, self.dim), (self.ids, self.dim)
        bag = {"table": per_token, "rows": (self.ids // max(self.seq, 1), self.dim), "chosen": per_id}
        step = {"table": per_token, "rows": per_id, "out_grad": per_id}
        bag_step = {**bag, "out_grad": bag["rows"]}
        self.shapes, self.written, self.chosen, sides = {
            "Gather": ({"table": per_token, "rows": per_id}, "rows", False, lookups),
            "Embed": ({"table": per_token, "positions": per_position, "rows": per_id}, "rows", False, layers),
            "EmbedSinusoidal": ({"table": per_token, "positions": per_position, "rows": per_id}, "rows", False, sinusoidal_layers),
            "EmbedDropout": ({"table": per_token, "positions": per_position, "rows": per_id}, "rows", False, dropouts),
            "ScatterAdd": ({"table": per_token, "rows": per_id}, "table", True, scatters),
            "AddScaled": ({"x": (self.n,), "y": (self.n,), "temporary": (self.n,)}, "y", False, axpys),
            "Uniform": ({"y": (self.n,)}, "y", False, uniforms),
            "Normal": ({"y": (self.n,)}, "y", False, normals),
            "Sinusoidal": ({"positions": per_position}, "positions", False, sinusoids),
            "Rotary": ({"rows": per_id}, "rows", False, rotations),
            "Training": ({"table": per_token, "grad": per_token, "rows": per_id, "out_grad": per_id},
                         "grad", True, trainings),
            "TrainingSGD": (step, "table", True, steps),
            "TrainingRowAdagrad": ({**step, "sums": (self.vocab,)}, "table", True, steps),
            "TrainingAdagrad": ({**step, "sums": per_token}, "table", True, steps),
            "TrainingAdam": ({**step, "means": per_token, "squares": per_token}, "table", True, steps),
            "TrainingBagsSGD": (bag_step, "table", True, steps),
            "TrainingBagsAdagrad": ({**bag_step, "sums": per_token}, "table", True, steps),
            "BagSum": (bag, "rows", False, bags),
            "BagSumWeighted": ({**bag, "weights": (self.ids,)}, "rows", False, bags),
            "BagMean": (bag, "rows", False, bags),
            "BagMax": (bag, "rows", False, bags),
            "BagWeights": ({**bag, "weights": (self.ids,)}, "weights", False, bag_weights),
            "LayerNorm": ({"table": per_id, "rows": per_id, "affine": (4, self.dim)}, "rows", False, norms),
            "Nearest": ({"table": per_token, "rows": per_id, "found": (self.ids, min(self.vocab, FOUND))},
                        "found", False, searches),
            "Output": ({"table": per_token, "rows": per_id, "logits": (self.ids, self.vocab)}, "logits", False, outputs),
            "OutputBackward": ({"table": per_token, "rows": per_id, "logits": (self.ids, self.vocab),
                                "grads": (self.vocab + self.ids, self.dim)}, "grads", False, output_gradients),
            "BERT": ({"table": per_token, "positions": per_position, "segments": (2, self.dim), "rows": per_id,
                      "affine": (4, self.dim)}, "rows", False, berts),
        }[self.kernel]
        self.room = {}
        self.fill()
        self.sides = {}
        for lib, view in ((np, numpy_view), (torch, torch_view)):
            if lib is None:
                continue
            v = SimpleNamespace(**{name: view(self.room[name], "float32", shape) for name, shape in self.shapes.items()})
            v.lists = list(view(ids, "int64", (self.lists, self.ids))) if ids else [None]
            for name, loop, *more in sides(self, lib, v):
                result, restart = more + [None] * (2 - len(more))
                self.sides[name] = SimpleNamespace(lib=lib, view=v, loop=loop, result=result, restart=restart)
        if loops is None:
            return

        def result(_):
            out = getattr(v, self.written)
            return out[v.lists[0]] if self.chosen else out
        numbered = SimpleNamespace(lists=range(max(self.lists, 1)))
        for name, loop in loops.sides(self, ids):
            self.sides[name] = SimpleNamespace(lib=loops, view=numbered, loop=loop, result=result, restart=None)

    def fill(self):
        for name, shape in self.shapes.items():
            self.room[name] = self.memory.bytes(name, math.prod(shape))

    def once(self, name):
        """Returns what a side makes of the first list of ids."""
        side = self.sides[name]
        if side.restart:
            self.fill()  # the same memory as before
            side.restart()
        else:
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


class Loops:
    """The loops of loops/loops.c, which has what its integers mean: a job's sides are the few quickest of all ways to prefetch.

    They are called C, and then into which cache rows are prefetched, how many ahead, "by line" if it is part of one at a time, and
    "past" if results are written past the caches. What they loop over is numbers of lists of ids.
    """

    kernels = ["Gather", "Embed", "ScatterAdd", "BagSum", "BagSumWeighted", "AddScaled"]
    into = ["plain", "L1", "L2", "once", "write"]
    block = 16  # floats that rows have a multiple of
    ahead = [4, 6, 8, 16, 32]
    trials, trial, chosen = 5, 1 << 22, 3  # each of so many floats; the sides that come of them
    large = 4 << 20  # bytes of a result that no cache holds for those who read it, and that may be written past them

    class Work(ctypes.Structure):  # struct job
        _fields_ = [(name, ctypes.c_int64) for name in ("kernel", "dim", "ids", "seq", "n", "lists")] + [
            (name, ctypes.c_void_p) for name in ("table", "rows", "positions", "weights", "x", "y")] + [
            ("scale", ctypes.c_float)]

    class Way(ctypes.Structure):
        _fields_ = [(name, ctypes.c_int64) for name in ("into", "ahead", "by_line", "past")]

    def __init__(self, path):
        self.library = ctypes.CDLL(path)

    def ways(self, job):
        """Returns each way with its name."""
        kernel = job.kernel
        large = kernel in ("Gather", "Embed") and FLOAT * job.ids * job.dim >= self.large
        pasts = [0, 1] if large and self.library.can_write_past() else [0]
        all = [(0, 0, 0, past) for past in pasts]
        if kernel != "AddScaled":
            all += [(into, ahead, by_line, past) for into in (1, 2, 4 if kernel == "ScatterAdd" else 3) for ahead in self.ahead
                    for by_line in (0, 1) for past in pasts]
        return {"C, " + self.into[into] + (" %d" % ahead if ahead else "") + " by line" * by_line + ", past" * past:
                self.Way(into, ahead, by_line, past) for into, ahead, by_line, past in all}

    def sides(self, job, ids):
        bags, embeds = job.kernel.startswith("Bag"), job.kernel == "Embed"
        if (job.kernel not in self.kernels or (job.dim + job.n) % self.block or job.ids == 1  # no row ahead of a single one
                or (bags or embeds) and job.seq == 0 or bags and job.ids % job.seq):
            return []
        c = self.Work(self.kernels.index(job.kernel), job.dim, job.ids, job.seq, job.n, job.lists if ids else 0, scale=job.scale)
        for name, room in job.room.items():
            if hasattr(c, name):
                setattr(c, name, self.address(room))
        narrow = array.array("i", memoryview(ids).cast("q"))  # as rowvec has them
        lists, run = ctypes.c_void_p(self.address(narrow) if narrow else None), self.library.run

        def side(way):
            c, w = ctypes.byref(job.c), ctypes.byref(way)
            return lambda numbers: nothing(
                run(c, w, lists, ctypes.c_int64(numbers[0] if numbers else 0), ctypes.c_int64(len(numbers))))
        job.c, job.narrow = c, narrow  # which have to live as long as sides
        sides = {name: side(way) for name, way in self.ways(job).items()}
        took = {name: [] for name in sides}
        first, calls = 0, max(1, self.trial // max(job.ids * job.dim, job.n))
        for _ in range(self.trials):
            for name, loop in sides.items():
                begin = time.perf_counter_ns()
                loop(range(first, first + calls))
                took[name].append(time.perf_counter_ns() - begin)
                first += calls
        job.fill()  # the trials have written to it
        quickest = sorted(sides, key=lambda name: min(took[name]))[:self.chosen]
        return [(name, sides[name]) for name in quickest]

    @staticmethod
    def address(room):
        return ctypes.addressof(ctypes.c_char.from_buffer(room))


class SkipGram:
    """The training of bench/skipgram.go in PyTorch, with sparse gradients.

    Of what was tried, this was the fastest: products of all centres of a passage with all rows took twice as long.
    """

    def __init__(self, message, raw):
        rows, dim, self.noise = message["vocab"], message["dim"], message["n"]
        tables = torch.frombuffer(raw, dtype=torch.float32).view(2, rows, dim)
        self.tables = [torch.nn.Embedding.from_pretrained(t.clone(), freeze=False, sparse=True) for t in tables]
        self.method = torch.optim.Adagrad(
            [t.weight for t in self.tables], lr=message["rate"], eps=message["epsilon"],
            initial_accumulator_value=message["initial"])

    def batches(self, raw):
        """Returns tensors for each batch.

        A batch is int32: how many passages of how many centres and rows, and how many pairs; then the centres, the rows,
        the weight of the noise of each centre (float32), and the centre and the row of each pair, counted over the batch.
        """
        numbers = torch.frombuffer(raw, dtype=torch.int32)
        all, at = [], 0
        while at < len(numbers):
            passages, centres, rows, pairs = numbers[at:at + 4].tolist()
            sizes = [4, passages * centres, passages * rows, passages * centres, pairs, pairs]
            _, c, r, weight, of, near = numbers[at:at + sum(sizes)].split(sizes)
            at += sum(sizes)
            weight = weight.clone().view(torch.float32).view(passages, centres, 1)
            all.append((c.long().view(passages, centres), r.long().view(passages, rows), of.long(), near.long(),
                        weight.repeat(1, 1, self.noise)))
        return all

    def train(self, raw):
        batches = self.batches(raw)
        of_centres, of_rows = self.tables
        loss = torch.nn.functional.binary_cross_entropy_with_logits
        begin = time.perf_counter_ns()
        for centres, rows, of, near, weight in batches:
            self.method.zero_grad(set_to_none=True)
            c, r = of_centres(centres), of_rows(rows)
            noise = torch.bmm(c, r[:, :self.noise].transpose(1, 2))
            pairs = (c.flatten(0, 1).index_select(0, of) * r.flatten(0, 1).index_select(0, near)).sum(-1)
            total = loss(noise, torch.zeros_like(noise), weight, reduction="sum")
            total = total + loss(pairs, torch.ones_like(pairs), reduction="sum")
            total.backward()
            self.method.step()
        return time.perf_counter_ns() - begin

    def learnt(self):
        return as_bytes(torch.stack([t.weight.detach() for t in self.tables]))


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
# where all sides write. A third element returns, given the ids of the last call, what a loop has left elsewhere. A fourth
# forgets all steps of an optimizer; without one, a side starts from zeros where it writes.


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
        if job.dim == 1:  # numbers, not rows of one
            flat, to = v.table.view(-1), v.rows.view(-1)
            yield "torch index_select(out=), flat", each(lambda ids: torch.index_select(flat, 0, ids, out=to))


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


DROPPED = 0.1
DROPPED_OF_256 = 26  # what rowvec makes of it, for those who draw bytes too


def dropouts(job, lib, v):
    """Dropout by the function that there is, and by numbers in memory that is kept, with 1/(1-p) in the other factors."""
    batch = (-1, job.seq, job.dim)
    table, positions, rows, scale = v.table, v.positions, v.rows, job.scale
    sequences = rows.reshape(batch)
    kept = 1 / (1 - DROPPED_OF_256 / 256)
    larger = positions * np.float32(kept) if lib is np else positions * kept
    if lib is np:
        draw = np.random.default_rng(1)

        def sums(ids):
            table.take(ids, 0, rows, "clip")
            np.multiply(rows, np.float32(scale * kept), rows)
            np.add(sequences, larger, sequences)

        def by_bytes(ids):
            sums(ids)
            np.putmask(rows, np.frombuffer(draw.bytes(rows.size), np.uint8).reshape(rows.shape) < DROPPED_OF_256, 0)
        numbers = np.empty(rows.shape, np.float32)

        def by_floats(ids):
            sums(ids)
            draw.random(dtype=np.float32, out=numbers)
            np.putmask(rows, numbers < DROPPED, 0)
        yield "NumPy, floats drawn", each(by_floats)
        yield "NumPy, bytes drawn", each(by_bytes)
    else:
        torch.manual_seed(1)
        functional = torch.nn.functional

        def eager(ids):
            sums = functional.embedding(ids.view(-1, job.seq), table) * scale + positions
            return functional.dropout(sums, DROPPED, training=True)

        def in_place(ids):
            torch.index_select(table, 0, ids, out=rows)
            torch.add(positions, sequences, alpha=scale, out=sequences)
            functional.dropout(rows, DROPPED, training=True, inplace=True)

        def sums(ids):
            torch.index_select(table, 0, ids, out=rows)
            torch.add(larger, sequences, alpha=scale * kept, out=sequences)
        numbers = torch.empty_like(rows)

        def by_floats(ids):
            sums(ids)
            rows.mul_(numbers.uniform_().ge_(DROPPED))
        words = torch.empty((rows.numel() + 7) // 8, dtype=torch.int64)
        drawn = words.view(torch.uint8)[:rows.numel()].view(rows.shape)

        def by_bytes(ids):
            sums(ids)
            words.random_(-2 ** 63, None)
            rows.masked_fill_(drawn.lt(DROPPED_OF_256), 0)
        yield "torch eager", each(eager)
        yield "torch, 3 passes in place", each(in_place)
        yield "torch, floats drawn", each(by_floats)
        yield "torch, bytes drawn", each(by_bytes)


def norm(out, x, gamma, beta, temporary):
    """Normalises the rows of x, with what else it needs as large as them."""
    np.subtract(x, x.mean(1, keepdims=True), out)
    np.multiply(out, out, temporary)
    out /= np.sqrt(temporary.mean(1, keepdims=True) + np.float32(NORM_EPSILON))
    out *= gamma
    out += beta


def norms(job, lib, v):
    gamma, beta = v.affine[0], v.affine[1]
    if lib is np:
        temporary = np.empty_like(v.rows)
        yield "NumPy in place", each(lambda _: norm(v.rows, v.table, gamma, beta, temporary))
    else:
        layer_norm = torch.nn.functional.layer_norm
        yield "torch layer_norm", each(lambda _: layer_norm(v.table, (job.dim,), gamma, beta, NORM_EPSILON))
        if hasattr(torch.ops.aten.native_layer_norm, "out"):
            mean, r = torch.empty(job.ids, 1), torch.empty(job.ids, 1)
            into = torch.ops.aten.native_layer_norm.out
            yield "torch layer_norm, out=", each(lambda _: nothing(
                into(v.table, (job.dim,), gamma, beta, NORM_EPSILON, out0=v.rows, out1=mean, out2=r)))


def berts(job, lib, v):
    """The input of BERT: half of each sequence has the other type."""
    table, positions, segments, rows = v.table, v.positions, v.segments, v.rows
    gamma, beta = v.affine[0], v.affine[1]
    sequences = rows.reshape(-1, job.seq, job.dim)
    types = [i % job.seq * 2 // job.seq for i in range(job.ids)]
    if lib is np:
        types, temporary = np.array(types), np.empty_like(rows)

        def passes(ids):
            table.take(ids, 0, rows, "clip")
            segments.take(types, 0, temporary, "clip")
            np.add(rows, temporary, rows)
            np.add(sequences, positions, sequences)
            norm(rows, rows, gamma, beta, temporary)
        yield "NumPy in place", each(passes)
        return

    embedding, layer_norm = torch.nn.functional.embedding, torch.nn.functional.layer_norm
    types = torch.tensor(types)
    by_sequence, places = types.view(-1, job.seq), torch.arange(job.seq)[None]

    def eager(ids):
        out = embedding(ids.view(-1, job.seq), table) + embedding(by_sequence, segments)
        out += embedding(places, positions)
        return layer_norm(out, (job.dim,), gamma, beta, NORM_EPSILON)

    def in_place(ids):
        torch.index_select(table, 0, ids, out=rows)
        rows.add_(segments.index_select(0, types))
        sequences.add_(positions)
        return layer_norm(rows, (job.dim,), gamma, beta, NORM_EPSILON)
    yield "torch eager", each(eager)
    yield "torch, sums in place", each(in_place)


def add_rows(into, ids, rows):
    """The fastest that NumPy has for wide rows, though it is a loop. Each row is for len(ids)/len(rows) ids in turn."""
    pairs = zip(ids.tolist(), rows)
    if len(rows) < len(ids):
        pairs = ((i, row) for bag, row in zip(ids.reshape(len(rows), -1).tolist(), rows) for i in bag)
    for i, row in pairs:
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


def searches(job, lib, v):
    """The rows with the greatest dot products, the best first; of what is written, the products are compared."""
    table, queries, found = v.table, v.rows, v.found
    k, vocab = found.shape[1], job.vocab
    if lib is np:
        scores, every = np.empty((job.ids, vocab), np.float32), np.arange(job.ids)[:, None]

        def partition(_):
            np.matmul(queries, table.T, out=scores)
            best = np.argpartition(scores, vocab - k, 1)[:, vocab - k:]
            values = scores[every, best]
            order = np.argsort(-values, 1)
            found[:] = values[every, order]
            return best[every, order]
        name, search = "NumPy q @ E.T, argpartition", partition
    else:
        scores, ids = torch.empty(job.ids, vocab), torch.empty(job.ids, k, dtype=torch.int64)

        def top(_):
            torch.mm(queries, table.T, out=scores)
            torch.topk(scores, k, 1, out=(found, ids))
        name, search = "torch mm, topk", top
    yield name, each(search), lambda _: found


def outputs(job, lib, v):
    """Logits of hidden states against all rows of the table."""
    table, states, logits = v.table.T, v.rows, v.logits
    if lib is np:
        yield "NumPy h @ E.T", each(lambda _: np.matmul(states, table, out=logits))
    else:
        yield "torch mm", each(lambda _: torch.mm(states, table, out=logits))


def output_gradients(job, lib, v):
    """Their gradients: that of the table is added to, as where the table is that of the input too."""
    table, states, logits = v.table, v.rows, v.logits
    grad, of_states = v.grads[:job.vocab], v.grads[job.vocab:]
    if lib is np:
        temporary = np.empty(table.shape, np.float32)

        def products(_):
            np.matmul(logits, table, out=of_states)
            np.matmul(logits.T, states, out=temporary)
            np.add(grad, temporary, out=grad)
        yield "NumPy, 2 products", each(products)
    else:
        def products(_):
            torch.mm(logits, table, out=of_states)
            grad.addmm_(logits.T, states)
        yield "torch mm, addmm_", each(products)


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


SIZE = 1.0  # of initial weights: their limit or standard deviation


def uniforms(job, lib, v):
    y = v.y
    if lib is np:
        draw, size, least = np.random.default_rng(1).random, np.array(2 * SIZE, np.float32), np.array(SIZE, np.float32)

        def numbers(_):
            draw(dtype=np.float32, out=y)
            np.multiply(y, size, y)
            np.subtract(y, least, y)
        yield "NumPy random, 3 passes", each(numbers)
    else:
        torch.manual_seed(1)
        yield "torch uniform_", each(lambda _: y.uniform_(-SIZE, SIZE))


def normals(job, lib, v):
    y = v.y
    if lib is np:
        draw, size = np.random.default_rng(1).standard_normal, np.array(SIZE, np.float32)

        def numbers(_):
            draw(dtype=np.float32, out=y)
            np.multiply(y, size, y)
        yield "NumPy standard_normal, 2 passes", each(numbers)
    else:
        torch.manual_seed(1)
        yield "torch normal_", each(lambda _: y.normal_(0, SIZE))


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


def rotations(job, lib, v):
    """Of heads of 64, each of two halves, as in Hugging Face's Llama; cosines and sines are worked out beforehand."""
    half = HEAD // 2
    x = v.rows.reshape(-1, job.seq, job.dim // HEAD, HEAD)
    a, b = x[..., :half], x[..., half:]
    angles = [[position * 10000 ** (-i / half) for i in range(half)] for position in range(job.seq)]
    if lib is np:
        angles = np.array(angles, np.float32)[:, None]
        cos, sin = np.cos(angles), np.sin(angles)
        first, second = np.empty_like(a), np.empty_like(a)
        full_cos, full_sin = np.concatenate((cos, cos), -1), np.concatenate((sin, sin), -1)

        def usual(_):
            return x * full_cos + np.concatenate((-b, a), -1) * full_sin

        def in_place(_):
            np.multiply(b, sin, first)
            np.multiply(a, sin, second)
            np.multiply(a, cos, a)
            np.subtract(a, first, a)
            np.multiply(b, cos, b)
            np.add(b, second, b)
        yield "NumPy rotate_half", each(usual), None, again
        yield "NumPy, in place", each(in_place), None, again
    else:
        angles = torch.tensor(angles)[:, None]
        cos, sin = torch.cos(angles), torch.sin(angles)
        first = torch.empty(a.shape)
        full_cos, full_sin = torch.cat((cos, cos), -1), torch.cat((sin, sin), -1)

        def usual(_):
            return x * full_cos + torch.cat((-b, a), -1) * full_sin

        def in_place(_):
            torch.mul(a, sin, out=first)
            a.mul_(cos).addcmul_(b, sin, value=-1)
            b.mul_(cos).add_(first)
        yield "torch rotate_half", each(usual), None, again
        yield "torch, in place", each(in_place), None, again


def again():
    """Lets a side that changes what it is given begin with the same numbers as all others."""


def sinusoidal_layers(job, lib, v):
    for _, fill in sinusoids(job, lib, v):
        fill([None])
    yield from layers(job, lib, v)


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


def steps(job, lib, v):
    """Look up, add up the gradient, update the table: the result is its rows, and behind them those of the lookup.

    Of bags, the lookup adds up the rows of each, and all of its ids have its gradient.
    """
    table, rows, bag_grad = v.table, v.rows, v.out_grad
    method, of_bags = job.kernel[len("Training"):], job.kernel.startswith("TrainingBags")
    seq = 1
    if of_bags:
        method, seq = method[len("Bags"):], job.seq
    taken = 0  # by a side that works by hand

    def out_grad():
        """Returns the gradient for each id, in PyTorch."""
        return bag_grad if seq == 1 else bag_grad.unsqueeze(1).expand(-1, seq, -1).reshape(-1, job.dim)

    def restart():
        nonlocal taken
        taken = 0

    def adam_rate():
        """Returns the rate with the corrections of bias."""
        return RATE * math.sqrt(1 - BETA2 ** taken) / (1 - BETA1 ** taken)

    if lib is np:
        def add_up(ids):
            """Returns the ids, each once, and their gradients."""
            chosen, inverse = np.unique(ids, return_inverse=True)
            grad = np.zeros((len(chosen), job.dim), np.float32)
            add_rows(grad, inverse, bag_grad)
            return chosen, grad

        def sgd(ids):
            add_rows(table, ids, np.multiply(bag_grad, np.float32(-RATE)))

        def adagrad(ids):
            chosen, grad = add_up(ids)
            sums = v.sums[chosen]
            sums += grad * grad
            v.sums[chosen] = sums
            np.sqrt(sums, sums)
            sums += np.float32(EPSILON)
            grad /= sums
            grad *= np.float32(-RATE)
            table[chosen] += grad

        def row_adagrad(ids):
            chosen, grad = add_up(ids)
            sums = v.sums[chosen]
            sums += np.einsum("ij,ij->i", grad, grad) / np.float32(job.dim)
            v.sums[chosen] = sums
            grad *= (np.float32(-RATE) / (np.sqrt(sums) + np.float32(EPSILON)))[:, None]
            table[chosen] += grad

        def adam(ids):
            chosen, grad = add_up(ids)
            means, squares = v.means[chosen], v.squares[chosen]
            means += (grad - means) * np.float32(1 - BETA1)
            v.means[chosen] = means
            grad *= grad
            grad -= squares
            grad *= np.float32(1 - BETA2)
            squares += grad
            v.squares[chosen] = squares
            np.sqrt(squares, squares)
            squares += np.float32(EPSILON)
            means /= squares
            means *= np.float32(-adam_rate())
            table[chosen] += means

        update = {"SGD": sgd, "RowAdagrad": row_adagrad, "Adagrad": adagrad, "Adam": adam}[method]

        def one(ids):
            nonlocal taken
            taken += 1
            if of_bags:
                table.take(ids, 0, v.chosen, "clip")
                np.add.reduce(v.chosen.reshape(-1, seq, job.dim), 1, out=rows)
            else:
                table.take(ids, 0, rows, "clip")
            update(ids)
        yield "NumPy, row by row", each(one), lambda ids: np.concatenate((table[ids], rows)), restart
        return

    def add_up(ids):
        chosen, inverse = torch.unique(ids, return_inverse=True)
        return chosen, torch.zeros(len(chosen), job.dim).index_add_(0, inverse, out_grad())

    def sgd(ids):
        table.index_add_(0, ids, out_grad(), alpha=-RATE)

    def adagrad(ids):
        chosen, grad = add_up(ids)
        sums = v.sums.index_select(0, chosen).addcmul_(grad, grad)
        v.sums.index_copy_(0, chosen, sums)
        table.index_add_(0, chosen, grad.div_(sums.sqrt_().add_(EPSILON)), alpha=-RATE)

    def row_adagrad(ids):
        chosen, grad = add_up(ids)
        sums = v.sums.index_select(0, chosen).add_(torch.linalg.vector_norm(grad, dim=1).square_(), alpha=1 / job.dim)
        v.sums.index_copy_(0, chosen, sums)
        table.index_add_(0, chosen, grad.div_(sums.sqrt_().add_(EPSILON)[:, None]), alpha=-RATE)

    def adam(ids):
        chosen, grad = add_up(ids)
        means = v.means.index_select(0, chosen).lerp_(grad, 1 - BETA1)
        v.means.index_copy_(0, chosen, means)
        squares = v.squares.index_select(0, chosen).lerp_(grad.mul_(grad), 1 - BETA2)
        v.squares.index_copy_(0, chosen, squares)
        table.index_add_(0, chosen, means.div_(squares.sqrt_().add_(EPSILON)), alpha=-adam_rate())

    update = {"SGD": sgd, "RowAdagrad": row_adagrad, "Adagrad": adagrad, "Adam": adam}[method]

    def by_hand(ids):
        nonlocal taken
        taken += 1
        kept.rows = None
        kept.rows = look_up(ids)
        update(ids)

    def look_up(ids):
        """Returns what has been looked up, without autograd."""
        if of_bags:
            return bag(ids, table, starts, mode="sum")
        torch.index_select(table, 0, ids, out=rows)
        return rows

    kept, bag = SimpleNamespace(), torch.nn.functional.embedding_bag
    starts = torch.arange(0, job.ids, seq)
    yield "torch, no autograd or optim", each(by_hand), lambda ids: torch.cat((table[ids], kept.rows)), restart
    if method == "RowAdagrad":  # which PyTorch has no optimizer for
        return

    def optimized(name, gradient, new):
        """Returns a side: gradient leaves one in .grad of the weight that it is given, and returns what has been looked up."""
        weight, kept = table.detach().requires_grad_(), SimpleNamespace()

        def again():
            weight.grad = kept.optimizer = kept.rows = None  # of which the first frees memory for the second
            kept.optimizer = new([weight])

        def one(ids):
            kept.rows = None
            kept.rows = gradient(weight, ids)
            kept.optimizer.step()
            weight.grad = None

        def loop(lists):
            with torch.inference_mode(False), torch.enable_grad():
                each(one)(lists)
        return name, loop, lambda ids: torch.cat((table[ids], kept.rows.detach())), again

    def backward(sparse):
        def gradient(weight, ids):
            if of_bags:
                out = bag(ids, weight, starts, mode="sum", sparse=sparse)
            else:
                out = torch.nn.functional.embedding(ids, weight, sparse=sparse)
            out.backward(bag_grad)
            return out
        return gradient

    def without_backward(weight, ids):
        """Makes of the gradients of rows, without a copy, what autograd makes of them."""
        out = look_up(ids)
        weight.grad = torch.sparse_coo_tensor(ids[None], out_grad(), table.shape)
        return out

    optim = torch.optim
    new = dense = {
        "SGD": lambda weights: optim.SGD(weights, RATE),
        "Adagrad": lambda weights: optim.Adagrad(weights, RATE, eps=EPSILON),
        "Adam": lambda weights: optim.SparseAdam(weights, RATE, (BETA1, BETA2), EPSILON),
    }[method]
    if method == "Adam":  # adds epsilon after a correction; so the first step is that of the other
        dense = lambda weights: optim.Adam(weights, RATE, (BETA1, BETA2), EPSILON / math.sqrt(1 - BETA2))
    yield optimized("torch sparse gradient", backward(True), new)
    yield optimized("torch, no autograd", without_backward, new)
    yield optimized("torch dense gradient", backward(False), dense)


def bags(job, lib, v):
    """Bags are all of one size, which NumPy makes use of."""
    table, rows, chosen, seq = v.table, v.rows, v.chosen, job.seq
    kind = job.kernel[len("Bag"):]
    weights = v.weights if kind == "SumWeighted" else None
    by_bag = chosen.reshape(-1, seq, job.dim)
    if lib is np:
        per_bag = weights.reshape(-1, seq) if weights is not None else None
        reduce = {
            "Sum": lambda: np.add.reduce(by_bag, 1, out=rows),
            "SumWeighted": lambda: np.einsum("bsd,bs->bd", by_bag, per_bag, out=rows),
            "Mean": lambda: np.mean(by_bag, 1, out=rows),
            "Max": lambda: np.maximum.reduce(by_bag, 1, out=rows),
        }[kind]

        def loop(lists):
            take = table.take
            for ids in lists:
                take(ids, 0, chosen, "clip")
                reduce()
        yield "NumPy take, " + ("einsum" if weights is not None else "reduce"), loop
        return
    bag, mode = torch.nn.functional.embedding_bag, {"Mean": "mean", "Max": "max"}.get(kind, "sum")
    offsets = torch.arange(0, job.ids + 1, seq)
    starts = offsets[:-1].clone()
    yield "torch embedding_bag", each(lambda ids: bag(ids, table, starts, mode=mode, per_sample_weights=weights))
    yield "torch, all offsets", each(
        lambda ids: bag(ids, table, offsets, mode=mode, per_sample_weights=weights, include_last_offset=True))
    if kind == "Max":
        def loop(lists):
            for ids in lists:
                torch.index_select(table, 0, ids, out=chosen)
                torch.amax(by_bag, 1, out=rows)
        yield "torch index_select, amax", loop


def bag_weights(job, lib, v):
    """The dot product of each row and of that of its bag, in rows, where the gradient is."""
    table, rows, chosen, seq = v.table, v.rows, v.chosen, job.seq
    by_bag, per_bag = chosen.reshape(-1, seq, job.dim), v.weights.reshape(-1, seq)
    if lib is np:
        def loop(lists):
            for ids in lists:
                table.take(ids, 0, chosen, "clip")
                np.einsum("bsd,bd->bs", by_bag, rows, out=per_bag)
        yield "NumPy take, einsum", loop
        return

    per_row = rows.unsqueeze(1)

    def multiply(lists):
        for ids in lists:
            torch.index_select(table, 0, ids, out=chosen)
            by_bag.mul_(per_row)
            torch.sum(by_bag, 2, out=per_bag)
    yield "torch index_select, sum", multiply
    backward = getattr(torch.ops.aten, "_embedding_bag_per_sample_weights_backward", None)  # what autograd has do it
    if backward:
        starts = torch.arange(0, job.ids, seq)
        bag_of = torch.arange(job.ids) // seq
        yield "torch, bag's backward", each(lambda ids: backward(rows, table, ids, starts, bag_of, 0))


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
    loops = Loops(hello["loops"]) if hello.get("loops") else None
    send({
        "python": platform.python_version(),
        "numpy": np.__version__ if np is not None else "",
        "torch": str(torch.__version__) if torch is not None else "",
        "missing": missing,
    })

    memory = Memory(numbers)
    job = skip_gram = None
    gc.freeze()  # the libraries themselves, which would make each collection slow
    gc.disable()
    while True:
        message, raw = receive()
        try:
            do = message["do"]
            if do == "prepare":
                job = None  # before its memory grows
                gc.collect()
                job = Job(memory, loops, message, raw)
                send({"sides": list(job.sides)})
            elif do == "result":
                out = job.once(message["side"])
                send({"bytes": len(out)}, out)
            elif do == "run":
                send({"ns": job.run(message["side"], message["first"], message["calls"], message["warm"])})
            elif do == "learn":
                skip_gram = SkipGram(message, raw)
                send({})
            elif do == "train":
                send({"ns": skip_gram.train(raw)})
            elif do == "learnt":
                out = skip_gram.learnt()
                send({"bytes": len(out)}, out)
            else:
                raise ValueError("cannot do %r" % do)
        except Exception as e:
            send({"error": "%s: %s" % (type(e).__name__, e)})


main()
