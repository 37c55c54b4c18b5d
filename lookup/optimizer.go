package lookup

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"runtime"
	"unsafe"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/check"
	"github.com/rowvec/rowvec/internal/forward"
	"github.com/rowvec/rowvec/internal/work"
)

// Method is the rule that an Optimizer goes by: SGD, Adagrad, RowAdagrad, Adam or AdamW.
type Method interface {
	rule() rule
}

// SGD is stochastic gradient descent, without momentum: see rowvec.UpdateSGD. A Rate of 0 stands for 0.01.
type SGD struct {
	Rate        float64
	WeightDecay float64 // of the rows of a gradient alone
}

// Adagrad is the method of Duchi, Hazan and Singer (2011) as PyTorch has it for sparse gradients: see
// rowvec.UpdateAdagrad. The rate of step t, from 1 on, is Rate/(1+(t-1)*RateDecay). There is no weight decay. A Rate of 0 stands
// for 0.01, an Epsilon of 0 for 1e-10.
type Adagrad struct {
	Rate, RateDecay float64
	Initial         float64 // what the sums of squares begin with
	Epsilon         float64
}

// RowAdagrad is Adagrad with one sum for each row, of the means of squares of its gradients, as FBGEMM and DLRM have it:
// see rowvec.UpdateRowAdagrad. Its fields are those of Adagrad.
type RowAdagrad struct {
	Rate, RateDecay float64
	Initial         float64
	Epsilon         float64
}

// Adam is the method of Kingma and Ba (2015) as PyTorch's SparseAdam has it: see rowvec.UpdateAdam. The running means of
// a row change only in steps whose gradient has the row; the correction of bias is that of the number of all steps. PyTorch's Adam
// without weight decay, which adds Epsilon after that correction, is AdamW with none, in steps whose gradients have every row.
//
// A Rate of 0 stands for 0.001, a Beta1 of 0 for 0.9, a Beta2 of 0 for 0.999, and an Epsilon of 0 for 1e-8. For PyTorch's
// betas=(0, ...) give a tiny Beta1 such as 1e-300: 1-Beta1 is rounded to 1, and the running mean is the gradient but for rounding.
type Adam struct {
	Rate         float64
	Beta1, Beta2 float64
	Epsilon      float64
}

// AdamW is the method of Loshchilov and Hutter (2019), Adam with decoupled decay, as PyTorch has it, but that it leaves rows
// of the table alone for which there is no gradient: each of the others is first multiplied by 1-Rate*WeightDecay. Its running
// means are those of rowvec.UpdateAdam, as in PyTorch's SparseAdam: one that is infinite becomes NaN in the next step. So an
// element of a gradient from 1.85e19 on, whose square is infinite, makes the weight NaN in the step after it, where that of
// PyTorch's AdamW stays finite.
//
// A WeightDecay of 0 is none; PyTorch's default is 0.01. The other fields are those of Adam, but Epsilon is added after the
// correction of bias: Adam would have to be given Epsilon*sqrt(1-Beta2^t) in step t for that.
type AdamW struct {
	Rate         float64
	Beta1, Beta2 float64
	Epsilon      float64
	WeightDecay  float64
}

// rule is what all methods come to.
type rule struct {
	name                           string
	method                         forward.Method
	rate, rateDecay, decay         float64
	initial, epsilon, beta1, beta2 float64
	corrected                      bool     // epsilon is added behind the correction of bias
	states                         []string // their names, as in PyTorch
}

func (m SGD) rule() rule {
	return rule{name: "SGD", method: forward.SGD, rate: cmp.Or(m.Rate, 0.01), decay: m.WeightDecay}
}

func (m Adagrad) rule() rule {
	return rule{
		name: "Adagrad", method: forward.Adagrad, rate: cmp.Or(m.Rate, 0.01), rateDecay: m.RateDecay, initial: m.Initial,
		epsilon: cmp.Or(m.Epsilon, 1e-10), states: []string{"sum"},
	}
}

func (m RowAdagrad) rule() rule {
	r := Adagrad(m).rule()
	r.name, r.method = "RowAdagrad", forward.RowAdagrad
	return r
}

func (m Adam) rule() rule {
	return rule{
		name: "Adam", method: forward.Adam, rate: cmp.Or(m.Rate, 0.001), beta1: cmp.Or(m.Beta1, 0.9),
		beta2: cmp.Or(m.Beta2, 0.999), epsilon: cmp.Or(m.Epsilon, 1e-8), states: []string{"exp_avg", "exp_avg_sq"},
	}
}

