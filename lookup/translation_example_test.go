package lookup_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/lookup"
	"github.com/rowvec/rowvec/positional"
)

// The examples of this file say in Go what the comment above them says in Python. The README has a table of them.

// rows returns a matrix of the given rows.
func rows(rows ...[]float32) rowvec.Matrix {
	m, _ := rowvec.NewMatrix(len(rows), len(rows[0]))
	for i, r := range rows {
		copy(m.Row(i), r)
	}
	return m
}

// try panics with err, so that examples show the case without errors.
func try(err error) {
	if err != nil {
		panic(err)
	}
}

// e = nn.Embedding(1000, 64); y = e(ids)
func Example_embedding() {
	e, _ := lookup.NewEmbedding(1000, 64, lookup.Normal(1, 0)) // PyTorch begins with a normal distribution too
	in := lookup.Batch([]int64{154, 995, 11, 350, 318, 262}, 3)
	y, _ := rowvec.NewMatrix(in.Len(), e.Dim()) // (2, 3, 64) as (2*3, 64)
	err := e.Forward(y, in)
	fmt.Println(e, y.Rows, y.Cols, err)
	// Output: Embedding(vocab=1000, dim=64) 6 64 <nil>
}

// e = nn.Embedding.from_pretrained(weight, freeze=True)
func Example_fromPretrained() {
	weight := rows([]float32{1, 2}, []float32{3, 4})
	e, err := lookup.FromMatrix(weight, lookup.Frozen())
	fmt.Println(e, err)
	// Output: Embedding(vocab=2, dim=2, frozen) <nil>
}

// e = nn.Embedding(3, 2, padding_idx=0)
func Example_paddingIdx() {
	e, _ := lookup.NewEmbedding(3, 2, lookup.Normal(1, 0), lookup.Padding(0))
	grad, _ := rowvec.NewMatrix(3, 2)
	try(e.Backward(grad, lookup.Sequence([]int{0, 1}), rows([]float32{5, 5}, []float32{6, 6})))
	fmt.Println(e.Weight().Row(0), grad.Row(0), grad.Row(1))
	// Output: [0 0] [0 0] [6 6]
}

// e = nn.Embedding.from_pretrained(weight, freeze=False, max_norm=1.0, norm_type=2.0)
func Example_maxNorm() {
	e, _ := lookup.FromMatrix(rows([]float32{3, 4}, []float32{0.5, 0}), lookup.MaxNorm(1, 2))
	y, _ := rowvec.NewMatrix(2, 2)
	try(e.Forward(y, lookup.Sequence([]int{0, 1}))) // writes to the table, as in PyTorch
	fmt.Printf("%.3f %.3f\n", y.Row(0), y.Row(1))
	// Output: [0.600 0.800] [0.500 0.000]
}

// e = nn.Embedding(3, 2, scale_grad_by_freq=True)
func Example_scaleGradByFreq() {
	e, _ := lookup.NewEmbedding(3, 2, lookup.ScaleGradByFrequency())
	grad, _ := rowvec.NewMatrix(3, 2)
	try(e.Backward(grad, lookup.Sequence([]int{1, 1}), rows([]float32{2, 2}, []float32{4, 4})))
	fmt.Println(grad.Row(1)) // token 1 occurs twice
	// Output: [3 3]
}

// e = nn.Embedding(1000, 2, sparse=True); e(ids).backward(dy); g = e.weight.grad.coalesce()
func Example_sparse() {
	e, _ := lookup.NewEmbedding(1000, 2)
	g := e.NewGradient()
	try(e.BackwardSparse(g, lookup.Sequence([]int{9, 4, 9}), rows([]float32{1, 1}, []float32{2, 2}, []float32{3, 3})))
	fmt.Println(g.IDs(), g.Values().Data) // g.indices(), g.values()
	// Output: [4 9] [2 2 4 4]
}

