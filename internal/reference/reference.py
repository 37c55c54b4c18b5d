"""Writes the reference results that the tests of rowvec read: the JSON files beside this script.

Run, from the root of the repository (Debian 12: python3-numpy, python3-torch):

    /usr/bin/python3 internal/reference/reference.py [directory]

The committed files were made with NumPy 1.24.2 and PyTorch 1.13.0a0 (Debian's 1.13.1+dfsg) on amd64 with AVX2, and the BLAS
of libblas3; two runs write identical files. The input comes from numpy.random.RandomState, whose stream is frozen, with fixed
seeds. Elsewhere sums of PyTorch's, and sin, cos and exp in float32, may differ in their last bits, for they depend on the width
of vectors and the vector library; so may, with another BLAS, dot products and products of matrices. OpenBLAS takes the place
of libblas3 where it is installed, and has an order for each processor. This has the same files written there:

    ATEN_CPU_CAPABILITY=avx2 LD_PRELOAD=/usr/lib/x86_64-linux-gnu/blas/libblas.so.3 /usr/bin/python3 internal/reference/reference.py

On amd64 without AVX-512, for which NumPy has other code for powers in float64, last digits of scaling.json and
positionfacts.json are others.

A file is {"about", "made_with", "cases": [..]}. A matrix is {"rows", "cols", "data"}, the data row-major float32,
little-endian, in base64; a vector is a matrix of one row. A scalar float32 is its bits in hexadecimal. A NaN that
was computed is written as 7fc00000, since its payload depends on the processor; one that was copied keeps its bits.

What the two systems agree on bit for bit is asserted here, so that a file holds one result. It is always the eager one,
product and sum apart: torch.add(y, x, alpha=a) and index_add_(.., alpha=a) use fused multiply-add where the
processor has it, and so are not references; torch.sum adds in an order of its own, and its results have a field of
their own.
"""

import base64
import json
import math
import os
import struct
import sys

import numpy as np
import torch
from torch import nn

f32 = np.float32
DIMS = [1, 3, 8, 17, 64, 100, 257]
HERE = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))

torch.set_num_threads(1)
np.seterr(all="ignore")


def from_bits(bits):
    return np.array(bits, dtype=np.uint32).view(f32)


# Zeros, ones, infinities, a quiet and a signalling NaN, the bounds of subnormals and normals, one ulp above 1, 2^-12
# above 1 (its square is a tie), and 1e-30.
SPECIAL = from_bits([
    0x00000000, 0x80000000, 0x3F800000, 0xBF800000, 0x7F800000, 0xFF800000, 0x7FC00001, 0xFF812345,
    0x00000001, 0x807FFFFF, 0x00800000, 0x7F7FFFFF, 0xFF7FFFFF, 0x3F800001, 0x3F800800, 0x0DA24260,
])


def same(a, b):
    """Asserts equal bits, where a NaN equals a NaN, and returns the first argument with its NaNs made uniform."""
    a, b = (np.array(x.detach().numpy() if isinstance(x, torch.Tensor) else x) for x in (a, b))
    assert a.dtype == b.dtype == f32 and a.shape == b.shape, (a.dtype, b.dtype, a.shape, b.shape)
    nan = np.isnan(a)
    assert (nan == np.isnan(b)).all() and (a.view(np.uint32) == b.view(np.uint32))[~nan].all()
    a[nan] = from_bits(0x7FC00000)
    return a


def same_bits(a, b):
    assert (a.view(np.uint32) == b.numpy().view(np.uint32)).all()
    return a


def tensor(a):
    return torch.from_numpy(np.array(a))


def matrix(a):
    a = np.ascontiguousarray(np.atleast_2d(a))
    assert a.dtype == f32 and a.ndim == 2
    return {"rows": a.shape[0], "cols": a.shape[1], "data": base64.b64encode(a.astype("<f4").tobytes()).decode()}


def scalar(x):
    return "%08x" % f32(x).view(np.uint32)


def ints(a):
    return [int(x) for x in np.ravel(a)]


def write(family, about, cases):
    lines = ['{\n"about": %s,\n"made_with": %s,\n"cases": [' % (
        json.dumps(about), json.dumps("NumPy %s, PyTorch %s" % (np.__version__, torch.__version__)))]
    body = []
    for case in cases:
        body.append("{\n" + ",\n".join("%s: %s" % (json.dumps(k), json.dumps(v)) for k, v in case.items()) + "\n}")
    lines.append(",\n".join(body) + "\n]\n}\n")
    path = os.path.join(HERE, family + ".json")
    with open(path, "w", newline="\n") as f:
        f.write("".join(lines))
    print("%-16s %3d cases %7d bytes" % (family, len(cases), os.path.getsize(path)))


def random(seed):
    """A function of shapes: normal deviates times powers of two between 2^-8 and 2^8, so that sums round."""
    r = np.random.RandomState(seed)

    def draw(*shape):
        return (r.standard_normal(shape) * 2.0 ** r.randint(-8, 9, shape)).astype(f32)

    draw.ids = lambda rows, n: r.randint(0, rows, n)
    return draw


def pairs():
    """Two vectors that bring every special value together with every other."""
    n = len(SPECIAL)
    return np.repeat(SPECIAL, n), np.tile(SPECIAL, n)


# Forward: gather, scaled gather, the fused forward with a start and with explicit positions.

def forward_case(name, table, positions, ids, at, scale, start, seq):
    scale = f32(scale)
    rows = start + np.arange(len(ids)) % seq
    t, p, i, s = tensor(table), tensor(positions), torch.from_numpy(ids), float(scale)

    gathered = same_bits(np.take(table, ids, axis=0), torch.index_select(t, 0, i))
    scaled = same(table[ids] * scale, torch.index_select(t, 0, i) * s)
    embedded = same(table[ids] * scale + positions[rows], nn.functional.embedding(i, t) * s + p[torch.from_numpy(rows)])
    embedded_at = same(table[ids] * scale + positions[at],
                       nn.functional.embedding(i, t) * s + nn.functional.embedding(torch.from_numpy(at), p))
    return {"name": name, "table": matrix(table), "positions": matrix(positions), "ids": ints(ids), "at": ints(at),
            "scale": scalar(scale), "start": start, "seq": seq, "gathered": matrix(gathered), "scaled": matrix(scaled),
            "embedded": matrix(embedded), "embedded_at": matrix(embedded_at)}


def forward():
    cases = []
    for k, dim in enumerate(DIMS):
        draw = random(100 + k)
        table, positions = draw(4, dim), draw(4, dim)
        ids = np.array([3, 0, 3, 1, 2, 0])
        at = draw.ids(4, 6)
        cases.append(forward_case("dim=%d" % dim, table, positions, ids, at, math.sqrt(dim) if dim > 1 else 0.3,
                                  start=k % 3, seq=[2, 1, 2, 3, 2, 1, 2][k]))
    n = len(SPECIAL)
    positions = np.stack([np.roll(SPECIAL, p) for p in range(n)])
    for name, scale in ("-0.5", -0.5), ("inf", np.inf):
        at = np.arange(n)[::-1].copy()
        cases.append(forward_case("special/scale=" + name, SPECIAL[None], positions, np.zeros(n, np.int64), at, scale,
                                  start=0, seq=n))
    write("forward", "gathered[i] = table[ids[i]]; scaled[i] = scale*table[ids[i]]; embedded[i] = scale*table[ids[i]] + "
          "positions[start + i mod seq]; embedded_at[i] = scale*table[ids[i]] + positions[at[i]]. NumPy take, * and + "
          "in float32; the same bits from PyTorch index_select, embedding, * and +.", cases)


# Scatter-add with duplicates.

def scatter_case(name, dst, ids, alpha, src):
    alpha = f32(alpha)
    i = torch.from_numpy(ids)

    def added(product, product_torch):
        want = dst.copy()
        np.add.at(want, ids, product)
        loop = dst.copy()
        for k, row in enumerate(ids):
            loop[row] += product[k]
        same(want, loop)
        return same(want, tensor(dst).index_add_(0, i, product_torch))

    return {"name": name, "dst": matrix(dst), "ids": ints(ids), "alpha": scalar(alpha), "src": matrix(src),
            "added": matrix(added(src, tensor(src))),
            "added_scaled": matrix(added(alpha * src, tensor(src) * float(alpha)))}


def scatter():
    cases = []
    for k, dim in enumerate(DIMS):
        draw = random(200 + k)
        cases.append(scatter_case("dim=%d" % dim, draw(3, dim), np.array([2, 0, 2, 2, 0, 2]),
                                  math.sqrt(dim) if dim > 1 else -0.7, draw(6, dim)))
    n = len(SPECIAL)
    src = np.stack([np.roll(SPECIAL, p) for p in range(n)])
    cases.append(scatter_case("special/alpha=0.5", np.tile(SPECIAL, (n, 1)), np.arange(n), 0.5, src))
    cases.append(scatter_case("special/from zero", np.zeros((2, n), f32), np.array([1, 0, 1]), -1, src[:3]))
    write("scatter", "added = dst with src[i] added to row ids[i], added_scaled = dst with alpha*src[i] added, for i "
          "ascending. NumPy add.at in float32; the same bits from a loop and from PyTorch index_add_.", cases)


# The gradient of nn.Embedding.

def embedding():
    cases = []
    for k, dim in enumerate([1, 3, 8, 17, 64]):
        for padding in -1, 0, 3:
            draw = random(300 + 10 * k + padding)
            vocab, n, scale = 5, 8, f32(math.sqrt(dim))
            ids = draw.ids(vocab, n)
            ids[0], ids[-1] = 0, 3
            dout = draw(n, dim)

            def grad(factor):
                module = nn.Embedding(vocab, dim, padding_idx=None if padding < 0 else padding)
                out = module(torch.from_numpy(ids))
                (out if factor is None else out * math.sqrt(dim)).backward(tensor(dout))
                want = np.zeros((vocab, dim), f32)
                keep = ids != padding
                np.add.at(want, ids[keep], dout[keep] if factor is None else factor * dout[keep])
                return same(want, module.weight.grad)

            cases.append({"name": "dim=%d/padding=%d" % (dim, padding), "vocab": vocab, "padding": padding,
                          "ids": ints(ids), "scale": scalar(scale), "dout": matrix(dout), "grad": matrix(grad(None)),
                          "grad_scaled": matrix(grad(scale))})
    write("embedding", "The weight's gradient of PyTorch nn.Embedding(vocab, dim, padding_idx) for the gradient dout of "
          "its result, and of its result times sqrt(dim), rounded to float32 as scale; padding -1 is none. The same bits "
          "from NumPy add.at over the rows whose id is not padding.", cases)


# The gradient of positions that every sequence of a batch has added.

def positions():
    cases = []
    for k, dim in enumerate([1, 3, 8, 17, 64, 100]):
        draw = random(400 + k)
        batches, seq = 9, 2
        dout = draw(batches, seq, dim)
        want = np.zeros((seq, dim), f32)
        for b in range(batches):
            want += dout[b]
        summed = tensor(dout).sum(0).numpy()
        bound = 2.0 ** -24 * 2 * (batches - 1) * np.abs(dout.astype(np.float64)).sum(0)
        assert (np.abs(want.astype(np.float64) - summed) <= bound).all()
        cases.append({"name": "dim=%d" % dim, "batches": batches, "dout": matrix(dout.reshape(-1, dim)),
                      "grad": matrix(want), "torch": matrix(summed)})
    write("positions", "dout is (batches, seq, dim). grad is the sum over the batches in ascending order from +0, by a "
          "NumPy loop in float32; torch is PyTorch's sum(0), in an order of its own.", cases)


# Tables of positions interpolated to another number of rows.

