// Loops in C over rows of a table, by each way to prefetch that pays on some processor: what memory gives to those who ask
// for it in the best way, without checks, and without a promise which bits come out of it. bench/peers.py calls them, and
// has made sure of what they take for granted: ids in range, all bags of one size, rows of a multiple of BLOCK floats without
// gaps, those of results at addresses that are multiples of 64.

#include <stdint.h>
#ifdef __SSE__
#include <immintrin.h>
#endif

enum { BLOCK = 16 }; // floats: a line of most caches

enum kernel { GATHER, EMBED, SCATTER_ADD, BAG_SUM, BAG_SUM_WEIGHTED, ADD_SCALED };

enum into { NOWHERE, L1, L2, ONCE, TO_WRITE };

// job is what peers.py has as Loops.Work, in the same order.
struct job {
	int64_t kernel, dim, ids, seq, n, lists;
	float *table, *rows, *positions, *weights, *x, *y;
	float scale;
};

// way is how rows are prefetched: into which cache, how many ahead, each line beside one that is worked on, of bags each panel
// in front of one, and not all before; and whether results are written past the caches.
struct way {
	int64_t into, ahead, by_line, past;
};

#if defined __AVX512F__
typedef float vec __attribute__((vector_size(64), aligned(4), may_alias));
#define PAST(to, v) _mm512_stream_ps(to, (__m512)(v))
#elif defined __AVX__
typedef float vec __attribute__((vector_size(32), aligned(4), may_alias));
#define PAST(to, v) _mm256_stream_ps(to, (__m256)(v))
#elif defined __SSE__
typedef float vec __attribute__((vector_size(16), aligned(4), may_alias));
#define PAST(to, v) _mm_stream_ps(to, (__m128)(v))
#else
typedef float vec __attribute__((vector_size(16), aligned(4), may_alias));
#endif

enum { LANES = sizeof(vec) / sizeof(float), PANEL = 8 * LANES }; // a panel is what a bag adds up at a time

#define INLINE static inline __attribute__((always_inline))

INLINE vec load(const float *at) { return *(const vec *)at; }

INLINE void store(float *at, vec v, int past) {
#ifdef PAST
	if (past) {
		PAST(at, v);
		return;
	}
#endif
	*(vec *)at = v;
}

// can_write_past says whether there are stores past the caches.
int can_write_past(void) {
#ifdef PAST
	return 1;
#else
	return 0;
#endif
}

INLINE void prefetch(const float *at, enum into into) {
	switch (into) {
	case NOWHERE: return;
	case L1: __builtin_prefetch(at, 0, 3); return;
	case L2: __builtin_prefetch(at, 0, 2); return;
	case ONCE: __builtin_prefetch(at, 0, 0); return;
	case TO_WRITE: __builtin_prefetch(at, 1, 3); return;
	}
}

INLINE void prefetch_row(const float *row, int64_t dim, enum into into) {
	for (int64_t k = 0; into != NOWHERE && k < dim; k += BLOCK)
		prefetch(row + k, into);
}

// far is the row of the id that is so many ahead; behind the last one, that of the last.
INLINE const float *far(const struct job j, const int32_t *ids, int64_t i, int64_t ahead) {
	return j.table + ids[i + ahead < j.ids ? i + ahead : j.ids - 1] * j.dim;
}

// block does what a kernel does with BLOCK floats of a row.
INLINE void block(enum kernel kernel, float *row, float *out, const float *position, float scale, int past) {
	for (int k = 0; k < BLOCK; k += LANES)
		switch (kernel) {
		case GATHER: store(out + k, load(row + k), past); break;
		case EMBED: store(out + k, load(row + k) * scale + load(position + k), past); break;
		default: store(row + k, load(row + k) + load(out + k), 0); break; // SCATTER_ADD
		}
}

// by_rows is GATHER, EMBED and SCATTER_ADD: out[i] = table[ids[i]], out[i] = table[ids[i]]*scale + positions[i%seq],
// table[ids[i]] += out[i].
INLINE void by_rows(const struct job j, const int32_t *ids, enum kernel kernel, enum into into, int64_t ahead, int by_line, int past) {
	const int64_t dim = j.dim, n = j.ids;
	for (int64_t i = 0; i < ahead && i < n; i++)
		prefetch_row(j.table + ids[i] * dim, dim, into);
	const float *position = j.positions;
	for (int64_t i = 0, left = j.seq; i < n; i++) {
		float *row = j.table + ids[i] * dim, *out = j.rows + i * dim;
		const float *next = far(j, ids, i, ahead);
		if (!by_line)
			prefetch_row(next, dim, into);
		for (int64_t k = 0; k < dim; k += BLOCK) {
			if (by_line)
				prefetch(next + k, into);
			block(kernel, row + k, out + k, position + k, j.scale, past);
		}
		if (kernel == EMBED) {
			position += dim;
			if (--left == 0) {
				position = j.positions;
				left = j.seq;
			}
		}
	}
#ifdef PAST
	if (past)
		_mm_sfence();
#endif
}