// optimizer.zero_grad(), between one batch and the next
func Example_zeroGrad() {
	e, _ := lookup.NewEmbedding(1000, 2)
	sparse, dense := e.NewGradient(), rows([]float32{0, 0}, []float32{0, 0})
	first := lookup.Sequence([]int{1})
	try(e.BackwardSparse(sparse, first, rows([]float32{1, 1})))
	sparse.Clear() // or else the next batch is added
	try(e.BackwardSparse(sparse, lookup.Sequence([]int{9}), rows([]float32{2, 2})))
	fmt.Println(sparse.IDs(), sparse.Values().Data)

	small, _ := lookup.NewEmbedding(2, 2)
	try(small.Backward(dense, first, rows([]float32{1, 1})))
	try(small.ClearGradient(dense, first)) // the rows of this input alone
	fmt.Println(dense.Data)
	// Output:
	// [9] [2 2]
	// [0 0 0 0]
}

// b = nn.EmbeddingBag.from_pretrained(weight, freeze=False, mode="mean"); y = b(ids, offsets)
func Example_embeddingBag() {
	tokens, _ := lookup.FromMatrix(rows([]float32{0, 0}, []float32{1, 2}, []float32{3, 4}))
	b, _ := lookup.NewBag(tokens, lookup.Mean)
	y, _ := rowvec.NewMatrix(2, 2)
	try(b.Forward(y, lookup.RaggedFrom([]int{1, 2, 2}, []int{0, 2}))) // with include_last_offset: Ragged
	fmt.Println(y.Data)
	// Output: [2 3 3 4]
}

// b = nn.EmbeddingBag.from_pretrained(weight, freeze=False, mode="sum"); y = b(ids, offsets, per_sample_weights=w)
func Example_perSampleWeights() {
	tokens, _ := lookup.FromMatrix(rows([]float32{0, 0}, []float32{1, 2}, []float32{3, 4}))
	b, _ := lookup.NewBag(tokens, lookup.Sum)
	y, _ := rowvec.NewMatrix(1, 2)
	try(b.Forward(y, lookup.Batch([]int{1, 2}, 2).Weighted([]float32{10, 0.5})))
	fmt.Println(y.Data)
	// Output: [11.5 22]
}

// opt = optim.SparseAdam([e.weight], lr=0.1); e(ids).backward(dy); opt.step()
func Example_sparseAdam() {
	e, _ := lookup.FromMatrix(rows([]float32{1, 1}, []float32{2, 2}))
	opt, _ := e.NewOptimizer(lookup.Adam{Rate: 0.1})
	g := e.NewGradient()
	try(e.BackwardSparse(g, lookup.Sequence([]int{1}), rows([]float32{5, -5})))
	try(opt.Step(g))
	fmt.Println(e.Weight().Data, opt.Steps())
	// Output: [1 1 1.9 2.1] 1
}

// optim.AdamW(e.parameters(), lr=0.1, weight_decay=0.5), but for rows without a gradient; without WeightDecay it is optim.Adam.
func Example_adamW() {
	e, _ := lookup.FromMatrix(rows([]float32{1, 1}, []float32{2, 2}))
	opt, _ := e.NewOptimizer(lookup.AdamW{Rate: 0.1, WeightDecay: 0.5})
	grad := rows([]float32{0, 0}, []float32{5, -5}) // what Backward has added up
	try(opt.StepDense(grad))
	fmt.Println(e.Weight().Data)
	// Output: [1 1 1.8 2]
}

// nn.utils.clip_grad_norm_(e.parameters(), 1.0)
func Example_clipGradNorm() {
	g, _ := lookup.NewGradient(10, 2)
	try(lookup.AddRows(g, []int{7}, 1, rows([]float32{3, 4})))
	norm, err := lookup.ClipNorm(1, g)
	fmt.Printf("%.3f %.3f %v\n", norm, g.Values().Data, err)
	// Output: 5.000 [0.600 0.800] <nil>
}