def resize_case(name, seed, prefix, sizes, new_sizes, dim):
    r = np.random.RandomState(seed)
    rows, new_rows = prefix + int(np.prod(sizes)), prefix + int(np.prod(new_sizes))
    table = nn.Parameter(tensor(r.standard_normal((rows, dim)).astype(f32)))
    x = table[prefix:].T.reshape(1, dim, *sizes)
    out = nn.functional.interpolate(x, size=new_sizes, mode="linear" if len(sizes) == 1 else "bicubic", align_corners=True)
    out = torch.cat([table[:prefix], out.reshape(dim, -1).T])
    dout = r.standard_normal((new_rows, dim)).astype(f32)
    out.backward(tensor(dout))
    pair = [1] * (2 - len(sizes))
    return {"name": name, "prefix": prefix, "from": pair + list(sizes), "to": pair + list(new_sizes),
            "table": matrix(table.detach().numpy()), "out": matrix(out.detach().numpy()), "dout": matrix(dout),
            "grad": matrix(table.grad.numpy())}


def resize():
    cases = []
    for k, (old, new) in enumerate([(1, 5), (5, 1), (7, 7), (8, 15), (9, 5), (2, 9), (10, 23), (23, 10), (64, 129), (100, 77),
                                    (31, 200)]):
        cases.append(resize_case("%d to %d" % (old, new), 1000 + k, 0, (old,), (new,), 3 if old < 30 else 1))
    for k, (prefix, old, new) in enumerate([
            (0, (3, 3), (5, 5)), (1, (4, 5), (7, 3)), (2, (1, 1), (3, 2)), (1, (1, 4), (2, 7)), (0, (6, 6), (6, 6)),
            (0, (6, 7), (2, 9)), (1, (5, 5), (1, 1)), (0, (2, 2), (9, 6)), (0, (3, 2), (8, 8)), (1, (14, 14), (24, 24)),
            (1, (16, 16), (9, 11))]):
        name = "%d + %d x %d to %d x %d" % ((prefix,) + old + new)
        cases.append(resize_case(name, 1050 + k, prefix, old, new, 2 if old[0] < 5 else 1))
    write("resize", "Tables of positions interpolated by PyTorch's nn.functional.interpolate with align_corners=True, and the "
          "gradients of tables by autograd from dout: mode linear where from[0] is 1 and prefix 0, mode bicubic for grids of "
          "from[0] x from[1] behind prefix rows that stay as they are.", cases)


# The grids of get_2d_sincos_pos_embed in MAE: the same formula, written anew.