func (m AdamW) rule() rule {
	r := Adam{Rate: m.Rate, Beta1: m.Beta1, Beta2: m.Beta2, Epsilon: m.Epsilon}.rule()
	r.name, r.decay, r.corrected = "AdamW", m.WeightDecay, true
	return r
}

func (r *rule) check(op string) error {
	for _, p := range []struct {
		name  string
		value float64
		below float64
	}{
		{"rate", r.rate, math.MaxFloat32}, {"rate decay", r.rateDecay, math.MaxFloat32},
		{"weight decay", r.decay, math.MaxFloat32}, {"initial sum", r.initial, math.MaxFloat32},
		{"epsilon", r.epsilon, math.MaxFloat32}, {"beta1", r.beta1, 1}, {"beta2", r.beta2, 1},
	} {
		if !(p.value >= 0 && p.value < p.below) {
			return check.Value(op, p.name+" of "+r.name, p.value, fmt.Sprintf("at least 0 and below %v", p.below))
		}
	}
	if r.method == forward.Adam {
		if most := r.rate / (1 - r.beta1); !(most < math.MaxFloat32) { // it is divided by no less, or NaN came of a gradient of 0
			return check.Value(op, "rate of "+r.name, r.rate, "one that is finite as a float32, also divided by 1-beta1")
		}
		if !(r.rate*r.decay < math.MaxFloat32) {
			return check.Value(op, "weight decay of "+r.name, r.decay, "one that is finite as a float32, also times the rate")
		}
	}
	if r.epsilon > 0 && float32(r.epsilonAt(1)) == 0 { // a weight whose gradients are 0 would become 0/0
		want := "one that is above 0 as a float32"
		if r.corrected {
			want += ", also times sqrt(1-beta2)"
		}
		return check.Value(op, "epsilon of "+r.name, r.epsilon, want)
	}
	if least := math.Sqrt(float64(float32(r.initial))) + float64(float32(r.epsilon)); r.method == forward.RowAdagrad && !(r.rate/least < math.MaxFloat32) {
		return check.Value(op, "rate of "+r.name, r.rate, // or NaN came of a gradient of 0
			"one that is finite as a float32, also divided by epsilon plus the root of the initial sum")
	}
	return nil
}

// epsilonAt returns what is added to the root of a sum or a mean of squares in step t. It is least in step 1.
func (r *rule) epsilonAt(t int) float64 {
	if !r.corrected {
		return r.epsilon
	}
	return float64(r.epsilon * math.Sqrt(1-power(r.beta2, t)))
}

// Optimizer changes a table by gradients, row-sparse ones, those of batches and bags, or dense ones: only the rows that a gradient
// holds, or that are no zeros in a dense one, and what the method keeps of them, are read and written. What an update computes has the
// same bits on every machine and for any number of workers. A step must not be taken while anything else uses the table. An Optimizer must
// not be copied: a copy shares its memory.
type Optimizer struct {
	_         noCopy
	parameter Parameter
	rule      rule
	states    []rowvec.Matrix
	steps     int
	workers   int

	now    forward.Update // the step in progress, but for its rows
	ids    []int          // the rows that it changes
	grads  rowvec.Matrix  // their gradients; none if those of batch have to be added up first
	places []int          // the row of grads that each has; none where these are all rows in their order
	dense  bool           // grads are of all rows, of which some may be zeros
	once   singles        // what of the batch needs no sum
	buffer []int          // for what is not in the input: positions, or types
	crew   *work.Crew
	self   *Optimizer // whose the crew is

	batch sums // last: see Gradient
}

// NewOptimizer returns an optimizer of a parameter, whose table it changes in place. What the method keeps has the size
// of the table for Adagrad, twice that for Adam and AdamW, one number for each row for RowAdagrad, and nothing for SGD.
// It is an error if the matrix contradicts itself or is empty, if the method is nil, or if it has a number that is negative
// or not below the largest float32 (for Adam and AdamW, also the rate divided by 1-Beta1, and times the weight decay; for
// RowAdagrad, the rate divided by Epsilon plus the root of Initial), an epsilon that is 0 as a float32 (for AdamW, times
// sqrt(1-Beta2)), or a beta of 1 or more; and if it is a Vector that has neither one row nor one column. Large steps are shared
// by as many workers as GOMAXPROCS is now; the optimizers that an Embedding or a Layer makes of its own parameters have its
// Workers.
func NewOptimizer(p Parameter, m Method) (*Optimizer, error) {
	return newOptimizer("lookup.NewOptimizer", p, m, runtime.GOMAXPROCS(0))
}