// lm_head.weight = e.weight; logits = lm_head(h)
func Example_tieWeights() {
	e, _ := lookup.FromMatrix(rows([]float32{1, 0}, []float32{0, 1}, []float32{1, 1}))
	head, _ := lookup.NewOutput(e)
	in := lookup.Batch([]int32{1}, 1)
	h, _ := rowvec.NewMatrix(1, 2) // here what has been looked up
	logits, _ := rowvec.NewMatrix(1, 3)
	try(e.Forward(h, in))
	try(head.Forward(logits, h))
	fmt.Println(logits.Data)

	both, _ := rowvec.NewMatrix(3, 2) // gradients of the one table
	dH, _ := rowvec.NewMatrix(1, 2)
	try(head.Backward(dH, both, rows([]float32{0, 0, 1}), h)) // of the last logit
	try(e.Backward(both, in, dH))
	fmt.Println(both.Data)
	opt, _ := e.NewOptimizer(lookup.SGD{Rate: 0.5})
	try(opt.StepDense(both))
	clear(both.Data) // the output has added to every row
	fmt.Println(e.Weight().Data)
	// Output:
	// [0 1 1]
	// [0 0 1 1 0 1]
	// [1 0 -0.5 0.5 1 0.5]
}

// pe = PositionalEncoding(d_model=4, max_len=512); x = pe(x), in eval mode
func Example_positionalEncoding() {
	pe, _ := positional.NewSinusoidal(512, 4) // of the learned one: positional.NewLearned(512, 4, seed)
	x := rows([]float32{1, 1, 1, 1}, []float32{1, 1, 1, 1})
	try(pe.AddTo(x, 2, 0)) // one sequence of two tokens
	fmt.Printf("%.3f\n", x.Data)
	// Output: [1.000 2.000 1.000 2.000 1.841 1.540 1.010 2.000]
}

// pe = create_sinusoidal_embeddings(max_seq_len=3, embed_dim=2)
func Example_createSinusoidalEmbeddings() {
	pe, _ := positional.NewSinusoidal(3, 2)
	fmt.Printf("%.3f\n", pe.Table().Data)
	// Output: [0.000 1.000 0.841 0.540 0.909 -0.416]
}

// layer = EmbeddingLayer(1000, 64, max_seq_len=1024, pos_encoding="learned", scale_embeddings=True)
func Example_embeddingLayer() {
	tokens, _ := lookup.NewEmbedding(1000, 64, lookup.Xavier(1), lookup.Scaled())
	positions, _ := positional.New("learned", 1024, 64, 2) // or "sinusoidal", or "none"
	layer, err := lookup.NewLayer(tokens, positions)
	fmt.Println(layer, len(layer.Parameters()), err)
	// Output: Layer(vocab=1000, dim=64, max=1024, positions=learned, scaled) 2 <nil>
}

// layer = TransformerEmbedding(1000, 64, max_len=512, dropout=0.1, padding_idx=0)
func Example_transformerEmbedding() {
	tokens, _ := lookup.NewEmbedding(1000, 64, lookup.Normal(0.02, 1), lookup.Scaled(), lookup.Padding(0))
	positions, _ := positional.NewSinusoidal(512, 64)
	layer, err := lookup.NewLayer(tokens, positions, lookup.Dropout(0.1, 2)) // ForwardTrain drops, Forward does not
	fmt.Println(layer, err)
	// Output: Layer(vocab=1000, dim=64, positions=sinusoidal, padding=0, scaled, dropout=0.1) <nil>
}

// embeddings = BertEmbeddings(config); y = embeddings(input_ids, token_type_ids)
func Example_bertEmbeddings() {
	tokens, _ := lookup.NewEmbedding(3000, 64, lookup.Normal(0.02, 1), lookup.Padding(0))
	types, _ := lookup.NewEmbedding(2, 64, lookup.Normal(0.02, 2))
	places, _ := lookup.NewEmbedding(512, 64, lookup.Normal(0.02, 3))
	positions, _ := positional.LearnedFrom(places.Weight())
	layer, _ := lookup.NewLayer(tokens, positions, lookup.Segments(types), lookup.LayerNorm(1e-12), lookup.Dropout(0.1, 4))
	y, _ := rowvec.NewMatrix(3, 64)
	err := layer.Forward(y, lookup.Sequence([]int{101, 759, 102}).Types([]int{0, 0, 1}))
	fmt.Println(layer, err)
	// Output: Layer(vocab=3000, dim=64, max=512, positions=learned, segments=2, padding=0, norm=1e-12, dropout=0.1) <nil>
}