def grid_case(side, dim, class_token):
    frequency = 10000.0 ** -(np.arange(dim // 4) / (dim / 4))
    y, x = np.divmod(np.arange(side * side), side)
    halves = [np.concatenate([np.sin(c[:, None] * frequency), np.cos(c[:, None] * frequency)], axis=1) for c in (x, y)]
    table = np.concatenate([np.zeros((class_token, dim))] + [np.concatenate(halves, axis=1)])
    return {"name": "side=%d/dim=%d" % (side, dim), "side": side, "dim": dim, "class_tokens": class_token,
            "table": matrix(table.astype(f32))}


def grid():
    write("grid", "The 2-D sine-cosine table of MAE (facebookresearch/mae, util/pos_embed.py), which is that of He et al. "
          "2021: the first half of a row encodes the column of a patch, the second its row, each by sines and then cosines; "
          "computed by NumPy in float64 and rounded once.",
          [grid_case(3, 4, 0), grid_case(7, 16, 1), grid_case(14, 8, 1), grid_case(5, 64, 0)])


# The complete layer.

def sinusoid_torch(length, dim):
    """The usual code, in float32 throughout."""
    position = torch.arange(length, dtype=torch.float).unsqueeze(1)
    div_term = torch.exp(torch.arange(0, dim, 2).float() * (-math.log(10000.0) / dim))
    pe = torch.zeros(length, dim)
    pe[:, 0::2] = torch.sin(position * div_term)
    pe[:, 1::2] = torch.cos(position * div_term[:dim // 2])
    return pe


def layer_case(kind, dim, seed):
    draw = random(seed)
    vocab, batch, seq, length, padding = 6, 3, 3, 4, 0
    ids = np.array([[1, 5, 0], [5, 5, 2], [4, 0, 0]])
    scaled = kind != "none"
    tokens = nn.Embedding(vocab, dim, padding_idx=padding)
    weight = draw(vocab, dim)
    weight[padding] = 0
    tokens.weight.data = tensor(weight)
    if kind == "learned":
        table = nn.Parameter(tensor(draw(length, dim)))
    else:
        table = sinusoid_torch(length, dim) if kind == "sinusoidal" else torch.zeros(0, dim)

    out = tokens(torch.from_numpy(ids))
    if scaled:
        out = out * math.sqrt(dim)
    if kind != "none":
        out = out + table[:seq]
    dout = draw(batch, seq, dim)
    out.backward(tensor(dout))

    scale = f32(math.sqrt(dim)) if scaled else f32(1)
    plain = weight[ids] * scale
    if kind != "none":
        plain = plain + table.detach().numpy()[:seq]
    keep = ids != padding
    token_grad = np.zeros((vocab, dim), f32)
    np.add.at(token_grad, ids[keep], scale * dout[keep])
    position_grad = np.zeros((length, dim), f32)
    if kind == "learned":
        for b in range(batch):
            position_grad[:seq] += dout[b]
        assert np.allclose(position_grad, table.grad.numpy(), rtol=1e-4, atol=1e-4)
    return {"name": "%s/dim=%d" % (kind, dim), "kind": kind, "table": matrix(weight), "padding": padding,
            "positions": matrix(table.detach().numpy()), "ids": ints(ids), "seq": seq, "scale": scalar(scale),
            "out": matrix(same(out, plain).reshape(-1, dim)), "dout": matrix(dout.reshape(-1, dim)),
            "token_grad": matrix(same(tokens.weight.grad, token_grad)),
            "position_grad": matrix(position_grad if kind == "learned" else np.zeros((0, dim), f32)),
            "position_grad_torch": matrix(table.grad.numpy() if kind == "learned" else np.zeros((0, dim), f32))}


def layer():
    kinds = [("learned", d) for d in (1, 3, 8, 17, 64)] + [("sinusoidal", d) for d in (2, 8, 17)] + [("none", 5)]
    write("layer", "A complete embedding layer in PyTorch, in eval mode: nn.Embedding with padding_idx, times scale "
          "(sqrt(dim) in float32; 1 for kind none), plus the first seq rows of positions; then backward from dout. ids "
          "are sequences of seq tokens, one behind the other. position_grad, for kind learned, is the sum over the "
          "batch in ascending order by NumPy; position_grad_torch is autograd's, in an order of its own. All else has the "
          "same bits in NumPy.", [layer_case(kind, dim, 500 + i) for i, (kind, dim) in enumerate(kinds)])


# The embeddings of BERT.

def bert_case(dim, seed):
    r = np.random.RandomState(seed)
    vocab, batch, seq, length, kinds, padding = 7, 3, 4, 9, 2, 0
    ids, types = r.randint(0, vocab, (batch, seq)), r.randint(0, kinds, (batch, seq))
    ids[0, 1], ids[2, 3] = ids[1, 1], padding
    at = np.array([[0, 1, 2, 3], [5, 6, 7, 8], [2, 3, 4, 0]])
    tables = [r.standard_normal((rows, dim)).astype(f32) for rows in (vocab, length, kinds)]
    tables[0][padding] = 0
    weight, bias = r.standard_normal(dim).astype(f32), r.standard_normal(dim).astype(f32)
    dout = r.standard_normal((batch, seq, dim)).astype(f32)

    def run(dtype, normed):
        words, positions, segments = [nn.Embedding(len(t), dim, padding_idx=p, dtype=dtype)
                                      for t, p in zip(tables, (padding, None, None))]
        norm = nn.LayerNorm(dim, eps=1e-12, dtype=dtype)
        parameters = [words.weight, positions.weight, segments.weight, norm.weight, norm.bias]
        for p, value in zip(parameters, tables + [weight, bias]):
            p.data = tensor(value).to(dtype)
        out = words(torch.from_numpy(ids)) + segments(torch.from_numpy(types))
        out = out + positions(torch.from_numpy(at))
        if normed:
            out = norm(out)
        out.backward(tensor(dout).to(dtype))
        return [x.reshape(-1, dim) for x in [out.detach()] + [p.grad for p in parameters if p.grad is not None]]

    words, positions, segments = tables
    total = (words[ids] + segments[types]) + positions[at]
    grads = [np.zeros_like(t) for t in tables]
    keep = ids != padding
    np.add.at(grads[0], ids[keep], dout[keep])
    np.add.at(grads[1], at, dout)
    np.add.at(grads[2], types, dout)
    plain = [same(x, y) for x, y in zip(run(torch.float32, False), [total.reshape(-1, dim)] + grads)]
    normed, exact = run(torch.float32, True), run(torch.float64, True)
    for x, y in zip(normed, exact):
        assert (x - y).abs().max() <= 16 * 2.0 ** -24 * y.abs().max()
    names = ["token_grad", "position_grad", "segment_grad"]
    case = {"name": "dim=%d" % dim, "epsilon": scalar(1e-12), "table": matrix(words), "padding": padding,
            "positions": matrix(positions), "segments": matrix(segments), "weight": matrix(weight), "bias": matrix(bias),
            "ids": ints(ids), "types": ints(types), "at": ints(at), "seq": seq, "dout": matrix(dout.reshape(-1, dim)),
            "sum": matrix(plain[0])}
    case.update({"sum_" + name: matrix(x) for name, x in zip(names, plain[1:])})
    case.update({name: matrix(x.numpy()) for name, x in zip(["out"] + names + ["weight_grad", "bias_grad"], normed)})
    return case


def bert():
    write("bert", "The embeddings of BERT in PyTorch, in eval mode, as Hugging Face's BertEmbeddings adds them: sum is (token + "
          "segment) + position, by three nn.Embedding, the first with padding_idx, of ids, types and explicit positions at; out is "
          "the nn.LayerNorm of it with weight and bias. sum_token_grad and so on are the gradients for the gradient dout of "
          "sum, with the same bits in NumPy; token_grad and so on those for the gradient dout of out, by autograd in float32. "
          "These, and out, are within 16 half ulps of the largest element of what PyTorch has in float64.",
          [bert_case(dim, 1000 + dim) for dim in (5, 19)])


# Sinusoidal tables.

def sinusoid():
    cases = []
    length = 5000
    at = [0, 1, 2, 3, 10, 63, 100, 255, 511, 512, 1000, 4999]
    for dim in 1, 2, 3, 8, 17, 64, 101:
        column = np.arange(dim)
        angle = np.arange(length)[:, None] / 10000.0 ** (column // 2 * 2 / dim)
        table = np.where(column % 2 == 0, np.sin(angle), np.cos(angle))
        assert table.dtype == np.float64
        usual = sinusoid_torch(length, dim).numpy()
        # Angles in float32 lose this much at these dims; of all dims up to 1,024, 801 loses most, 4.5e-5.
        assert np.abs(table - usual)[:512].max() < 4e-5
        cases.append({"name": "dim=%d" % dim, "length": length, "dim": dim, "at": at,
                      "rounded": matrix(table[at].astype(f32)), "torch": matrix(usual[at])})
    write("sinusoid", "Rows at[i] of the sinusoidal table of length rows: PE(pos,2i) = sin(pos/10000^(2i/dim)), "
          "PE(pos,2i+1) = cos of the same. rounded is computed by NumPy in float64 and rounded once; torch is the usual "
          "PyTorch code in float32, within 4e-5 of it below position 512.", cases)


def layouts():
    """Other orders of columns and other bases: by NumPy in float64, and as the usual code has it in float32."""
    cases = []
    at = [0, 1, 2, 3, 100, 255, 256, 511, 4999]
    position = np.array(at, np.float64)[:, None]
    for layout, base, dims in (("interleaved", 500000.0, (2, 9, 32)), ("half-split", 10000.0, (1, 2, 8, 17, 32)),
                               ("tensor2tensor", 10000.0, (1, 2, 3, 8, 17, 32)), ("tensor2tensor", 100.0, (6,))):
        for dim in dims:
            pairs = dim // 2 if layout == "tensor2tensor" else (dim + 1) // 2
            last = max(1, pairs - 1) if layout == "tensor2tensor" else dim / 2
            table, usual = np.zeros((len(at), dim)), torch.zeros(len(at), dim)
            angle = position * base ** (-np.arange(pairs) / last)
            angle32 = tensor(position.astype(f32)) * torch.exp(torch.arange(pairs).float() * (-math.log(base) / last))
            for i in range(pairs):
                columns = (2 * i, 2 * i + 1) if layout == "interleaved" else (i, pairs + i)
                for column, by64, by32 in zip(columns, (np.sin, np.cos), (torch.sin, torch.cos)):
                    if column < dim:
                        table[:, column], usual[:, column] = by64(angle[:, i]), by32(angle32[:, i])
            assert np.abs(table - usual.numpy())[:-1].max() < 4e-5
            cases.append({"name": "%s base=%g dim=%d" % (layout, base, dim), "length": at[-1] + 1, "dim": dim, "at": at,
                          "layout": layout, "base": base, "rounded": matrix(table.astype(f32)), "torch": matrix(usual.numpy())})
    write("layouts", "Rows at[i] of sinusoidal tables. interleaved: PE(pos,2i) = sin(pos/base^(2i/dim)), PE(pos,2i+1) = cos of "
          "the same; half-split: the sines in front of the cosines, as Transformers' BART has them; tensor2tensor: the same with "
          "frequencies base^(-i/(dim//2-1)), and zeros last where dim is odd, as tensor2tensor's get_timing_signal_1d and "
          "fairseq. rounded is by NumPy in float64 and rounded once; torch is by PyTorch in float32, within 4e-5 of it below "
          "position 512.", cases)


# Vectors.

def vector_case(name, dst, alpha, src):
    alpha = f32(alpha)
    y, x, a = tensor(dst), tensor(src), float(alpha)
    return {"name": name, "dst": matrix(dst), "alpha": scalar(alpha), "src": matrix(src),
            "added": matrix(same(dst + src, y + x)), "added_scaled": matrix(same(dst + alpha * src, y + x * a)),
            "scaled": matrix(same(alpha * dst, y * a))}


def vector():
    cases = []
    for k, n in enumerate(DIMS):
        draw = random(600 + k)
        cases.append(vector_case("len=%d" % n, draw(n), draw(1)[0], draw(n)))
    dst, src = pairs()
    for name, alpha in ("-0", -0.0), ("0.3", 0.3), ("-inf", -np.inf), ("nan", np.nan):
        cases.append(vector_case("special/alpha=" + name, dst, alpha, src))
    write("vector", "added = dst + src, added_scaled = dst + alpha*src, scaled = alpha*dst, in float32 by NumPy, the same "
          "bits from PyTorch.", cases)


# The options of nn.Embedding.

def options():
    cases = []
    for k, dim in enumerate([1, 3, 17]):
        for name, padding, by_frequency, max_norm, norm in [
                ("frequency", -1, True, 0, 2), ("frequency and padding", 3, True, 0, 2), ("norm 2", -1, False, 1.5, 2),
                ("norm 1", 0, False, 2.5, 1), ("norm inf", -1, False, 0.75, math.inf), ("norm 3", -1, True, 1.25, 3)]:
            draw = random(700 + k)
            vocab, n = 6, 12
            weight, ids, dout = draw(vocab, dim), draw.ids(vocab, n), draw(n, dim)
            ids[0], ids[-1] = 3, 3
            module = nn.Embedding(vocab, dim, padding_idx=None if padding < 0 else padding, max_norm=max_norm or None,
                                  norm_type=norm, scale_grad_by_freq=by_frequency)
            module.weight.data = tensor(weight)
            out = module(torch.from_numpy(ids))
            out.backward(tensor(dout))
            cases.append({"name": "%s/dim=%d" % (name, dim), "table": matrix(weight), "padding": padding,
                          "by_frequency": by_frequency, "max_norm": max_norm, "norm": 0 if norm == math.inf else norm,
                          "ids": ints(ids), "dout": matrix(dout), "out": matrix(out.detach().numpy()),
                          "table_after": matrix(module.weight.detach().numpy()),
                          "grad": matrix(module.weight.grad.numpy())})
    write("options", "PyTorch nn.Embedding with padding_idx, scale_grad_by_freq, and max_norm (0: none) with norm_type (0: "
          "infinite): its result, its weight after that, and the weight's gradient for the gradient dout of its result. "
          "PyTorch computes norms in float32, and adds the rows of a gradient with fused multiply-add.", cases)


# nn.Embedding.from_pretrained.

def pretrained_case(freeze, padding, seed):
    draw = random(seed)
    vocab, dim, batch, seq, rate = 4, 3, 2, 2, 0.125
    weight, table = draw(vocab, dim), draw(seq, dim)
    given = tensor(weight)
    tokens = nn.Embedding.from_pretrained(given, freeze=freeze, padding_idx=None if padding < 0 else padding)
    positions = nn.Parameter(tensor(table))
    optimizer = torch.optim.SGD([tokens.weight, positions], lr=rate)
    case = {"name": "freeze=%s/padding=%d" % (freeze, padding), "freeze": freeze, "padding": padding, "table": matrix(weight),
            "positions": matrix(table), "rate": rate, "steps": []}
    for ids in [[1, 3], [3, 0]], [[2, 2], [1, 3]], [[0, 1], [1, 2]]:
        ids, dout = np.array(ids), draw(batch, seq, dim)
        optimizer.zero_grad()
        found = tokens(torch.from_numpy(ids))
        out = found + positions
        assert found.requires_grad != freeze
        out.backward(tensor(dout))
        assert (tokens.weight.grad is None) == freeze
        optimizer.step()

        grad, keep = np.zeros((vocab, dim), f32), ids != padding
        if not freeze:
            np.add.at(grad, ids[keep], dout[keep])
            grad = same(grad, tokens.weight.grad)
        step = {"ids": ints(ids), "found": matrix(same(weight[ids], found).reshape(-1, dim)),
                "out": matrix(same(weight[ids] + table, out).reshape(-1, dim)), "dout": matrix(dout.reshape(-1, dim)),
                "grad": matrix(grad[:0] if freeze else grad)}
        weight, table = same(weight + -f32(rate) * grad, tokens.weight), same(table + -f32(rate) * dout.sum(0), positions)
        step.update({"table": matrix(weight), "positions": matrix(table)})
        case["steps"].append(step)
        assert tokens.weight.data_ptr() == given.data_ptr(), "the table is a copy"
    return case


def pretrained():
    assert not nn.Embedding.from_pretrained(torch.ones(1, 1)).weight.requires_grad, "freeze is the default"
    write("pretrained", "PyTorch nn.Embedding.from_pretrained(table, freeze, padding_idx), whose result is found, plus learned "
          "positions of sequences of 2, which is out, trained for three steps by SGD(lr=rate) on the gradient dout of out. grad is "
          "the weight's gradient, without rows where it is None; table and positions are those after the step. The same bits "
          "from NumPy.", [pretrained_case(freeze, padding, 980) for freeze, padding in ((True, 1), (False, 1), (False, -1))])


# nn.EmbeddingBag.

def embedding_bag_case(name, mode, padding, weight, ids, offsets, dout, factors, **more):
    """more is what bagoptions.json has: seq, max_norm and norm. offsets have the last one then."""
    seq, max_norm, norm = [more.get(k, 0) for k in ("seq", "max_norm", "norm")]
    at = [torch.from_numpy(ids), torch.from_numpy(offsets)]
    if seq:
        at = [at[0].view(-1, seq)]
    module = nn.EmbeddingBag(*weight.shape, mode="sum" if mode == "weighted" else mode, max_norm=max_norm or None,
                             norm_type=norm or math.inf, include_last_offset=bool(more and not seq),
                             padding_idx=None if padding < 0 else padding)
    module.weight.data = tensor(weight)
    w = tensor(factors).requires_grad_() if mode == "weighted" else None
    out = module(*at, per_sample_weights=None if w is None else w.view(at[0].shape))
    out.backward(tensor(dout))
    case = {"name": name, "table": matrix(weight), "mode": mode, "padding": padding, "ids": ints(ids),
            "offsets": ints(offsets), "weights": matrix(factors), "dout": matrix(dout), "out": matrix(out.detach().numpy()),
            "grad": matrix(module.weight.grad.numpy()), "weights_grad": matrix(np.zeros(0, f32) if w is None else w.grad.numpy())}
    if more:
        case.update({**more, "last": True, "table_after": matrix(module.weight.detach().numpy())})
    return case


def embedding_bag():
    cases = []
    for k, dim in enumerate([1, 3, 17]):
        for mode in "sum", "mean", "max", "weighted":
            for padding in -1, 2:
                draw = random(800 + k)
                vocab, n = 7, 20
                weight, ids = draw(vocab, dim), draw.ids(vocab, n)
                offsets = np.array([0, 0, 3, 4, 11, 11, 12])  # the first and the fifth bag are empty
                ids[3] = 2  # of the third bag, which has no other
                ids[4:6] = 5
                weight[6, 0], weight[1, 0] = weight[5, 0], -0.0
                dout, factors = draw(len(offsets), dim), draw(n)
                cases.append(embedding_bag_case("%s/padding=%d/dim=%d" % (mode, padding, dim), mode, padding, weight, ids,
                                                offsets, dout, factors))
    write("embeddingbag", "PyTorch nn.EmbeddingBag of modes sum, mean and max, and of sum with per_sample_weights (weighted); offsets "
          "are without the last one; padding -1 is none. grad is the weight's gradient for the gradient dout of out, "
          "weights_grad that of the weights. PyTorch uses fused multiply-add, for a mean the reciprocal, and orders of its "
          "own.", cases)


def bag_options():
    cases = []
    for k, dim in enumerate([3, 17]):
        for mode in "sum", "mean", "max", "weighted":
            for name, padding, seq, max_norm, norm in [
                    ("last offset", -1, 0, 0, 2), ("2-D", 2, 4, 0, 2), ("last offset/norm 2", 2, 0, 1.5, 2), ("2-D/norm 1", -1, 4, 2.5, 1),
                    ("last offset/norm inf", -1, 0, 0.75, 0)][2 * k:]:
                draw = random(820 + k)
                vocab, n = 6, 12
                weight, ids = draw(vocab, dim), draw.ids(vocab, n)
                offsets = np.arange(0, n + 1, seq) if seq else np.array([0, 0, 3, 4, 4, n])
                ids[3], ids[4:7], ids[8:] = 2, [4, 5, 5], 2  # the only id of a bag, a bag with two maxima, and all of one
                weight[4:6, 0] = 300
                cases.append(embedding_bag_case("%s/%s/dim=%d" % (mode, name, dim), mode, padding, weight, ids, offsets,
                                                draw(len(offsets) - 1, dim), draw(n), seq=seq, max_norm=max_norm, norm=norm))
    write("bagoptions", "PyTorch nn.EmbeddingBag as in embeddingbag.json, with include_last_offset or, where seq is not 0, of 2-D "
          "input with seq ids in each bag, which offsets say too; and with max_norm (0: none) and norm_type (0: infinite): "
          "table_after is the weight after that, from which come out and the gradients.", cases)


def bag_frequency_case(name, mode, exact, ids, offsets, seed):
    draw = random(seed)
    vocab, dim, padding, bags = 6, 5, 0, len(offsets) - 1
    weight, dout, factors = draw(vocab, dim), draw(bags, dim), draw(len(ids))
    kept = ids != padding
    bag_of = torch.from_numpy(np.repeat(np.arange(bags), np.diff(offsets))[kept])
    module, w = nn.Embedding(vocab, dim, scale_grad_by_freq=True), tensor(factors).requires_grad_()
    module.weight.data = tensor(weight)
    rows = module(torch.from_numpy(ids[kept]))
    if mode == "weighted":
        rows = rows * w[torch.from_numpy(kept)][:, None]
    out = torch.zeros(bags, dim).index_add(0, bag_of, rows)
    if mode == "mean":
        out = out / torch.bincount(bag_of, minlength=bags).clamp(min=1)[:, None]
    out.backward(tensor(dout))
    return {"name": name, "table": matrix(weight), "mode": mode, "padding": padding, "by_frequency": True, "exact": exact,
            "ids": ints(ids), "offsets": ints(offsets), "last": True, "weights": matrix(factors), "dout": matrix(dout),
            "out": matrix(out.detach().numpy()), "grad": matrix(module.weight.grad.numpy()),
            "weights_grad": matrix(w.grad.numpy() if mode == "weighted" else np.zeros(0, f32))}


def bag_frequency():
    cases = []
    for k, mode in enumerate(["sum", "mean", "weighted"]):
        for name, exact, ids, offsets in [
                ("powers of two", True, [1, 2, 2, 0, 3, 3, 3, 4, 0, 3, 5], [0, 1, 1, 3, 4, 9, 11]),
                ("any", False, [1, 2, 1, 0, 3, 3, 3, 1, 0, 3, 3, 2, 2], [0, 1, 4, 4, 9, 9, 13])]:
            cases.append(bag_frequency_case("frequency/%s/%s" % (mode, name), mode, exact, np.array(ids), np.array(offsets), 840 + k))
    write("bagfrequency", "Bags as in embeddingbag.json, with the last offset and without tokens of the padding id, by PyTorch "
          "nn.Embedding(scale_grad_by_freq=True), times weights, index_add and a division by the number of tokens: nn.EmbeddingBag "
          "divides by counts of other ids. Where exact is true all counts and numbers are powers of two, so that whether a "
          "product with their reciprocals is fused, or a quotient, makes no difference.", cases)


def bag_max():
    n = len(SPECIAL)
    table = np.stack([np.roll(SPECIAL, p) for p in range(n)] + [SPECIAL])
    pairs = np.stack([np.zeros(n, np.int64), np.arange(1, n + 1)], 1)  # of which the last are rows with the same bits
    ids = np.concatenate([pairs.ravel(), pairs[:, ::-1].ravel(), np.arange(n)])
    offsets = np.concatenate([np.arange(0, len(ids) - n + 1, 2), [len(ids) - n]])  # the last but one is empty
    dout = random(860)(len(offsets), n)
    dout[3] = -0.0
    case = embedding_bag_case("special", "max", -1, table, ids, offsets, dout, np.zeros(0, f32))
    write("bagmax", "As embeddingbag.json: maxima of two rows that bring every special value together with every other, and with "
          "itself, in both orders, and of all rows. Of equal elements, and behind a NaN, the first has the gradient.", [case])


# Optimizers on sparse gradients, over several steps.

OPTIMIZERS = {  # of sparse gradients
    "sgd": lambda p: torch.optim.SGD(p, lr=0.125),
    "adagrad": lambda p: torch.optim.Adagrad(p, lr=0.1, lr_decay=0.05, initial_accumulator_value=0.25),
    "adam": lambda p: torch.optim.SparseAdam(p, lr=0.01, betas=(0.8, 0.95)),
}
ADAMW = {"lr": 0.01, "betas": (0.8, 0.95), "eps": 0.01}
ADAMW_DECAY = 0.1
ADAGRAD_EPS = 0.001


def kept(optimizer, weight):
    return [matrix(optimizer.state[weight][k].numpy().copy()) for k in ("sum", "exp_avg", "exp_avg_sq")
            if k in optimizer.state[weight]]


def training_case(method, dim, seed):
    draw = random(seed)
    vocab, n, padding = 9, 6 if method == "decayed" else 12, 0
    size = f32(2.0 ** -10 if method == "adagrad from 0" else 1)  # of gradients
    if method == "adamw":  # which moves all rows
        padding = None
    module = nn.Embedding(vocab, dim, padding_idx=padding, sparse=method not in ("adamw", "decayed"))
    weight = draw(vocab, dim)
    weight[0] = 0
    module.weight.data = tensor(weight)
    optimizer = {
        **OPTIMIZERS,
        "decayed": lambda p: torch.optim.SGD(p, lr=0.125, weight_decay=0.5),
        "adagrad from 0": lambda p: torch.optim.Adagrad(p, lr=0.125, eps=ADAGRAD_EPS),
        "adamw": lambda p: torch.optim.AdamW(p, weight_decay=ADAMW_DECAY, **ADAMW),
    }[method](list(module.parameters()))
    steps = []
    for t in range(5):
        if t == 3:
            optimizer.param_groups[0]["lr"] *= 0.5
        ids, dout = draw.ids(vocab, n), draw(n, dim) * size
        if padding is None:
            ids[:vocab] = np.arange(vocab)
        optimizer.zero_grad()
        module(torch.from_numpy(ids)).backward(tensor(dout))
        before = module.weight.detach().clone()
        optimizer.step()
        if method == "decayed":  # SGD refuses it for sparse gradients, and moves all rows by dense ones
            others = np.setdiff1d(np.arange(vocab), ids[ids != padding])
            module.weight.data[others] = before[others]
        steps.append({"rate": optimizer.param_groups[0]["lr"], "ids": ints(ids), "dout": matrix(dout),
                      "table": matrix(module.weight.detach().numpy()), "state": kept(optimizer, module.weight)})
    return {"name": "%s/dim=%d" % (method, dim), "method": method, "padding": -1 if padding is None else padding,
            "table": matrix(weight), "steps": steps}


def training():
    write("training", "PyTorch nn.Embedding(sparse=True, padding_idx=0) trained for five steps, on the gradients dout of its "
          "results, by SGD(lr=0.125), Adagrad(lr=0.1, lr_decay=0.05, initial_accumulator_value=0.25) or "
          "SparseAdam(lr=0.01, betas=(0.8, 0.95)), and with dense gradients of all rows, without padding, by AdamW(lr=0.01, "
          "betas=(0.8, 0.95), eps=0.01, weight_decay=0.1); with the rate halved before the fourth step: the weight and what "
          "the optimizer keeps after each step.",
          [training_case(method, dim, 900 + 10 * i + k)
           for i, method in enumerate(["sgd", "adagrad", "adam", "adamw"]) for k, dim in enumerate([1, 3, 17])])


def decayed():
    weight = nn.Parameter(torch.ones(2, 1))
    weight.grad = torch.sparse_coo_tensor([[1]], torch.ones(1, 1), (2, 1))
    try:
        torch.optim.SGD([weight], lr=1, weight_decay=1).step()
        assert False, "SGD with decay takes sparse gradients"
    except RuntimeError:
        pass
    write("decayed", "As training.json, by SGD(lr=0.125, weight_decay=0.5). PyTorch refuses that for sparse gradients; these are "
          "dense, and the rows that a step has no ids of, padding aside, are put back to what they were before it.",
          [training_case("decayed", dim, 940 + dim) for dim in (3, 17)])


def adagrad():
    write("adagrad", "As training.json, by Adagrad(lr=0.125, eps=0.001), whose sums begin at 0, on gradients so small that eps "
          "counts. Rates are powers of two, so that it makes no difference whether products with them are fused.",
          [training_case("adagrad from 0", 5, 945)])


# AdamW of the rows that a gradient has, which PyTorch is without: SparseAdam on weights that were decayed in these rows.

def lazy_step(optimizer, weight, t):
    """Step t, from 1 on. SparseAdam adds epsilon in front of the correction of bias, AdamW behind it."""
    group = optimizer.param_groups[0]
    weight.grad = weight.grad.coalesce()
    touched = weight.grad.indices()[0]
    with torch.no_grad():
        weight[touched] = weight[touched].mul_(1 - group["lr"] * ADAMW_DECAY)
    group["eps"] = ADAMW["eps"] * math.sqrt(1 - ADAMW["betas"][1] ** t)
    optimizer.step()
    return touched.numpy()


def lazy_case(dim, seed):
    draw = random(seed)
    vocab, padding = 4, 0
    module = nn.Embedding(vocab, dim, padding_idx=padding, sparse=True)
    weight = draw(vocab, dim)
    module.weight.data = tensor(weight)
    optimizer = torch.optim.SparseAdam(list(module.parameters()), **ADAMW)
    steps, before = [], [weight, np.zeros_like(weight), np.zeros_like(weight)]
    for t, (rate, ids) in enumerate([(0.01, [1, 2, 1, 0]), (0.02, [2]), (0.02, [0]), (0.005, [1, 2, 1]), (0.0125, [1]),
                                     (0.00125, [3, 0, 2])], 1):
        dout = draw(len(ids), dim)
        if t == 4:
            dout[1] = 0  # of row 2, which decays all the same
        optimizer.param_groups[0]["lr"] = rate
        optimizer.zero_grad()
        module(torch.tensor(ids)).backward(tensor(dout))
        touched = lazy_step(optimizer, module.weight, t)
        assert sorted(set(ids) - {padding}) == list(touched), "rows without a gradient, padding too, are not touched"
        state = optimizer.state[module.weight]
        now = [x.detach().numpy().copy() for x in (module.weight, state["exp_avg"], state["exp_avg_sq"])]
        others = np.setdiff1d(np.arange(vocab), touched)
        assert all((x[others] == y[others]).all() for x, y in zip(now, before))
        before = now
        steps.append({"rate": rate, "ids": ids, "dout": matrix(dout), "table": matrix(now[0]),
                      "state": kept(optimizer, module.weight)})
    return {"name": "lazily/dim=%d" % dim, "method": "adamw", "padding": padding, "table": matrix(weight), "steps": steps}


def lazy():
    """Where gradients have all rows, the two together are AdamW, but for the order of operations."""
    draw = random(989)
    a, b = (nn.Parameter(tensor(x)) for x in [draw(4, 19)] * 2)
    composed, adamw = torch.optim.SparseAdam([a], **ADAMW), torch.optim.AdamW([b], weight_decay=ADAMW_DECAY, **ADAMW)
    moved = torch.zeros(4, 19)
    for t in range(1, 7):
        for optimizer in composed, adamw:
            optimizer.param_groups[0]["lr"] = 0.01 * t
        before, g = b.detach().clone(), tensor(draw(4, 19))
        a.grad, b.grad = g.to_sparse(1), g
        lazy_step(composed, a, t)
        adamw.step()
        moved += b.detach().abs() + (b.detach() - before).abs()
        assert ((a - b).abs() <= 40 * 2.0 ** -24 * moved).all()
    write("lazyadamw", "AdamW(lr=rate, betas=(0.8, 0.95), eps=0.01, weight_decay=0.1) in PyTorch of those rows alone that the "
          "gradient of nn.Embedding(sparse=True, padding_idx=0) has: they are multiplied by 1-lr*weight_decay, and then SparseAdam, "
          "with eps times sqrt(1-beta2^t), takes the step. The third step has no rows, and a gradient of the fourth is zero. No id "
          "occurs more than twice in a step, so that its gradient is the same in any order. Where steps have all rows, this is "
          "within 40 half ulps of torch.optim.AdamW, of the weight and its movement in each step.",
          [lazy_case(9, 985)])


# Gradients of several batches.

def accumulated_case(method, dim, seed):
    draw = random(seed)
    vocab = 9
    weight = draw(vocab, dim)
    dense, sparse = nn.Embedding(vocab, dim), nn.Embedding(vocab, dim, sparse=True)
    sparse.weight.data = tensor(weight)
    optimizer = OPTIMIZERS[method]([sparse.weight])
    steps = []
    for t in range(2):
        batches = []
        dense.zero_grad()
        optimizer.zero_grad()
        for n in 6, 5, 2:
            ids, dout = draw.ids(vocab, n), draw(n, dim)
            for module in dense, sparse:
                module(torch.from_numpy(ids)).backward(tensor(dout))
            batches.append({"ids": ints(ids), "dout": matrix(dout)})
        assert not sparse.weight.grad.is_coalesced()
        sparse.weight.grad = sparse.weight.grad.coalesce()
        optimizer.step()
        steps.append({"batches": batches, "touched": ints(sparse.weight.grad.indices()), "dense": matrix(dense.weight.grad.numpy()),
                      "coalesced": matrix(sparse.weight.grad.to_dense().numpy()),
                      "table": matrix(sparse.weight.detach().numpy()), "state": kept(optimizer, sparse.weight)})
    return {"name": "%s/dim=%d" % (method, dim), "method": method, "table": matrix(weight), "steps": steps}


def accumulated():
    write("accumulated", "The gradient of PyTorch nn.Embedding that three backward passes leave, and a step with it, twice: dense, "
          "which adds the sum of a batch to those before it, and coalesced, of rows touched, which adds all lookups in an order of "
          "its own, made dense. table and state are those after a step with coalesced, by optimizers of training.json.",
          [accumulated_case(method, dim, 950 + 10 * i + k) for i, method in enumerate(OPTIMIZERS) for k, dim in enumerate([3, 17])])


# Gradients clipped by their norm.

def clip_case(name, seed, max_norm, sizes, special=None):
    """sizes has the rows, the dim and the number of lookups of each table."""
    draw = random(seed)
    tables, parts, norms = [], [], []
    for vocab, dim, n in sizes:
        table, ids, dout = nn.Embedding(vocab, dim), draw.ids(vocab, n), draw(n, dim)
        if special is not None and not tables:
            dout[0, 0] = special
        table(torch.from_numpy(ids)).backward(tensor(dout))
        touched = np.unique(ids)
        tables.append(table)
        norms.append(table.weight.grad.norm().item())
        parts.append({"rows": vocab, "ids": ints(ids), "dout": matrix(dout), "touched": ints(touched),
                      "grad": matrix(uniform(table.weight.grad.numpy()[touched]))})
    norms.append(nn.utils.clip_grad_norm_([t.weight for t in tables], max_norm).item())
    for part, table in zip(parts, tables):
        part["clipped"] = matrix(uniform(table.weight.grad.numpy()[part["touched"]]))
    return {"name": name, "max_norm": max_norm, "parts": parts, "norms": matrix(uniform(np.array(norms, f32)))}


def clip():
    one, several, small = [(9, 17, 12)], [(9, 17, 12), (5, 3, 4), (3, 2, 0), (4, 1, 8)], [(5, 3, 4), (4, 2, 3)]
    sparse = nn.Parameter(torch.zeros(2, 1))
    sparse.grad = torch.sparse_coo_tensor([[1]], torch.full((1, 1), 4.0), (2, 1))
    assert nn.utils.clip_grad_norm_(sparse, 1.0) == 4 and sparse.grad.to_dense()[1] == 4, "sparse gradients are clipped"
    write("clip", "PyTorch nn.utils.clip_grad_norm_ of dense gradients of nn.Embedding, of which grad and clipped have the rows "
          "touched; norms are those of parts and of all together before. PyTorch 1.13 returns the norm of sparse gradients, "
          "and leaves them as they are.", [
              clip_case("one", 960, 1.0, one), clip_case("several", 961, 2.5, several),
              clip_case("several, small", 962, 0.001, several), clip_case("several below", 963, 1e6, several),
              clip_case("infinite", 964, 1.0, small, math.inf), clip_case("NaN", 965, 1.0, small, math.nan)])


# Updates: steps of optimizers on the rows that ids choose. PyTorch adds up the gradients of an id that occurs several
# times before a step; ids of a step are therefore different ones.

def sum_squares(x):
    """The sum of the squares of each row: element j in lane j mod 16, and the lanes as a tree."""
    x = np.concatenate([x, np.zeros((len(x), -x.shape[1] % 16), f32)], axis=1).reshape(len(x), -1, 16)
    lanes = np.zeros((len(x), 16), f32)
    for k in range(x.shape[1]):
        lanes += x[:, k] * x[:, k]
    while lanes.shape[1] > 1:
        half = lanes.shape[1] // 2
        lanes = lanes[:, :half] + lanes[:, half:]
    return lanes[:, 0]


def update_case(kind, name, start, ids, grads, lr=0.1, eps=1e-8, decay=0.0, beta1=0.9, beta2=0.999):
    vocab, dim = start.shape
    weight = nn.Parameter(tensor(start))
    optimizer = {"sgd": lambda: torch.optim.SGD([weight], lr=lr, weight_decay=decay),
                 "adagrad": lambda: torch.optim.Adagrad([weight], lr=lr, eps=eps),
                 "row adagrad": lambda: None,
                 "adam": lambda: torch.optim.SparseAdam([weight], lr=lr, betas=(beta1, beta2), eps=eps),
                 "adamw": lambda: torch.optim.AdamW([weight], lr=lr, betas=(beta1, beta2), eps=eps, weight_decay=decay),
                 }[kind]()
    sparse = kind == "adagrad" or kind == "adam" or kind == "sgd" and decay == 0
    roundings = {"sgd": 3 if sparse else 6, "adagrad": 3, "row adagrad": 0, "adam": 0, "adamw": 40}[kind]
    table, first, second = start.copy(), np.zeros_like(start), np.zeros_like(start)
    if kind == "row adagrad":
        first = first[:, :1].copy()
    mean_weight, square_weight = f32(1 - beta1), f32(1 - beta2)
    keep = f32(1 - lr * decay) if kind == "adamw" else f32(1)
    rates, epsilons, moved = [], [], np.zeros(start.shape)
    for t, (i, g) in enumerate(zip(ids, grads), 1):
        rate, epsilon = f32(lr), f32(eps)
        if kind in ("adam", "adamw"):
            rate = f32(lr * math.sqrt(1 - beta2 ** t) / (1 - beta1 ** t))
        if kind == "adamw":  # which adds epsilon behind the correction of bias
            epsilon = f32(eps * math.sqrt(1 - beta2 ** t))
        rates.append(scalar(rate))
        epsilons.append(scalar(epsilon))
        before = table.copy()
        if kind == "sgd":
            table[i] += -rate * (g + f32(decay) * table[i] if decay else g)
        elif kind == "adagrad":
            first[i] += g * g
            table[i] += -rate * (g / (np.sqrt(first[i]) + epsilon))
        elif kind == "row adagrad":
            first[i, 0] += sum_squares(g) / f32(dim)
            table[i] += -(rate / (np.sqrt(first[i]) + epsilon)) * g
        else:
            first[i] += (g - first[i]) * mean_weight
            second[i] += (g * g - second[i]) * square_weight
            table[i] = table[i] * keep + -rate * (first[i] / (np.sqrt(second[i]) + epsilon))
        moved += np.abs(table.astype(np.float64)) + np.abs(table.astype(np.float64) - before)
        if optimizer:
            index = torch.from_numpy(i)
            if sparse:
                weight.grad = torch.sparse_coo_tensor(index[None], tensor(g), (vocab, dim))
            else:
                assert len(i) == vocab, "PyTorch moves rows without a gradient"
                weight.grad = torch.empty(vocab, dim).index_copy_(0, index, tensor(g))
            optimizer.step()
    state = optimizer.state[weight] if optimizer else {}
    if kind == "adagrad":
        first = same(first, state["sum"])
    if kind == "adam":
        first, second = same(first, state["exp_avg"]), same(second, state["exp_avg_sq"])
        table = same(table, weight)
    after = weight.detach().numpy() if roundings else table
    finite = np.isfinite(moved)
    assert (np.isfinite(after) == np.isfinite(table)).all()
    assert (np.abs(after.astype(np.float64) - table)[finite] <= roundings * 2.0 ** -24 * moved[finite]).all(), kind
    return {"name": name, "kind": kind, "start": matrix(start), "ids": ints(np.concatenate(ids)), "steps": len(ids),
            "grad": matrix(np.concatenate(grads)), "rates": rates, "epsilons": epsilons, "decay": scalar(decay),
            "mean_weight": scalar(mean_weight), "square_weight": scalar(square_weight), "keep": scalar(keep),
            "table": matrix(uniform(table)), "first": matrix(uniform(first)), "second": matrix(uniform(second)),
            "torch": matrix(uniform(after)), "roundings": roundings}


def uniform(a):
    a = a.copy()
    a[np.isnan(a)] = from_bits(0x7FC00000)
    return a


def update():
    cases = []
    some = [np.array(i) for i in ([3, 0], [0, 1], [3, 1], [0, 3])]
    every = [np.array(i) for i in ([2, 0, 1], [0, 1, 2], [1, 2, 0])]
    for k, (kind, dim, ids, options) in enumerate([
            ("sgd", 19, some, {}), ("sgd", 19, every, {"decay": 0.9, "lr": 0.9}), ("adagrad", 19, some, {"eps": 1e-10}),
            ("row adagrad", 5, some, {}), ("row adagrad", 16, some, {}), ("row adagrad", 43, some, {"eps": 1e-3}),
            ("adam", 19, some, {}), ("adamw", 19, every, {"decay": 0.1})]):
        draw = random(700 + k)
        name = "%s/dim=%d" % (kind + " with decay" * (kind == "sgd" and "decay" in options), dim)
        cases.append(update_case(kind, name, draw(4 if ids is some else 3, dim), ids, [draw(len(i), dim) for i in ids], **options))
    n = len(SPECIAL)
    for kind in "sgd", "adagrad", "adam":
        cases.append(update_case(kind, "special/" + kind, random(720)(1, n), [np.array([0])] * 2, [SPECIAL[None], SPECIAL[None]]))
    write("update", "Steps of optimizers: step k takes the ids and the rows of grad that are part k of steps equal ones, "
          "rates[k] and epsilons[k], and states that begin at 0. table, first and second are what NumPy has in the end, each "
          "operation rounded to float32. torch is the table of PyTorch's SGD, Adagrad and SparseAdam with sparse gradients, "
          "and of SGD with decay and AdamW with dense ones of all rows; it differs from NumPy's by no more than roundings "
          "half ulps of the weight and its movement in each step, 0 for bit for bit. Adagrad's sums and both means of "
          "SparseAdam are NumPy's bit for bit.", cases)


# Adagrad with one sum for each row, in float64: the formula of FBGEMM and DLRM.

def row_adagrad_case(dim, seed, rate, rate_decay=0.0, initial=0.0, eps=1e-10):
    draw = random(seed)
    vocab = 2
    start, steps = draw(vocab, dim), []
    table, sums = start.astype(np.float64), np.full((vocab, 1), initial)
    weight = nn.Parameter(tensor(table))
    adagrad = torch.optim.Adagrad([weight], lr=rate, lr_decay=rate_decay, initial_accumulator_value=initial, eps=eps)
    for t, ids in enumerate([[1, 0], [0], [1], [0, 1]]):
        grad = draw(len(ids), dim)
        g = grad.astype(np.float64)
        sums[ids] += (g * g).mean(axis=1, keepdims=True)
        table[ids] -= rate / (1 + t * rate_decay) / (np.sqrt(sums[ids]) + eps) * g
        if dim == 1:  # where it is Adagrad
            weight.grad = torch.sparse_coo_tensor([ids], tensor(g), table.shape)
            adagrad.step()
            assert np.allclose(table, weight.detach().numpy(), rtol=1e-13, atol=1e-13)
        steps.append({"ids": ids, "grad": matrix(grad), "table": matrix(table.astype(f32)), "sums": matrix(sums.astype(f32))})
    return {"name": "dim=%d" % dim, "rate": rate, "rate_decay": rate_decay, "initial": initial, "epsilon": eps,
            "start": matrix(start), "steps": steps}


def row_adagrad():
    write("rowadagrad", "Steps of Adagrad with one sum for each row, by NumPy in float64, rounded once: table and sums after each. Of "
          "one column, this is PyTorch's Adagrad in float64, within 1e-13.",
          [row_adagrad_case(1, 990, 0.3, eps=0.001), row_adagrad_case(19, 991, 0.1, rate_decay=0.05, initial=0.25, eps=0.01)])


# Bags of rows.

def bag_case(name, table, ids, offsets, weights):
    """offsets has an element more than there are bags."""
    t, i, o, w = tensor(table), torch.from_numpy(ids), torch.tensor(offsets[:-1]), tensor(weights)
    bags, dim = len(offsets) - 1, table.shape[1]
    sums, weighted, maxima = (np.zeros((bags, dim), f32) for _ in range(3))
    for b in range(bags):
        for k in range(offsets[b], offsets[b + 1]):
            row = table[ids[k]]
            sums[b] += row
            weighted[b] += weights[k] * row
            maxima[b] = row if k == offsets[b] else np.where(row > maxima[b], row, maxima[b])
    numbers = np.diff(offsets)
    means = sums / np.maximum(numbers, 1).astype(f32)[:, None]

    def torch_bags(mode, **more):
        return nn.functional.embedding_bag(i, t, o, mode=mode, **more)

    apart = torch.zeros(bags, dim).index_add_(0, torch.from_numpy(np.repeat(np.arange(bags), numbers)),
                                              nn.functional.embedding(i, t) * w[:, None])
    fused, bound = torch_bags("sum", per_sample_weights=w).numpy(), np.zeros((bags, dim))
    np.add.at(bound, np.repeat(np.arange(bags), numbers), np.abs(weights[:, None].astype(np.float64) * table[ids]))
    finite = np.isfinite(bound) & (bound < 1e38)
    bound = 2.0 ** -24 * 2 * (numbers.max() + 1) * bound + 2.0 ** -140
    assert (np.abs(weighted.astype(np.float64) - fused) <= bound)[finite].all()
    return {"name": name, "table": matrix(table), "ids": ints(ids), "offsets": ints(offsets), "weights": matrix(weights),
            "sum": matrix(same(sums, torch_bags("sum"))), "weighted": matrix(same(weighted, apart)),
            "mean": matrix(same(means, torch_bags("mean"))), "max": matrix(same(maxima, torch_bags("max")))}


def bag():
    cases = []
    for k, dim in enumerate([1, 3, 8, 17, 64]):
        draw = random(700 + k)
        cases.append(bag_case("dim=%d" % dim, draw(4, dim), draw.ids(4, 11), [0, 0, 1, 4, 4, 11], draw(11)))
    n = len(SPECIAL)  # every two of them in one bag, and all of them
    table = np.stack([np.roll(SPECIAL, p) for p in range(n)])
    ids = np.concatenate([np.stack([np.zeros(n, np.int64), np.arange(n)], 1).ravel(), np.arange(n)])
    offsets = list(range(0, 2 * n + 1, 2)) + [2 * n, 3 * n]
    cases.append(bag_case("special", table, ids, offsets, np.resize(SPECIAL[1:], 3 * n)))
    write("bag", "Bag b has ids[offsets[b]:offsets[b+1]]. sum, mean and max of the rows of table are those of PyTorch "
          "nn.functional.embedding_bag, with the same bits from NumPy in float32, in the order of the ids: for max, a later "
          "element counts if it is greater. weighted sums weights[i]*table[ids[i]], product and sum apart, as PyTorch's "
          "embedding, * and index_add_ do; embedding_bag with per_sample_weights fuses them, and is within the bounds of "
          "rounding.", cases)
# The output layer that shares the table of its input.

def output_case(dim, seed):
    draw = random(seed)
    vocab, n = 4, 2
    table, h = nn.Parameter(tensor(draw(vocab, dim))), nn.Parameter(tensor(draw(n, dim)))
    logits = nn.functional.linear(h, table)
    dlogits = draw(n, vocab)
    logits.backward(tensor(dlogits))
    exact = h.detach().numpy().astype(np.float64) @ table.detach().numpy().astype(np.float64).T
    assert np.allclose(logits.detach().numpy(), exact, rtol=1e-4, atol=1e-2)
    return {"name": "dim=%d" % dim, "table": matrix(table.detach().numpy()), "h": matrix(h.detach().numpy()),
            "logits": matrix(logits.detach().numpy()), "dlogits": matrix(dlogits), "dh": matrix(h.grad.numpy()),
            "grad": matrix(table.grad.numpy())}


def output():
    write("output", "logits = h @ table.T by PyTorch's linear, and the gradients of h and table from dlogits, each in an order "
          "of its own, fused or not.", [output_case(dim, 700 + k) for k, dim in enumerate([3, 37])])


def sampled_case(dim, seed):
    draw = random(seed)
    vocab, states, ids = 6, 3, np.array([4, 1, 4, 0, 5])
    weight, h, dlogits = draw(vocab, dim), draw(states, dim), draw(states, len(ids))

    def run(sparse):
        table, x = nn.Parameter(tensor(weight)), nn.Parameter(tensor(h))
        logits = nn.functional.linear(x, nn.functional.embedding(torch.from_numpy(ids), table, sparse=sparse))
        logits.backward(tensor(dlogits))
        return logits, x.grad, table.grad

    logits, dh, grad = run(True)
    grad = grad.coalesce()
    for a, b in zip((logits, dh, grad.to_dense()), run(False)):
        same(a, b)
    return {"name": "dim=%d" % dim, "table": matrix(weight), "ids": ints(ids), "touched": ints(grad.indices()), "h": matrix(h),
            "logits": matrix(logits.detach().numpy()), "dlogits": matrix(dlogits), "dh": matrix(dh.numpy()),
            "grad": matrix(grad.to_dense().numpy())}


def sampled():
    write("sampled", "logits = h @ table[ids].T by PyTorch's embedding and linear, as a sampled softmax has them, and the gradients of h "
          "and table from dlogits, each in an order of its own, fused or not. The gradient of the table is the same dense and "
          "sparse, where rows touched have it.", [sampled_case(dim, 710 + k) for k, dim in enumerate([3, 37])])


# A model whose output layer has the table of its input.

def tied_case(method, seed):
    r = np.random.RandomState(seed)
    vocab, dim, n, padding = 5, 4, 6, 0
    weight = r.randint(-8, 9, (vocab, dim)) / 4
    batches = [(r.randint(0, vocab, n), r.randint(-2, 3, (n, vocab))) for _ in range(3)]
    if method != "sgd":
        weight, batches = r.standard_normal((vocab, dim)), [(ids, r.standard_normal((n, vocab))) for ids, _ in batches]

    def run(dtype):
        tokens, output = nn.Embedding(vocab, dim, padding_idx=padding), nn.Linear(dim, vocab, bias=False)
        tokens.weight.data = tensor(weight.astype(f32)).to(dtype)
        output.weight = tokens.weight
        optimizer = {"sgd": lambda p: torch.optim.SGD(p, lr=0.125),
                     "adamw": lambda p: torch.optim.AdamW(p, weight_decay=ADAMW_DECAY, **ADAMW)}[method]([tokens.weight])
        for ids, dlogits in batches:
            optimizer.zero_grad()
            logits = output(tokens(torch.from_numpy(ids)) * math.sqrt(dim))
            logits.backward(tensor(dlogits.astype(f32)).to(dtype))
            optimizer.step()
            results = [x.detach().float().numpy().copy() for x in (logits, tokens.weight.grad, tokens.weight)]
            yield ids, dlogits.astype(f32), results, kept(optimizer, tokens.weight) if dtype == torch.float32 else None

    steps = []
    for (ids, dlogits, results, state), (_, _, exact, _) in zip(run(torch.float32), run(torch.float64)):
        if method == "sgd":
            results = [same(x, y) for x, y in zip(results, exact)]
        logits, grad, table = [matrix(x) for x in results]
        steps.append({"ids": ints(ids), "logits": logits, "dlogits": matrix(dlogits), "grad": grad, "table": table, "state": state})
    return {"name": method, "method": method, "padding": padding, "table": matrix(weight.astype(f32)), "steps": steps}


def tied():
    write("tied", "logits = sqrt(dim) * embedding(ids) @ table.T by PyTorch's nn.Embedding(padding_idx) and nn.Linear, whose weight "
          "is that of the embedding, trained for three steps on the gradient dlogits. grad has both gradients of the table, and "
          "table and state are those after the step. SGD(lr=0.125) is on numbers of few bits, of which nothing is rounded: the "
          "same in float64. AdamW is that of training.json, in orders of its own.",
          [tied_case("sgd", 720), tied_case("adamw", 721)])


# Checkpoints: safetensors files by nothing but struct and json, after the format's description.

def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def parse_checkpoint(file):
    """Returns the metadata, and the elements of each tensor as float32."""
    n, = struct.unpack("<Q", file[:8])
    header, data, tensors = json.loads(file[8:8 + n]), file[8 + n:], {}
    metadata = header.pop("__metadata__", {})
    for name, t in header.items():
        raw = data[slice(*t["data_offsets"])]
        if t["dtype"] == "BF16":
            x = torch.frombuffer(bytearray(raw), dtype=torch.bfloat16).float().numpy()
        else:
            x = np.frombuffer(raw, {"F32": "<f4", "F16": "<f2"}[t["dtype"]]).astype(f32)
        tensors[name] = x.reshape(t["shape"])
    return metadata, tensors


def checkpoint_case(name, saved, metadata, tensors):
    """Tensors are names, dtypes, shapes and bytes. What saved is true for is what lookup.Save is to write."""
    data, entries = b"".join(raw for _, _, _, raw in tensors), []
    for key, dtype, shape, raw in tensors:
        begin = entries[-1][1]["data_offsets"][1] if entries else 0
        entries.append((key, {"dtype": dtype, "shape": shape, "data_offsets": [begin, begin + len(raw)]}))
    if saved:
        text = "".join("%s\0%s\0" % pair for pair in sorted(metadata.items()))
        held = dict(sorted({**metadata, "rowvec.crc32c": "%08x" % crc32c(data + text.encode())}.items()))
        header = json.dumps({"__metadata__": held, **dict(entries)}, ensure_ascii=False, separators=(",", ":"))
    else:  # in another order, with what json.dumps escapes and the spaces that it leaves
        held, header = metadata, json.dumps({**dict(reversed(entries)), "__metadata__": metadata})
    header = header.encode()
    header += b" " * (-len(header) % 8)
    file = struct.pack("<Q", len(header)) + header + data
    read, values = parse_checkpoint(file)
    assert read == held and list(values) == [key for key, _, _, _ in (tensors if saved else reversed(tensors))]
    return {"name": name, "saved": saved, "metadata": metadata, "file": base64.b64encode(file).decode(), "tensors": [
        {"name": key, "dtype": dtype, "shape": shape, "value": matrix(values[key].reshape(-1, (shape or [1])[-1]))}
        for key, dtype, shape, _ in tensors]}


def checkpoint():
    f4 = lambda x: x.astype("<f4").tobytes()
    bits = lambda x: struct.pack("<%dH" % len(x), *x)
    draw = random(1800)
    halves = [0, 0x8000, 1, 0x83FF, 0x0400, 0x3C00, 0x3C01, 0xC248, 0x7BFF, 0x7C00, 0xFC00, 0x7E00]  # the last is a NaN; so below
    brains = [0, 0x8000, 1, 0x807F, 0x0080, 0x3F80, 0x3F81, 0xC049, 0x7F7F, 0x7F80, 0xFF80, 0x7FC0]
    metadata = {"step": "12", "format": "pt", "\u00e9\"\n": "\u4e16\\"}
    write("checkpoint", "Safetensors files that Python's struct and json write, of several dtypes, and as lookup.Save is to write "
          "them, with the checksum, bit by bit, in their metadata; and what Python reads from them, as float32: PyTorch of BF16, "
          "NumPy of the others.", [
              checkpoint_case("dtypes", False, metadata, [
                  ("f32", "F32", [2, 8], f4(SPECIAL)), ("f16", "F16", [3, 4], bits(halves)),
                  ("\u00e9/bf16", "BF16", [12], bits(brains)), ("number", "F32", [], f4(draw(1))),
                  ("image", "BF16", [1, 2, 3], bits(brains[3:9]))]),
              checkpoint_case("saved", True, metadata, [
                  ("z", "F32", [2, 8], f4(SPECIAL)), ("\u00e9\t", "F32", [5], f4(draw(5))), ("a", "F32", [3, 1], f4(draw(3)))]),
              checkpoint_case("saved/no metadata", True, {}, [("w", "F32", [1, 2], f4(draw(2)))])])


# Layer normalisation.

def norm_case(dim, seed, epsilon):
    draw = random(seed)
    rows = 3
    src = draw(rows, dim)
    src[0] += f32(100)  # a mean far from 0
    x, layer = nn.Parameter(tensor(src)), nn.LayerNorm(dim, eps=epsilon)
    with torch.no_grad():
        layer.weight.copy_(tensor(draw(dim)))
        layer.bias.copy_(tensor(draw(dim)))
    gamma, beta = (p.detach().numpy().copy() for p in (layer.weight, layer.bias))
    out, dout = layer(x), draw(rows, dim)
    out.backward(tensor(dout))
    return {"name": "dim=%d" % dim, "src": matrix(src), "gamma": matrix(gamma), "beta": matrix(beta), "epsilon": scalar(epsilon),
            "out": matrix(out.detach().numpy()), "dout": matrix(dout), "dsrc": matrix(x.grad.numpy()),
            "dgamma": matrix(layer.weight.grad.numpy()), "dbeta": matrix(layer.bias.grad.numpy())}


def norm():
    write("norm", "out = nn.LayerNorm(src) by PyTorch, with weight gamma and bias beta, and the gradients of src, gamma and beta "
          "from dout, each in an order of its own, fused or not.",
          [norm_case(dim, 800 + k, epsilon) for k, (dim, epsilon) in
           enumerate([(2, 1e-5), (3, 1e-12), (8, 1e-5), (17, 1e-5), (64, 1e-5), (100, 0.25)])])
# Tables of positions interpolated to another number of rows.

def unscaled(dim, base, kind=np.float64):
    return kind(1) / kind(base) ** (np.arange(0, dim, 2).astype(kind) / kind(dim))


def linear(dim, base, length, factor, kind=np.float64):
    return unscaled(dim, base, kind) / kind(factor), 1.0


def ntk(dim, base, length, factor, kind=np.float64):
    return unscaled(dim, base * factor ** (dim / (dim - 2)), kind), 1.0


def dynamic(dim, base, length, factor, original, kind=np.float64):
    length = max(length, original)
    return unscaled(dim, base * (factor * length / original - (factor - 1)) ** (dim / (dim - 2)), kind), 1.0


def yarn(dim, base, length, factor, original, beta_fast=None, beta_slow=None, attention=None, mscale=None,
         mscale_all_dim=None, truncate=True, kind=np.float64):
    def m(scale):
        return 1.0 if factor <= 1 else 0.1 * scale * math.log(factor) + 1.0

    def pair(times):
        return dim * math.log(original / (times * 2 * math.pi)) / (2 * math.log(base))

    low, high = pair(beta_fast or 32), pair(beta_slow or 1)
    if truncate:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, dim - 1)
    ramp = np.clip((np.arange(dim // 2).astype(kind) - kind(low)) / kind(high - low + (low == high) * 0.001), 0, 1)
    freqs = unscaled(dim, base, kind)
    if not attention:
        attention = m(mscale) / m(mscale_all_dim) if mscale and mscale_all_dim else m(1)
    return freqs / kind(factor) * ramp + freqs * (1 - ramp), attention


def llama3(dim, base, length, factor, low, high, original, kind=np.float64):
    freqs = unscaled(dim, base, kind)
    waves = kind(2 * math.pi) / freqs
    smooth = (kind(original) / waves - kind(low)) / kind(high - low)
    mixed = (1 - smooth) * freqs / kind(factor) + smooth * freqs
    slow, fast = waves > original / low, waves < original / high
    return np.where(slow, freqs / kind(factor), np.where(fast, freqs, mixed)), 1.0


def longrope(dim, base, length, factor, original, short, long, attention=None, kind=np.float64):
    if not attention:
        attention = 1.0 if factor <= 1 else math.sqrt(1 + math.log(factor) / math.log(original))
    return unscaled(dim, base, kind) / np.array(long if length > original else short).astype(kind), attention


def scaling():
    # As in Phi-3-mini-128k: 48 pairs; close to 1 up to there, then growing to 64 (the numbers themselves are made up).
    short = [round(1.05 + 0.02 * min(i, 40) + 0.003 * max(i - 20, 0), 4) for i in range(48)]
    long = [round(1.08 + 0.02 * i + min(1.17 ** i, 62.5), 4) for i in range(48)]
    cases = []
    for name, function, dim, base, length, options in [
        ("linear, factor 4", linear, 128, 10000.0, 0, {"factor": 4.0}),
        ("linear, factor 2.5", linear, 32, 5e6, 0, {"factor": 2.5}),
        ("NTK, factor 8", ntk, 128, 10000.0, 0, {"factor": 8.0}),
        ("NTK, dim 4", ntk, 4, 500000.0, 0, {"factor": 3.0}),
        ("dynamic, as in training", dynamic, 64, 10000.0, 4096, {"factor": 2.0, "original": 4096}),
        ("dynamic, one more", dynamic, 64, 10000.0, 4097, {"factor": 2.0, "original": 4096}),
        ("dynamic, far", dynamic, 128, 10000.0, 100000, {"factor": 3.3, "original": 2048}),
        ("YaRN, Llama 2 128k", yarn, 128, 10000.0, 0, {"factor": 32.0, "original": 4096}),
        ("YaRN, Qwen2.5", yarn, 128, 1e6, 0, {"factor": 4.0, "original": 32768}),
        ("YaRN, DeepSeek-V3", yarn, 64, 10000.0, 0, {"factor": 40.0, "original": 4096, "beta_fast": 32.0, "beta_slow": 1.0,
                                                     "mscale": 1.0, "mscale_all_dim": 1.0}),
        ("YaRN, mscale", yarn, 64, 10000.0, 0, {"factor": 40.0, "original": 4096, "mscale": 1.0, "mscale_all_dim": 0.707}),
        ("YaRN, one mscale", yarn, 32, 10000.0, 0, {"factor": 40.0, "original": 4096, "mscale": 0.707}),
        ("YaRN, gpt-oss", yarn, 64, 150000.0, 0, {"factor": 32.0, "original": 4096, "truncate": False}),
        ("YaRN, all of it set", yarn, 96, 1e6, 0, {"factor": 2.5, "original": 2048, "beta_fast": 16.0, "beta_slow": 2.0,
                                                   "attention": 1.25}),
        ("YaRN, a range behind the last pair", yarn, 32, 10000.0, 0, {"factor": 4.0, "original": 262144}),
        ("YaRN, one border", yarn, 32, 10000.0, 0, {"factor": 4.0, "original": 2048, "beta_fast": 100.0, "beta_slow": 100.0,
                                                    "truncate": False}),
        ("Llama 3.1 8B", llama3, 128, 500000.0, 0, {"factor": 8.0, "low": 1.0, "high": 4.0, "original": 8192}),
        ("Llama 3.2 1B", llama3, 64, 500000.0, 0, {"factor": 32.0, "low": 1.0, "high": 4.0, "original": 8192}),
        ("LongRoPE, short", longrope, 96, 10000.0, 4096, {"factor": 32.0, "original": 4096, "short": short, "long": long}),
        ("LongRoPE, long", longrope, 96, 10000.0, 4097, {"factor": 32.0, "original": 4096, "short": short, "long": long}),
        ("LongRoPE, attention", longrope, 96, 10000.0, 0, {"factor": 2.0, "original": 4096, "short": short, "long": long,
                                                           "attention": 1.5}),
    ]:
        freqs, attention = function(dim, base, length, **options)
        usual, _ = function(dim, base, length, kind=f32, **options)
        assert (np.abs(usual / freqs - 1) < 6e-7).all(), "what is said of transformers' float32"
        cases.append({"name": name, "kind": function.__name__, "dim": dim, "base": base, "length": length,
                      "options": options, "frequencies": [float(x) for x in freqs], "attention": float(attention)})
    write("scaling", "The frequencies, in radians per position, and the factor of sines and cosines by the formulas of "
          "transformers/modeling_rope_utils.py, in float64 by NumPy. In float32, as there, they are within a relative 6e-7 "
          "of that.", cases)


# ALiBi: slopes by the rule of its authors (attention_with_linear_biases, fairseq/models/transformer.py), and scores with
# their bias.

def alibi_slopes(heads):
    def powers(n):
        first = 2 ** (-(2 ** -(math.log2(n) - 3)))
        return [first * first ** i for i in range(n)]

    n = 2 ** math.floor(math.log2(heads))
    return powers(heads) if n == heads else powers(n) + alibi_slopes(2 * n)[0::2][:heads - n]


def alibi():
    cases = []
    for k, heads in enumerate([1, 2, 3, 4, 5, 6, 7, 8, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64, 71, 96, 112, 128]):
        slopes = np.array(alibi_slopes(heads), f32)
        batch, queries, keys, query_start, key_start = 1 + k % 2, 1 + k % 3, 5 + k, k * k, max(0, k * k - 7)
        if heads > 7:  # slopes alone
            batch, queries, keys = 0, 1, 1
        scores = random(1500 + k)(batch * heads * queries, keys)
        distance = np.abs((key_start + np.arange(keys)) - (query_start + np.arange(queries))[:, None]).astype(f32)
        shape = (batch, heads, queries, keys)
        biased = same(scores.reshape(shape) + -slopes[:, None, None] * distance,
                      tensor(scores).view(shape) + -tensor(slopes)[:, None, None] * tensor(distance))
        cases.append({"heads": heads, "slopes": matrix(slopes), "queries": queries, "query_start": query_start,
                      "key_start": key_start, "scores": matrix(scores), "biased": matrix(biased.reshape(scores.shape))})
    write("alibi", "The slopes of the authors of ALiBi, computed in float64 and rounded, and scores of (batch, heads, queries) "
          "rows and keys columns plus -slope times the distance, in float32 by NumPy and PyTorch, which agree.", cases)


# The relative position bias of T5: buckets and bias by the formulas of transformers/models/t5/modeling_t5.py.

def t5_bucket(relative, buckets, max_distance, bidirectional):
    if bidirectional:
        buckets //= 2
    distance = relative.abs() if bidirectional else (-relative).clamp(min=0)
    near = buckets // 2
    far = near + (torch.log(distance.float() / near) / math.log(max_distance / near) * (buckets - near)).long()
    bucket = torch.where(distance < near, distance, far.clamp(max=buckets - 1))
    return bucket + (relative > 0).long() * buckets if bidirectional else bucket


def t5_exact(distance, buckets, max_distance, bidirectional):
    """The bucket of a distance to the left, by integers: log(d/near)/log(max/near) * far >= k as powers."""
    if bidirectional:
        buckets //= 2
    near, k = buckets // 2, 0
    far = buckets - near
    while near + k + 1 < buckets and distance ** far * near ** (k + 1) >= max_distance ** (k + 1) * near ** far:
        k += 1
    return distance if distance < near else near + k


def t5_buckets():
    cases, limit = [], 20000
    for buckets, max_distance, bidirectional in [
        (32, 128, True), (32, 128, False), (32, 256, True), (32, 256, False), (64, 128, True), (64, 128, False), (320, 800, True),
        (32, 20000, True), (256, 16384, False), (12, 100, False), (16, 4096, True), (4, 8, True), (2, 3, False), (5, 12, False),
        (80, 1000, True), (12, 2058, True), (24, 4116, False), (56, 9604, False), (5, 686, False),
    ]:
        got = t5_bucket(torch.arange(-limit, limit + 1), buckets, max_distance, bidirectional)
        runs = torch.unique_consecutive(got, return_counts=True)
        differ = [d for d in range(limit + 1) if got[limit - d] != t5_exact(d, buckets, max_distance, bidirectional)]
        cases.append({"buckets": buckets, "max_distance": max_distance, "bidirectional": bidirectional, "first": -limit,
                      "runs": [ints(r) for r in runs], "differ": differ})
    write("t5buckets", "The buckets of T5 for relative positions (key less query) from first on, by PyTorch in float32: those of "
          "each run of equal ones, and the lengths of the runs. differ has the distances whose bucket is another one by "
          "exact arithmetic, since the logarithm in float32 ends on the other side of a whole number; models in use have none.",
          cases)


def t5_bias_case(name, seed, batch, heads, queries, keys, query_start, key_start, buckets, max_distance, bidirectional):
    draw = random(seed)
    table, scores = nn.Embedding(buckets, heads), draw(batch * heads * queries, keys)
    table.weight.data = tensor(draw(buckets, heads))
    relative = (key_start + torch.arange(keys))[None] - (query_start + torch.arange(queries))[:, None]
    bias = table(t5_bucket(relative, buckets, max_distance, bidirectional)).permute(2, 0, 1)
    biased = tensor(scores).view(batch, heads, queries, keys) + bias
    dscores = draw(*scores.shape)
    biased.backward(tensor(dscores).view(biased.shape))
    return {"name": name, "heads": heads, "max_distance": max_distance, "bidirectional": bidirectional, "queries": queries,
            "query_start": query_start, "key_start": key_start, "table": matrix(table.weight.detach().numpy()),
            "scores": matrix(scores), "biased": matrix(biased.detach().numpy().reshape(scores.shape)),
            "dscores": matrix(dscores), "grad": matrix(table.weight.grad.numpy())}


def t5_bias():
    write("t5bias", "Scores of (batch, heads, queries) rows and keys columns plus T5's bias by PyTorch, and the gradient of the "
          "table by its autograd, which adds in an order of its own.",
          [t5_bias_case("encoder", 1600, 2, 3, 7, 7, 0, 0, 32, 128, True),
           t5_bias_case("decoder", 1601, 1, 2, 12, 12, 0, 0, 32, 128, False),
           t5_bias_case("with a cache", 1602, 2, 4, 1, 30, 25, 0, 32, 128, False),
           t5_bias_case("far keys", 1603, 1, 2, 3, 100, 3, 60, 32, 128, True),
           t5_bias_case("one head", 1604, 3, 1, 4, 9, 5, 2, 8, 20, True)])


# Rotary positions, as GPT-NeoX and the Llama of transformers have them (pairs half of the rotated part apart), and GPT-J
# (pairs interleaved); of each head the first n dims are rotated.

def rotary_case(name, seed, interleaved, batch, seq, start, heads, dim, n, base=10000.0, amplitude=1.0):
    draw = random(seed)
    x = nn.Parameter(tensor(draw(batch, seq, heads, dim)))
    freqs = torch.outer(torch.arange(start, start + seq).float(), 1.0 / base ** (torch.arange(0, n, 2).float() / n))
    cos, sin = freqs.cos() * amplitude, freqs.sin() * amplitude

    def spread(t):
        return (t.repeat_interleave(2, -1) if interleaved else torch.cat((t, t), -1))[None, :, None, :]

    def turned(t):
        if interleaved:
            return torch.stack((-t[..., 1::2], t[..., 0::2]), -1).flatten(-2)
        return torch.cat((-t[..., n // 2:], t[..., :n // 2]), -1)

    part, rest = x[..., :n], x[..., n:]
    out = torch.cat((part * spread(cos) + turned(part) * spread(sin), rest), -1)
    dout = draw(batch, seq, heads, dim)
    out.backward(tensor(dout))

    def plain(t, sign):
        """The same in NumPy, pair by pair."""
        first = np.arange(0, n, 2) if interleaved else np.arange(n // 2)
        second = first + 1 if interleaved else first + n // 2
        c, s = cos.numpy()[None, :, None, :], sign * sin.numpy()[None, :, None, :]
        a, b, r = t[..., first], t[..., second], t.copy()
        r[..., first], r[..., second] = a * c - b * s, b * c + a * s
        return r

    same(out, plain(x.detach().numpy(), f32(1)))
    same(x.grad, plain(dout, f32(-1)))
    rows = lambda t: matrix(np.asarray(t).reshape(batch * seq, heads * dim))
    return {"name": name, "interleaved": interleaved, "heads": heads, "seq": seq, "start": start, "base": base,
            "amplitude": scalar(f32(amplitude)), "angles": matrix(torch.cat((cos, sin), -1).numpy()),
            "src": rows(x.detach()), "out": rows(out.detach()), "dout": rows(dout), "grad": rows(x.grad)}


def rotary():
    write("rotary", "Rotary positions start + i mod seq by PyTorch in float32, x*cos + rotate_half(x)*sin and the like for pairs "
          "that are interleaved, and the gradient of src from dout. angles has the cosines and the sines of a sequence. "
          "The same bits from NumPy.", [
              rotary_case("halves", 1700, False, 2, 3, 0, 2, 8, 8),
              rotary_case("halves/partial", 1701, False, 1, 4, 5, 3, 20, 10),
              rotary_case("halves/one head", 1702, False, 2, 2, 505, 1, 64, 64),
              rotary_case("halves/amplitude", 1703, False, 1, 3, 100, 2, 12, 12, 500000.0, 1.1386294),
              rotary_case("interleaved", 1704, True, 2, 3, 0, 2, 8, 8),
              rotary_case("interleaved/partial", 1705, True, 1, 3, 60, 2, 37, 26),
              rotary_case("interleaved/odd", 1706, True, 2, 2, 508, 3, 7, 6)])


# Positions on several axes, as models of images and videos have them.

def grid_positions(axes, start, spans):
    """Positions as Qwen2-VL counts them: texts and grids begin one behind the greatest position so far."""
    all = []
    for span in spans:
        sides = [torch.arange(n) for n in span]
        grid = sides * axes if len(span) == 1 else [t.flatten() for t in torch.meshgrid(*sides, indexing="ij")]
        all.append(torch.stack(grid) + start)
        start = int(all[-1].max()) + 1
    return torch.cat(all, 1), start


def axes_case(name, kind, pairs, start, spans, base=10000.0):
    axes, half = len(pairs), sum(pairs)
    at, after = grid_positions(axes, start, spans)
    ladder = lambda n: 1.0 / base ** (torch.arange(0, 2 * n, 2).float() / (2 * n))
    if kind == "axial":
        freqs = torch.cat([torch.outer(p.float(), ladder(n)) for p, n in zip(at, pairs)], -1)
    else:
        by_axis = at[..., None].float() * ladder(half)
        if kind == "sections":  # of the angles of all elements: those of first partners, and the same of second ones
            spread = torch.cat((by_axis, by_axis), -1).split(pairs * 2, -1)
            freqs = torch.cat([section[i % axes] for i, section in enumerate(spread)], -1)[..., :half]
        else:
            freqs = by_axis[0].clone()
            for a in range(1, axes):
                freqs[:, a:axes * pairs[a]:axes] = by_axis[a, :, a:axes * pairs[a]:axes]
    return {"name": name, "kind": kind, "pairs": pairs, "base": base, "start": start, "spans": spans, "at": [ints(p) for p in at],
            "after": after, "angles": matrix(torch.cat((freqs.cos(), freqs.sin()), -1).numpy())}


def axes():
    text_and_images = [[2], [1, 2, 3], [1], [3, 1, 2], [1]]
    write("axes", "Angles of rotary positions on several axes by PyTorch in float32, cosines and sines: sections of pairs as in "
          "Qwen2-VL, interleaved as in Qwen3-VL, and axial ones as in FLUX.1. spans are texts (one number of tokens) and "
          "grids, and at their positions on each axis, from start on; after is the position of the next token.", [
              axes_case("Qwen2-VL", "sections", [4, 6, 6], 0, text_and_images, 1000000.0),
              axes_case("two axes", "sections", [1, 4], 490, [[1], [3, 2], [2]]),
              axes_case("Qwen3-VL", "interleaved", [4, 3, 3], 7, text_and_images, 5000000.0),
              axes_case("interleaved, two axes", "interleaved", [4, 3], 400, [[2, 3], [1]]),
              axes_case("FLUX.1", "axial", [1, 4, 4], 0, [[2], [1, 3, 4]]),
              axes_case("an encoder of images", "axial", [5, 5], 0, [[3, 2]]),
          ])


# What a report says of sinusoidal positions, in float64 throughout.

def position_facts_case(dim, n, shifts, distances, k):
    pos, freqs = np.arange(n + k)[:, None], 10000.0 ** (-np.arange(0, dim, 2) / dim)
    pe = np.empty((n + k, dim))
    pe[:, 0::2], pe[:, 1::2] = np.sin(pos * freqs), np.cos(pos * freqs)
    first = pe[13] - pe[10]
    cosines = [np.mean([pe[i] @ pe[i + d] / np.linalg.norm(pe[i]) / np.linalg.norm(pe[i + d]) for i in range(n - d)])
               for d in distances]
    maps = [np.linalg.lstsq(pe[:n, j:j + 2], pe[k:n + k, j:j + 2], rcond=None)[0].T.ravel() for j in range(0, dim, 2)]
    floats = lambda xs: [float("%.12g" % x) for x in np.ravel(xs)]
    return {"dim": dim, "n": n, "variances": floats(np.var(pe[:n], axis=0)), "shifts": shifts,
            "correlations": floats([np.corrcoef(first, pe[13 + s] - pe[10 + s])[0, 1] for s in shifts]),
            "distances": distances, "cosines": floats(cosines), "k": k, "maps": floats(maps)}


def position_facts():
    write("positionfacts", "Facts about sinusoidal positions by NumPy in float64: of n positions the variance of each column; the "
          "correlation of PE(13)-PE(10) with PE(13+shift)-PE(10+shift); means over n positions of cosines by distance; maps "
          "{a, b; c, d} of pairs of columns to those k positions on, by lstsq over n positions.", [
              position_facts_case(64, 512, [1, 2, 15, 40], [0, 1, 5, 100, 500], 3),
              position_facts_case(48, 100, [1, 15], [1, 7, 50], 15)])


assert (SPECIAL[8:10] * f32(0.75) != 0).all() and (tensor(SPECIAL[8:10]) * 0.75 != 0).all(), "subnormals are flushed"
forward()
scatter()
embedding()
positions()
resize()
grid()
layer()
bert()
sinusoid()
layouts()
vector()
options()
pretrained()
embedding_bag()
bag_options()
bag_frequency()
bag_max()
training()
decayed()
adagrad()
lazy()
accumulated()
clip()
update()
row_adagrad()
bag()
output()
sampled()
tied()
checkpoint()
norm()
scaling()
alibi()
t5_buckets()
t5_bias()
rotary()
axes()
position_facts()