// panel sums width floats, from a column on, of all rows of a bag in registers. The ids of the bag are those from i on.
INLINE void panel(const struct job j, const int32_t *ids, int64_t i, float *out, int64_t column, int width, int weighted,
	enum into into, int64_t ahead, int by_line) {
	vec sum[PANEL / LANES];
#pragma GCC unroll 16
	for (int v = 0; v < width / LANES; v++)
		sum[v] = (vec){0};
	for (int64_t end = i + j.seq; i < end; i++) {
		const float *row = j.table + ids[i] * j.dim + column;
		if (by_line)
			prefetch_row(far(j, ids, i, ahead) + column, width, into);
		else if (column == 0)
			prefetch_row(far(j, ids, i, ahead), j.dim, into);
#pragma GCC unroll 16
		for (int v = 0; v < width / LANES; v++) {
			vec of = load(row + v * LANES);
			if (weighted)
				of *= j.weights[i];
			sum[v] += of;
		}
	}
#pragma GCC unroll 16
	for (int v = 0; v < width / LANES; v++)
		store(out + column + v * LANES, sum[v], 0);
}

// by_bags is BAG_SUM and BAG_SUM_WEIGHTED: out[b] is the sum of the rows of the ids b*seq to (b+1)*seq - 1.
INLINE void by_bags(const struct job j, const int32_t *ids, int weighted, enum into into, int64_t ahead, int by_line) {
	for (int64_t i = 0; i < ahead && i < j.ids; i++)
		prefetch_row(j.table + ids[i] * j.dim, j.dim, into);
	float *out = j.rows;
	for (int64_t i = 0; i < j.ids; i += j.seq, out += j.dim) {
		int64_t column = 0;
		for (; column + PANEL <= j.dim; column += PANEL)
			panel(j, ids, i, out, column, PANEL, weighted, into, ahead, by_line);
		for (; column + PANEL / 2 <= j.dim; column += PANEL / 2)
			panel(j, ids, i, out, column, PANEL / 2, weighted, into, ahead, by_line);
		for (; column < j.dim; column += BLOCK)
			panel(j, ids, i, out, column, BLOCK, weighted, into, ahead, by_line);
	}
}

// add_scaled is ADD_SCALED: y += scale*x.
static void add_scaled(const struct job j) {
#pragma GCC unroll 4
	for (int64_t k = 0; k < j.n; k += LANES)
		store(j.y + k, load(j.y + k) + j.scale * load(j.x + k), 0);
}

// Each way has a loop of its own: where to prefetch, and past which caches to write, is part of an instruction.
#define EACH_INTO(call) \
	switch (w->into) { \
	case NOWHERE: call(NOWHERE); break; \
	case L1: call(L1); break; \
	case L2: call(L2); break; \
	case ONCE: call(ONCE); break; \
	case TO_WRITE: call(TO_WRITE); break; \
	}
#define BY_ROWS(kernel, into) \
	switch (2 * w->by_line + w->past) { \
	case 0: by_rows(j, ids, kernel, into, w->ahead, 0, 0); break; \
	case 1: by_rows(j, ids, kernel, into, w->ahead, 0, 1); break; \
	case 2: by_rows(j, ids, kernel, into, w->ahead, 1, 0); break; \
	case 3: by_rows(j, ids, kernel, into, w->ahead, 1, 1); break; \
	}
#define GATHERED(into) BY_ROWS(GATHER, into)
#define EMBEDDED(into) BY_ROWS(EMBED, into)
#define SCATTERED(into) \
	switch (w->by_line) { \
	case 0: by_rows(j, ids, SCATTER_ADD, into, w->ahead, 0, 0); break; \
	case 1: by_rows(j, ids, SCATTER_ADD, into, w->ahead, 1, 0); break; \
	}
#define BY_BAGS(weighted, into) \
	switch (w->by_line) { \
	case 0: by_bags(j, ids, weighted, into, w->ahead, 0); break; \
	case 1: by_bags(j, ids, weighted, into, w->ahead, 1); break; \
	}
#define SUMMED(into) BY_BAGS(0, into)
#define WEIGHTED(into) BY_BAGS(1, into)

// run does a job for some lists of ids, from one of them on and around.
void run(const struct job *job, const struct way *w, const int32_t *lists, int64_t first, int64_t calls) {
	const struct job j = *job; // which no store can change
	for (int64_t c = first; c < first + calls; c++) {
		const int32_t *ids = lists + (j.lists ? c % j.lists : 0) * j.ids;
		switch (j.kernel) {
		case GATHER: EACH_INTO(GATHERED) break;
		case EMBED: EACH_INTO(EMBEDDED) break;
		case SCATTER_ADD: EACH_INTO(SCATTERED) break;
		case BAG_SUM: EACH_INTO(SUMMED) break;
		case BAG_SUM_WEIGHTED: EACH_INTO(WEIGHTED) break;
		case ADD_SCALED: add_scaled(j); break;
		}
	}
}