// NewOptimizer returns an optimizer of the embedding's table, with as many workers. That of Embedding.Parameters is called token.weight in
// any embedding; where a file is to hold several, give Parameters and the function NewOptimizer other names.
func (e *Embedding) NewOptimizer(m Method) (*Optimizer, error) {
	return newOptimizer("lookup.Embedding.NewOptimizer", e.Parameters()[0], m, e.workers)
}

// NewOptimizers returns an optimizer of each of Parameters, in their order, all with the workers of the tokens. AdamW decays norm.weight and
// norm.bias too, which many trainings leave out: for that, replace the optimizers of these two by ones that the function
// NewOptimizer makes of them with an AdamW without WeightDecay. StepTrain goes by the workers of the first, that of the tokens.
func (l *Layer) NewOptimizers(m Method) ([]*Optimizer, error) {
	var all []*Optimizer
	for _, p := range l.Parameters() {
		o, err := newOptimizer("lookup.Layer.NewOptimizers", p, m, l.tokens.workers)
		if err != nil {
			return nil, err
		}
		all = append(all, o)
	}
	return all, nil
}

func newOptimizer(op string, p Parameter, m Method, workers int) (*Optimizer, error) {
	if check.IsNil(m) {
		return nil, check.Nil(op, "the method")
	}
	if err := checkSizes(op, "rows of the parameter", p.Value.Rows, "columns of the parameter", p.Value.Cols); err != nil {
		return nil, err
	}
	if err := rowvec.CheckMatrix(op, "parameter", p.Value); err != nil {
		return nil, err
	}
	if p.Vector && p.Value.Rows != 1 && p.Value.Cols != 1 {
		return nil, check.Equal(op, "rows of the vector", p.Value.Rows, 1)
	}
	o := &Optimizer{parameter: p, rule: m.rule(), workers: workers}
	if err := o.rule.check(op); err != nil {
		return nil, err
	}
	cols := p.Value.Cols
	if o.rule.method == forward.RowAdagrad {
		cols = 1
	}
	for range o.rule.states {
		s, err := check.NewTable(op, "rows of the parameter", p.Value.Rows, "columns of the parameter", cols)
		if err != nil {
			return nil, err
		}
		if o.rule.initial != 0 {
			for i := range s.Data {
				s.Data[i] = float32(o.rule.initial)
			}
		}
		o.states = append(o.states, s)
	}
	return o, nil
}

// Rate returns the learning rate.
func (o *Optimizer) Rate() float64 { return o.rule.rate }

// SetRate changes the learning rate of the steps to come. It must be at least 0 and, with what NewOptimizer says of Adam, AdamW
// and RowAdagrad, below the largest float32.
func (o *Optimizer) SetRate(rate float64) error {
	r := o.rule
	r.rate = rate
	if err := r.check("lookup.Optimizer.SetRate"); err != nil {
		return err
	}
	o.rule = r
	return nil
}

// Steps returns the number of steps that have been taken.
func (o *Optimizer) Steps() int { return o.steps }

// SetSteps says how many steps have been taken, where State is that of an earlier optimizer.
func (o *Optimizer) SetSteps(n int) error {
	if err := check.AtLeast("lookup.Optimizer.SetSteps", "steps", n, 0); err != nil {
		return err
	}
	o.steps = n
	return nil
}

// State returns what the method keeps, without a copy: "sum" of Adagrad, (rows, cols), and of RowAdagrad, (rows, 1), or
// "exp_avg" and "exp_avg_sq" of Adam and AdamW, (rows, cols); each with the name of the parameter and a dot in front.
// With Steps and Rate it is the complete state: an optimizer of the same method that is given them, by SetSteps and SetRate, goes on
// with the same bits (see the example of resuming). Without SetSteps it would count from 0, without an error, and Adam correct its
// bias as in the first step; without SetRate, a Rate of 0 means the default of the method.
func (o *Optimizer) State() []Parameter {
	var all []Parameter
	for i, name := range o.rule.states {
		vector := o.parameter.Vector || o.rule.method == forward.RowAdagrad
		all = append(all, Parameter{o.parameter.Name + "." + name, o.states[i], vector})
	}
	return all
}