// position_ids = create_position_ids_from_input_ids(input_ids, padding_idx=1)
func Example_positionIDs() {
	ids, at := []int{7, 8, 1, 9, 1, 1}, make([]int, 6) // two sequences of three
	err := positional.CountPositions(at, ids, 3, 1, 0)
	fmt.Println(at, err) // for Input.At
	// Output: [2 3 1 2 1 1] <nil>
}

// position_ids = attention_mask.cumsum(-1) - 1; position_ids.masked_fill_(attention_mask == 0, 1)
func Example_attentionMask() {
	mask, at := []int64{0, 0, 1, 1, 1, 1}, make([]int, 6) // two sequences of three, the first padded in front
	err := positional.CountUnmasked(at, mask, 3, 3)
	fmt.Println(at, err) // for Input.At and Rotary.ApplyAt
	// Output: [1 1 0 0 1 2] <nil>
}

// position_ids of a batch packed as FlashAttention takes it, by cu_seqlens
func Example_cuSeqlens() {
	offsets, at := []int{0, 3, 5}, make([]int, 5)
	err := positional.CountRagged(at, offsets, nil)
	fmt.Println(at, err) // Input.At does not need it: Ragged counts so by itself
	// Output: [0 1 2 0 1] <nil>
}

// position_ids, rope_deltas = get_rope_index(input_ids, image_grid_thw) of Qwen2-VL
func Example_getRopeIndex() {
	at := [][]int{make([]int, 7), make([]int, 7), make([]int, 7)} // a word, 2 x 2 patches behind the merger, two words
	next, err := positional.CountGrids(at, 0, []int{1}, []int{1, 2, 2}, []int{2})
	fmt.Println(at, next-7, err) // for Rotary.ApplyAxes
	// Output: [[0 1 1 1 1 3 4] [0 1 1 2 2 3 4] [0 1 2 1 2 3 4]] -2 <nil>
}

// embeddings.interpolate_pos_encoding(...), from 14 x 14 patches to 24 x 24; corners keep their vectors here, as with
// align_corners=True of F.interpolate, where most code has False
func Example_interpolatePosEncoding() {
	positions, _ := positional.NewLearned(1+14*14, 64, 1)
	larger, err := positions.ResizedGrid(1, 14, 14, 24, 24)
	fmt.Println(larger, err)
	// Output: Learned(max=577, dim=64) <nil>
}

// q, k = apply_rotary_pos_emb(q, k, cos, sin)
func Example_applyRotaryPosEmb() {
	rope, _ := positional.NewRotary(2, positional.Table(1024)) // of each head the first 2 elements
	q := rows([]float32{1, 0, 1, 0}, []float32{1, 0, 1, 0})    // (seq 2, heads 2 * head dim 2)
	try(rope.Apply(q, q, 2, 2, 0))                             // in place, two heads, two tokens from position 0 on
	fmt.Printf("%.3f\n", q.Data)
	// Output: [1.000 0.000 1.000 0.000 0.540 0.841 0.540 0.841]
}

// scores = scores + build_alibi_tensor(...)
func Example_alibi() {
	bias, _ := positional.NewALiBi(1)
	scores, _ := rowvec.NewMatrix(2, 2) // a row for each query of each head
	try(bias.AddTo(scores, 2, 0, 0))
	fmt.Println(scores.Data)
	// Output: [0 -0.00390625 -0.00390625 0]
}

