package lookup_test

import (
	"fmt"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/lookup"
)

// royals is a table of which the first column says who rules, and the second one who is a woman.
var royalNames = []string{"king", "queen", "man", "woman", "apple"}

func royals() *lookup.Embedding {
	e, err := lookup.FromMatrix(rowvec.Matrix{Rows: 5, Cols: 3, Stride: 3, Data: []float32{
		3, 0, 4,
		3, 4, 4,
		0, 0, 5,
		0, 4, 5,
		-1, -1, 0,
	}})
	if err != nil {
		panic(err)
	}
	return e
}

func ExampleSimilarity() {
	s, err := lookup.NewSimilarity(royals(), lookup.Cosine)
	if err != nil {
		panic(err)
	}
	dst, _ := lookup.NewNeighbours(2, 3) // of each of two tokens, three
	if err := s.NearestTo(dst, lookup.Sequence([]int{0, 4})); err != nil {
		panic(err)
	}
	fmt.Println(s)
	for i, name := range []string{"king", "apple"} {
		ids, scores := dst.Of(i)
		for k, id := range ids {
			fmt.Printf("%s %s %.2f\n", name, royalNames[id], scores[k])
		}
	}
	// Output:
	// Similarity(cosine, vocab=5, dim=3)
	// king man 0.80
	// king queen 0.78
	// king woman 0.62
	// apple man 0.00
	// apple king -0.42
	// apple woman -0.44
}

func ExampleNewSimilarity() {
	_, err := lookup.NewSimilarity(nil, lookup.Dot)
	fmt.Println(err)
	s, err := lookup.NewSimilarity(small(lookup.Padding(0)), lookup.Dot)
	fmt.Println(s, err)
	// Output:
	// rowvec: lookup.NewSimilarity: tokens is nil
	// Similarity(dot, vocab=3, dim=4) <nil>
}

func ExampleSimilarity_Nearest() {
	s, _ := lookup.NewSimilarity(royals(), lookup.Dot)
	query := rowvec.Matrix{Rows: 1, Cols: 3, Stride: 3, Data: []float32{1, 0, 0}}
	dst, _ := lookup.NewNeighbours(1, 2)
	fmt.Println(s.Nearest(dst, query), dst.IDs, dst.Scores) // of equal scores the lower id comes first
	// Output: <nil> [0 1] [3 3]
}

func ExampleSimilarity_NearestExcept() {
	s, _ := lookup.NewSimilarity(royals(), lookup.Dot)
	query := rowvec.Matrix{Rows: 1, Cols: 3, Stride: 3, Data: []float32{1, 0, 0}}
	dst, _ := lookup.NewNeighbours(1, 3)
	fmt.Println(s.NearestExcept(dst, query, lookup.Sequence([]uint{0, 2, 3})), dst.IDs, dst.Scores)
	fmt.Println(dst.Of(0))
	// Output:
	// <nil> [1 4 -1] [3 -1 -Inf]
	// [1 4] [3 -1]
}

func ExampleSimilarity_NearestTo() {
	s, _ := lookup.NewSimilarity(royals(), lookup.Cosine)
	dst, _ := lookup.NewNeighbours(1, 1)
	fmt.Println(s.NearestTo(dst, lookup.Sequence([]int{1})), royalNames[dst.IDs[0]])
	fmt.Println(s.NearestTo(dst, lookup.Sequence([]int{9})))
	// Output:
	// <nil> woman
	// rowvec: lookup.Similarity.NearestTo: id 9 at position 0 is outside [0, 5)
}

func ExampleSimilarity_Between() {
	s, _ := lookup.NewSimilarity(royals(), lookup.Cosine)
	toQueen, err := s.Between(0, 1)
	toMan, _ := s.Between(0, 2)
	fmt.Printf("king and queen %.3f, king and man %.3f, %v\n", toQueen, toMan, err)
	// Output: king and queen 0.781, king and man 0.800, <nil>
}

func ExampleSimilarity_Analogy() {
	s, _ := lookup.NewSimilarity(royals(), lookup.Cosine)
	dst, _ := lookup.NewNeighbours(1, 1)
	// Man is to king as woman is to what?
	err := s.Analogy(dst, lookup.Batch([]int{2, 0, 3}, 3))
	fmt.Println(err, royalNames[dst.IDs[0]])
	// Output: <nil> queen
}

func ExampleSimilarity_Refresh() {
	e := small()
	s, _ := lookup.NewSimilarity(e, lookup.Cosine)
	copy(e.Weight().Row(0), []float32{1, 1, 0, 0}) // as training may
	s.Refresh()
	dst, _ := lookup.NewNeighbours(1, 1)
	fmt.Println(s.Nearest(dst, rowvec.Matrix{Rows: 1, Cols: 4, Stride: 4, Data: []float32{2, 2, 0, 0}}), dst.IDs, dst.Scores)
	// Output: <nil> [0] [1]
}

func ExampleNewNeighbours() {
	dst, err := lookup.NewNeighbours(2, 3)
	fmt.Println(dst.K, len(dst.IDs), len(dst.Scores), err)
	_, err = lookup.NewNeighbours(2, 0)
	fmt.Println(err)
	// Output:
	// 3 6 6 <nil>
	// rowvec: lookup.NewNeighbours: k is 0, want at least 1
}

func ExampleNeighbours_Of() {
	s, _ := lookup.NewSimilarity(small(), lookup.Dot)
	dst, _ := lookup.NewNeighbours(1, 5)
	fmt.Println(s.NearestTo(dst, lookup.Sequence([]int{2})))
	fmt.Println(dst.IDs, dst.Scores)
	fmt.Println(dst.Of(0))
	// Output:
	// <nil>
	// [1 0 -1 -1 -1] [70 0 -Inf -Inf -Inf]
	// [1 0] [70 0]
}

func ExampleSimilarity_Tokens() {
	s, _ := lookup.NewSimilarity(small(), lookup.Cosine)
	fmt.Println(s.Tokens())
	// Output: Embedding(vocab=3, dim=4)
}

func ExampleSimilarity_Metric() {
	s, _ := lookup.NewSimilarity(small(), lookup.Cosine)
	fmt.Println(s.Metric())
	// Output: cosine
}

func ExampleSimilarity_String() {
	s, _ := lookup.NewSimilarity(small(), lookup.Dot)
	fmt.Println(s.String())
	// Output: Similarity(dot, vocab=3, dim=4)
}

func ExampleMetric_String() {
	fmt.Println(lookup.Cosine, lookup.Dot)
	// Output: cosine dot
}