// Step takes a step with a gradient of the table. A gradient without rows is a step too. The gradient stays as it is: Clear makes
// it ready for the next batch, as zero_grad does in PyTorch. Frozen tables change as well: their gradients have no rows, unless
// a caller adds some.
func (o *Optimizer) Step(g *Gradient) error {
	const op = "lookup.Optimizer.Step"
	table := o.parameter.Value
	if err := g.fits(op, "gradient", table.Rows, table.Cols); err != nil {
		return err
	}
	if err := check.Apart(op, "table", table, "gradient", g.all()); err != nil {
		return err
	}
	o.ids, o.grads, o.places = g.ids, g.rows(0, len(g.ids)), g.order
	return o.run(len(g.ids), o.workersOf(g))
}

// StepDense takes a step with a dense gradient, of as many rows and columns as the table. It does what Gradient.SetDense and then Step do,
// without the copy, and refuses nothing that is not finite. Rows that have no element other than zero are left alone, and what the method
// keeps of them too. It is how to train a model that shares its table between input and output, whose gradients reach most rows.
func (o *Optimizer) StepDense(grad rowvec.Matrix) error {
	const op = "lookup.Optimizer.StepDense"
	table := o.parameter.Value
	if err := check.Shape(op, "gradient", grad, table.Rows, table.Cols); err != nil {
		return err
	}
	if err := o.apart(op, "gradient", grad); err != nil {
		return err
	}
	o.grads, o.dense = grad, true
	return o.run(table.Rows, o.workersFor(table.Rows, parallelElements))
}

// apart reports a matrix that a step reads which shares memory with the table or a state.
func (o *Optimizer) apart(op, name string, m rowvec.Matrix) error {
	if err := check.Apart(op, "table", o.parameter.Value, name, m); err != nil {
		return err
	}
	for _, state := range o.states {
		if err := check.Apart(op, "state", state, name, m); err != nil {
			return err
		}
	}
	return nil
}

// StepBatch takes a step with the gradient that e.BackwardSparse gives for a batch, without ever holding it: the rows of
// dOut are added up and applied while they are in the caches, and those of ids that occur once are applied as they are, unless
// the embedding is Scaled or rows are so short that to sort these out takes longer. The table of e must be the optimizer's.
// The bits are those of BackwardSparse and Step, but a gradient of -0 that occurs once may stay -0 instead of +0, which only
// a weight of -0 shows.
func (o *Optimizer) StepBatch(e *Embedding, in Input, dOut rowvec.Matrix) error {
	const op = "lookup.Optimizer.StepBatch"
	if e == nil {
		return check.Nil(op, "embedding")
	}
	if !o.owns(e.weight) {
		return check.Value(op, "the table of the embedding", "another one", "that of the optimizer")
	}
	if err := in.check(op, e.Vocab()); err != nil {
		return err
	}
	n := in.Len()
	if err := o.checkBatch(op, &in, dOut, n); err != nil {
		return err
	}
	if e.frozen { // its gradient has no rows
		return o.run(0, 1)
	}
	return o.stepTerms(op, e.alone.terms(token, &in, dOut, rowvec.Mask{}, nil, nil), o.workersFor(n, parallelElements))
}

// stepTerms takes a step with the gradient that terms add up to.
func (o *Optimizer) stepTerms(op string, t terms, workers int) error {
	s, table := &o.batch, o.parameter.Value
	if err := s.group(op, t.ids, t.except, table.Rows, workers); err != nil {
		return err
	}
	o.once.ids = o.once.ids[:0]
	if t.factors.alpha == 1 && t.mask.Threshold() == 0 {
		o.once.take(&s.groups, t.ids.n, table.Cols)
	}
	s.rows, s.mask = t.rows, t.mask
	s.weigh(t.factors)
	return o.runBatch(op, workers)
}