// scores = scores + attention.compute_bias(2, 2), from relative_attention_bias.weight
func Example_relativeAttentionBias() {
	weight := rows([]float32{10}, []float32{11}, []float32{12}, []float32{13}) // four buckets, one head
	bias, _ := positional.RelativeBiasFrom(weight, 128, true)
	scores, _ := rowvec.NewMatrix(2, 2)
	try(bias.AddTo(scores, 2, 0, 0))
	fmt.Println(scores.Data)
	// Output: [10 13 11 10]
}

// y = np.take(table, ids, axis=0), or torch.index_select(table, 0, ids)
func Example_take() {
	table, ids := rows([]float32{1, 2}, []float32{3, 4}), []int32{1, 1, 0}
	y, _ := rowvec.NewMatrix(len(ids), table.Cols)
	try(rowvec.Gather(y, table, ids))
	fmt.Println(y.Data)
	// Output: [3 4 3 4 1 2]
}

// y.index_add_(0, ids, src, alpha=0.5)
func Example_indexAdd() {
	y, ids := rows([]float32{1, 1}, []float32{2, 2}), []int64{0, 0}
	try(rowvec.ScatterAdd(y, ids, 0.5, rows([]float32{2, 4}, []float32{6, 8})))
	fmt.Println(y.Data)
	// Output: [5 7 2 2]
}

// np.add.at(y, ids, src)
func Example_addAt() {
	y, ids := rows([]float32{0, 0}, []float32{0, 0}), []int{1, 1}
	try(rowvec.ScatterAdd(y, ids, 1, rows([]float32{1, 2}, []float32{3, 4})))
	fmt.Println(y.Data)
	// Output: [0 0 4 6]
}

// y = F.dropout(x, p=0.5)
func Example_dropout() {
	x, y := rows([]float32{1, 1, 1, 1}), rows([]float32{0, 0, 0, 0})
	try(rowvec.Dropout(y, x, rowvec.Mask{P: 0.5, Seed: 1})) // no hidden state: seed and step are arguments
	fmt.Println(y.Data)
	// Output: [2 0 0 2]
}

// y = F.layer_norm(x, (4,), weight, bias, eps=0)
func Example_layerNorm() {
	x, y := rows([]float32{1, 1, 3, 3}), rows([]float32{0, 0, 0, 0})
	try(rowvec.LayerNorm(y, x, []float32{1, 1, 1, 10}, []float32{0, 0, 0, 0.5}, 0))
	fmt.Println(y.Data)
	// Output: [-1 -1 1 10.5]
}

// save_file({"token.weight": weight}, path); tensors = load_file(path)
func Example_saveFile() {
	dir, _ := os.MkdirTemp("", "rowvec")
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "model.safetensors")
	tensors := []lookup.Parameter{{Name: "token.weight", Value: rows([]float32{1, float32(math.Pi)})}}
	try(lookup.Save(path, tensors, nil))
	clear(tensors[0].Value.Data)
	_, err := lookup.Load(path, tensors)
	fmt.Println(tensors[0].Value.Data, err)
	// Output: [1 3.1415927] <nil>
}

// with safe_open(path, framework="pt") as f: f.keys(); f.get_tensor("wte.weight")
func Example_safeOpen() {
	dir, _ := os.MkdirTemp("", "rowvec")
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "model.safetensors")
	try(lookup.Save(path, []lookup.Parameter{
		{Name: "wpe.weight", Value: rows([]float32{1, 2})},
		{Name: "wte.weight", Value: rows([]float32{3, 4}, []float32{5, 6})},
	}, nil))

	tensors, _, err := lookup.Tensors(path)
	try(err)
	fmt.Println(tensors)
	weight, _ := rowvec.NewMatrix(int(tensors[1].Shape[0]), int(tensors[1].Shape[1]))
	_, err = lookup.LoadSome(path, []lookup.Parameter{{Name: "wte.weight", Value: weight}})
	try(err)
	tokens, err := lookup.FromMatrix(weight)
	fmt.Println(tokens, tokens.Weight().Data, err)
	// Output:
	// [{wpe.weight F32 [1 2]} {wte.weight F32 [2 2]}]
	// Embedding(vocab=2, dim=2) [3 4 5 6] <nil>
}