// StepBags takes a step with the gradient that b.BackwardSparse gives for bags, without ever holding it, but for that of maxima, whose
// memory the optimizer keeps: it is StepBatch for bags. Rows are applied as they are where bags are unweighted sums without
// ScaleGradByFrequency. The table of b must be the optimizer's, as that of b.Tokens().NewOptimizer is, and, for maxima, as it was
// in Forward. On a Xeon, passes of sums over bags and a step took 0.49 to 0.96 (SGD), 0.59 to 0.94 (Adagrad) and 0.64 to 0.98 (Adam) of the time that
// they take with a Gradient.
func (o *Optimizer) StepBags(b *Bag, in Input, dOut rowvec.Matrix) error {
	const op = "lookup.Optimizer.StepBags"
	if b == nil {
		return check.Nil(op, "bag")
	}
	e := b.tokens
	if e == nil { // of a zero Bag
		return check.Nil(op, "the embedding of the bag")
	}
	if !o.owns(e.weight) {
		return check.Value(op, "the table of the embedding", "another one", "that of the optimizer")
	}
	if err := b.check(op, &in); err != nil {
		return err
	}
	if err := o.checkBatch(op, &in, dOut, in.sequences()); err != nil {
		return err
	}
	n := in.Len()
	if e.frozen {
		return o.run(0, 1)
	}
	s, workers := &o.batch, o.workersFor(n, bagElements)
	if err := s.group(op, in.ids, e.padding, e.Vocab(), workers); err != nil {
		return err
	}
	o.once.ids = o.once.ids[:0]
	if b.pooling == Max {
		if err := b.maxima(s, &in, dOut, workers); err != nil {
			return err
		}
		o.grads = s.rows
		return o.runBatch(op, workers)
	}
	if b.pooling == Sum && in.weights == nil && !e.byFrequency {
		o.once.take(&s.groups, n, e.Dim())
	}
	s.rows = dOut
	b.share(s, &in)
	for i := range o.once.ids {
		o.once.places[i] = s.bags[o.once.places[i]]
	}
	return o.runBatch(op, workers)
}

// owns reports whether a table is the optimizer's.
func (o *Optimizer) owns(m rowvec.Matrix) bool {
	table := o.parameter.Value
	return m.Rows == table.Rows && m.Cols == table.Cols && m.Stride == table.Stride &&
		len(m.Data) > 0 && &m.Data[0] == &table.Data[0]
}

// checkBatch checks what steps by a batch have in common, where dOut is to have so many rows.
func (o *Optimizer) checkBatch(op string, in *Input, dOut rowvec.Matrix, rows int) error {
	table := o.parameter.Value
	if err := check.Shape(op, "dOut", dOut, rows, table.Cols); err != nil {
		return err
	}
	if err := o.apart(op, "dOut", dOut); err != nil {
		return err
	}
	if err := in.apart(op, "table", table); err != nil {
		return err
	}
	for _, state := range o.states {
		if err := in.apart(op, "state", state); err != nil {
			return err
		}
	}
	return nil
}

// runBatch takes a step by the groups of batch and by what occurs once.
func (o *Optimizer) runBatch(op string, workers int) error {
	defer o.batch.forget()
	o.ids = o.batch.ids
	n := len(o.once.ids) + len(o.batch.at)
	if o.grads.Rows > 0 {
		n = o.grads.Rows
	}
	if err := o.run(n, workers); err != nil {
		return fmt.Errorf("%w (%s)", err, op)
	}
	return nil
}

// run takes a step with so many rows, or places of the batch.
func (o *Optimizer) run(n, workers int) error {
	step := min(o.steps, math.MaxInt-1) + 1 // whatever SetSteps was told
	o.now = o.update(step)
	if o.self != o { // it is new, or has been moved
		o.crew, o.self = work.New(o.part), o
	}
	defer func() { o.ids, o.grads, o.places, o.dense = nil, rowvec.Matrix{}, nil, false }() // after a panic too
	err := o.crew.Do(workers, n, leastRows(o.parameter.Value.Cols))
	if err == nil {
		o.steps = step
	}
	return err
}

// workersFor returns how many workers share n rows, or places, of which elements says from how many on several pay.
func (o *Optimizer) workersFor(n int, elements func(vocab, dim, workers int) int) int {
	table := o.parameter.Value
	if n < elements(table.Rows, table.Cols, o.workers)/table.Cols {
		return 1
	}
	return o.workers
}

// workersOf returns how many workers share the rows of a gradient: several if several have added it up, and otherwise for so many
// rows, which may be those of bags.
func (o *Optimizer) workersOf(g *Gradient) int {
	if g.workers > 1 {
		return o.workers
	}
	return o.workersFor(len(g.ids), bagElements)
}

// update returns what kernels have to be told of step t, counted from 1.
func (o *Optimizer) update(t int) forward.Update {
	r := &o.rule
	u := forward.Update{
		Method: r.method, Table: o.parameter.Value, Wide: bits.UintSize == 64,
		Rate: float32(r.rate), Decay: float32(r.decay), Epsilon: float32(r.epsilonAt(t)),
	}
	if len(o.states) > 0 {
		u.First, u.Second = o.states[0], o.states[len(o.states)-1]
	}
	switch r.method {
	case forward.Adagrad, forward.RowAdagrad:
		u.Rate = float32(r.rate / (1 + float64(float64(t-1)*r.rateDecay)))
	case forward.Adam:
		rest1, rest2 := 1-power(r.beta1, t), 1-power(r.beta2, t)
		u.Adam = rowvec.AdamStep{
			MeanWeight:   float32(1 - r.beta1),
			SquareWeight: float32(1 - r.beta2),
			Rate:         float32(float64(r.rate*math.Sqrt(rest2)) / rest1),
			Epsilon:      u.Epsilon,
			Keep:         float32(1 - float64(r.rate*r.decay)),
		}
	}
	return u
}

// power returns x^n by squaring, with the same bits everywhere.
func power(x float64, n int) float64 {
	y := 1.0
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			y = float64(y * x)
		}
		x = float64(x * x)
	}
	return y
}

// part does a range of rows, or of the batch: first the ids that need no sum, and behind them the places of the others.
func (o *Optimizer) part(lo, hi int) error {
	switch {
	case o.dense:
		return o.denseRows(lo, hi)
	case len(o.places) > 0:
		return o.straight(o.ids, o.places, o.grads, lo, hi)
	case o.grads.Rows > 0:
		return o.use(rows(o.grads, lo, hi), lo, false)
	}
	once := len(o.once.ids)
	if lo < once {
		if err := o.straight(o.once.ids, o.once.places, o.batch.rows, lo, min(hi, once)); err != nil || hi <= once {
			return err
		}
		lo = once
	}
	lo, hi = o.batch.span(lo-once, hi-once)
	return o.batch.pieces(lo, hi, o)
}

// use applies the gradients of rows lo to lo+grads.Rows-1 of the step.
func (o *Optimizer) use(grads rowvec.Matrix, lo int, follows bool) error {
	u := o.now
	u.Follows = follows
	u.IDs, u.Grad, u.More = unsafe.Pointer(&o.ids[lo]), grads, len(o.ids)-lo-grads.Rows
	return apply(&u)
}

// denseRows applies those of rows lo to hi-1 of a dense gradient that have an element other than zero.
func (o *Optimizer) denseRows(lo, hi int) error {
	buffer := atBuffers.Get().(*[atRows]int)
	defer atBuffers.Put(buffer)
	for ; lo < hi; lo += atRows {
		ids := touched(buffer[:0], o.grads, lo, min(lo+atRows, hi))
		if len(ids) == 0 {
			continue
		}
		if err := o.straight(ids, ids, o.grads, 0, len(ids)); err != nil {
			return err
		}
	}
	return nil
}

// straight applies the gradients of ids lo to hi-1, the rows that places say.
func (o *Optimizer) straight(ids, places []int, grads rowvec.Matrix, lo, hi int) error {
	u := o.now
	u.IDs, u.Grad, u.More = unsafe.Pointer(&ids[lo]), grads, len(ids)-hi
	places = places[lo:hi]
	if first := places[0]; follow(places) {
		u.Grad = rows(u.Grad, first, first+len(places))
	} else {
		u.Places = places
	}
	return apply(&u)
}

// follow reports whether places are one behind the other. Those of bags may be there more than once.
func follow(places []int) bool {
	first := places[0]
	if n := len(places); places[n-1] != first+n-1 {
		return false
	}
	for i, place := range places {
		if place != first+i {
			return false
		}
	}
	return true
}

func apply(u *forward.Update) error {
	if n := u.Len(); n > 0 && forward.Apply(*u) < n {
		return rowvec.ErrChanged
	}
	return nil
}

// String says what the optimizer is, such as Adagrad(token.weight, rate=0.01, step=3).
func (o *Optimizer) String() string {
	return fmt.Sprintf("%s(%s, rate=%v, step=%d)", o.rule.name, o.parameter.Name, o.rule.rate, o.steps)
}
