/*
 * Connectivity of a triangle mesh (docs/format.md, "Coded faces"): the conquest of Edgebreaker with a context-mixed
 * coder, for any list of triangles. Vertex numbers come back as they were.
 *
 * A face is attached to an open gate, a half-edge of an earlier face that has no partner yet, or stands alone. Its third
 * vertex is new, or closes to the left or to the right along the open boundary, or is told. Two orders: kept, where
 * the gate is coded by how recently it was opened, and walked, where the gate is always the first of a heap and what
 * is coded is whether there is a face behind it. Half-edge 3t + i goes from corner i of face t to the next corner.
 */
#include "range_coder.h"

#define NONE 0xFFFFFFFFu
#define RANK_MAX 1023u
#define RATE 5u
#define MIX_RATE 18u
#define INPUTS 3u
/* One table of states; each kind of decision has its own part. */
#define SYMBOLS 0u              /* 4 decisions x 3 inputs x 512 */
#define NUMBERS (4u * 3u * 512u) /* 6 kinds x 64 bins x 12 */
#define STATES (NUMBERS + 8u * 64u * 12u)
#define WEIGHTS (8u * INPUTS)

typedef struct {
    kp_encoder *encoder; /* exactly one of the two is set */
    kp_decoder *decoder;
    uint32_t *states;
    int32_t *weights;
    uint32_t *left, *right;   /* [vertices] newest open gate that ends, starts at a vertex */
    uint32_t *left_below, *right_below, *newer, *older; /* [3 faces] */
    uint32_t *heap;           /* [3 faces] */
    uint64_t *keys;           /* [3 faces] */
    uint32_t *unused;         /* [vertices + 1] Fenwick tree of vertices not seen yet */
    uint8_t *open;            /* [3 faces] */
    uint8_t *valence;         /* [vertices], 0 for not seen */
    int32_t *faces;
    size_t face_count, vertices, heap_size;
    uint32_t newest, highest, history, last_turn, last_rank, ahead;
    uint32_t policy; /* bit 0: walked; bit 1: heap by vertex numbers; bit 2: new numbers from the lowest unused one */
} walker;

static inline uint32_t capped(uint32_t value, uint32_t most)
{
    return value < most ? value : most;
}

static inline uint32_t code_adaptive(walker *w, uint32_t *state, uint32_t bit)
{
    if (w->decoder)
        return kp_decode_adaptive(w->decoder, state, RATE);
    kp_encode_adaptive(w->encoder, state, RATE, bit);
    return bit;
}

static inline uint32_t code_choice(walker *w, uint32_t decision, uint32_t a, uint32_t b, uint32_t c, uint32_t bit)
{
    kp_mixer m;
    uint32_t *table = w->states + SYMBOLS + decision * 3u * 512u;
    m.states[0] = table + a;
    m.states[1] = table + 512u + b;
    m.states[2] = table + 1024u + c;
    m.weights = w->weights + decision * INPUTS;
    if (w->decoder)
        return kp_decode_mixed(w->decoder, &m, INPUTS, RATE, MIX_RATE);
    kp_encode_mixed(w->encoder, &m, INPUTS, RATE, MIX_RATE, bit);
    return bit;
}

/* A whole number: bucket in unary, the two leading bits of its mantissa adaptive, the rest plain. */
static inline uint32_t code_number(walker *w, uint32_t kind, uint32_t context, uint32_t value)
{
    uint32_t *table = w->states + NUMBERS + (kind * 12u + context) * 64u, r = value + 1, e = 0;
    uint32_t own = w->decoder ? 0 : 31u - (uint32_t)__builtin_clz(r);
    while (e < 30 && code_adaptive(w, table + e, e < own))
        e++;
    uint32_t coded = 1;
    for (uint32_t bit = e; bit-- > 0;) {
        uint32_t b = (r >> bit) & 1u, depth = e - 1 - bit;
        if (depth < 2 && e < 10)
            b = code_adaptive(w, table + 31 + e * 3 + (depth ? 1 + (coded & 1u) : 0), b);
        else if (w->decoder)
            b = kp_decode_direct(w->decoder, 1);
        else
            kp_encode_direct(w->encoder, b, 1);
        coded = (coded << 1) | b;
    }
    return coded - 1;
}

/* ---- vertices not seen yet ------------------------------------------------------------------------------------- */

static uint32_t unused_below(const walker *w, uint32_t vertex)
{
    uint32_t sum = 0;
    for (uint32_t i = vertex; i > 0; i &= i - 1)
        sum += w->unused[i];
    return sum;
}

static void use(walker *w, uint32_t vertex)
{
    for (uint32_t i = vertex + 1; i <= w->vertices; i += i & (0u - i))
        w->unused[i]--;
    if (vertex + 1 > w->highest)
        w->highest = vertex + 1;
}

/* The unused vertex that has `rank` unused ones below it. */
static uint32_t unused_at(const walker *w, uint32_t rank)
{
    uint32_t position = 0, step = 1;
    while (step <= w->vertices / 2)
        step <<= 1;
    for (; step > 0; step >>= 1)
        if (position + step <= w->vertices && w->unused[position + step] <= rank) {
            position += step;
            rank -= w->unused[position];
        }
    return position;
}

static inline uint32_t fail(walker *w)
{
    if (w->decoder)
        kp_decoder_fail(w->decoder, KP_CORRUPT);
    else
        w->encoder->status = KP_ARGUMENT;
    return 0;
}

static inline uint32_t fold(int64_t x)
{
    return x < 0 ? (uint32_t)(-2 * x - 1) : (uint32_t)(2 * x);
}

static inline int64_t unfold(uint32_t x)
{
    return x & 1u ? -(int64_t)(x >> 1) - 1 : (int64_t)(x >> 1);
}

/* A vertex met for the first time: the one after the highest so far, or so many unused ones from `near`. */
static uint32_t code_new(walker *w, uint32_t near, uint32_t vertex)
{
    uint32_t total = unused_below(w, (uint32_t)w->vertices);
    if (total == 0)
        return fail(w);
    uint32_t next = w->highest < w->vertices ? w->highest : NONE;
    if (next != NONE) {
        uint32_t hit = code_adaptive(w, w->states + NUMBERS + 7u * 64u * 12u + capped(w->ahead, 3), vertex == next);
        w->ahead = hit ? capped(w->ahead + 1, 3) : 0;
        if (hit)
            return next;
    }
    int64_t base = w->policy & 4u ? 0 : unused_below(w, near);
    int64_t rank = w->decoder ? 0 : unused_below(w, vertex);
    uint32_t coded = code_number(w, 0, w->policy & 4u ? 1 : 0, w->policy & 4u ? (uint32_t)rank : fold(rank - base));
    rank = w->policy & 4u ? (int64_t)coded : base + unfold(coded);
    return rank < 0 || rank >= total ? fail(w) : unused_at(w, (uint32_t)rank);
}

static uint32_t code_known(walker *w, uint32_t near, uint32_t vertex)
{
    int64_t value = (int64_t)near + unfold(code_number(w, 1, 0, w->decoder ? 0 : fold((int64_t)vertex - near)));
    return value < 0 || value >= (int64_t)w->vertices ? fail(w) : (uint32_t)value;
}

/* A corner of a face that stands alone. */
static uint32_t code_free(walker *w, uint32_t corner, uint32_t near, uint32_t vertex)
{
    uint32_t seen = w->decoder ? 0 : w->valence[vertex] != 0;
    seen = code_adaptive(w, w->states + NUMBERS + 7u * 64u * 12u + 8u + corner, seen);
    return seen ? code_known(w, near, vertex) : code_new(w, near, vertex);
}

static void meet(walker *w, uint32_t vertex)
{
    if (w->valence[vertex] == 0)
        use(w, vertex);
    if (w->valence[vertex] < 255)
        w->valence[vertex]++;
}

/* ---- gates ------------------------------------------------------------------------------------------------------ */

static inline uint32_t from(const walker *w, uint32_t gate)
{
    return (uint32_t)w->faces[gate];
}

static inline uint32_t to(const walker *w, uint32_t gate)
{
    return (uint32_t)w->faces[gate % 3 == 2 ? gate - 2 : gate + 1];
}

static void push_heap(walker *w, uint32_t gate)
{
    uint32_t a = from(w, gate), b = to(w, gate), low = a < b ? a : b, high = a < b ? b : a;
    w->keys[gate] = w->policy & 2u ? ((uint64_t)low << 32) | high : 0xFFFFFFFFu - gate;
    size_t at = w->heap_size++;
    while (at > 0 && w->keys[w->heap[(at - 1) / 2]] > w->keys[gate]) {
        w->heap[at] = w->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    w->heap[at] = gate;
}

static uint32_t pop_heap(walker *w)
{
    uint32_t top = w->heap[0], last = w->heap[--w->heap_size];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= w->heap_size)
            break;
        if (child + 1 < w->heap_size && w->keys[w->heap[child + 1]] < w->keys[w->heap[child]])
            child++;
        if (w->keys[last] <= w->keys[w->heap[child]])
            break;
        w->heap[at] = w->heap[child];
        at = child;
    }
    if (w->heap_size)
        w->heap[at] = last;
    return top;
}

static void open_gate(walker *w, uint32_t gate)
{
    w->open[gate] = 1;
    w->right_below[gate] = w->right[from(w, gate)];
    w->right[from(w, gate)] = gate;
    w->left_below[gate] = w->left[to(w, gate)];
    w->left[to(w, gate)] = gate;
    if (w->policy & 1u) {
        push_heap(w, gate);
    } else {
        w->older[gate] = w->newest;
        w->newer[gate] = NONE;
        if (w->newest != NONE)
            w->newer[w->newest] = gate;
        w->newest = gate;
    }
}

static void close_gate(walker *w, uint32_t gate)
{
    w->open[gate] = 0;
    if (w->policy & 1u)
        return;
    if (w->newer[gate] == NONE)
        w->newest = w->older[gate];
    else
        w->older[w->newer[gate]] = w->older[gate];
    if (w->older[gate] != NONE)
        w->newer[w->older[gate]] = w->newer[gate];
}

/* The newest open gate of a vertex's list; closed ones are dropped for good. */
static inline uint32_t head_of(const walker *w, uint32_t *list, const uint32_t *below)
{
    while (*list != NONE && !w->open[*list])
        *list = below[*list];
    return *list;
}

/* Opens the half-edges of a face whose partners are not open, and closes those that are. */
static void join(walker *w, uint32_t face)
{
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t edge = 3 * face + i, a = from(w, edge), b = to(w, edge), partner = NONE, steps = 0;
        head_of(w, &w->right[b], w->right_below);
        for (uint32_t g = w->right[b]; g != NONE && steps < 64; g = w->right_below[g], steps++)
            if (w->open[g] && to(w, g) == a) {
                partner = g;
                break;
            }
        if (partner != NONE)
            close_gate(w, partner);
        else
            open_gate(w, edge);
    }
}

/* ---- faces ------------------------------------------------------------------------------------------------------ */

/* The third vertex of a face behind the gate from x to y. */
static uint32_t code_third(walker *w, uint32_t gate, uint32_t third)
{
    uint32_t x = from(w, gate), y = to(w, gate);
    uint32_t l = head_of(w, &w->left[x], w->left_below), r = head_of(w, &w->right[y], w->right_below);
    uint32_t lv = l == NONE ? NONE : from(w, l), rv = r == NONE ? NONE : to(w, r), tight = lv != NONE && lv == rv;
    uint32_t vx = capped(w->valence[x], 9), vy = capped(w->valence[y], 9), h = w->history & 63u;
    uint32_t a = vx * 10 + vy, b = h * 8 + (lv != NONE) * 4 + (rv != NONE) * 2 + tight;
    uint32_t wl = lv == NONE ? 0 : capped(w->valence[lv], 7), wr = rv == NONE ? 0 : capped(w->valence[rv], 7);
    uint32_t c = wl * 64 + wr * 8 + capped(vx, 7);
    w->history <<= 2;
    if (lv != NONE && code_choice(w, 0, a, b, c, third == lv)) {
        w->history |= 1;
        return lv;
    }
    if (rv != NONE && rv != lv && code_choice(w, 1, a, b, wr * 64 + wl * 8 + capped(vy, 7), third == rv)) {
        w->history |= 2;
        return rv;
    }
    uint32_t fresh = w->decoder ? 0 : w->valence[third] == 0;
    if (code_choice(w, 2, a, b, c, fresh))
        return code_new(w, x, third);
    w->history |= 3;
    return code_known(w, x, third);
}

static void put_face(walker *w, uint32_t face, uint32_t turn, uint32_t y, uint32_t x, uint32_t third)
{
    int32_t *out = w->faces + 3 * (size_t)face;
    out[turn] = (int32_t)third;
    out[(turn + 1) % 3] = (int32_t)y;
    out[(turn + 2) % 3] = (int32_t)x;
    meet(w, third);
    if (w->valence[y] < 255)
        w->valence[y]++;
    if (w->valence[x] < 255)
        w->valence[x]++;
    join(w, face);
}

static void code_alone(walker *w, uint32_t face, const int32_t *source)
{
    uint32_t near = w->highest ? w->highest - 1 : 0;
    int32_t *out = w->faces + 3 * (size_t)face;
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t vertex = code_free(w, i, near, source ? (uint32_t)source[i] : 0);
        if (vertex >= w->vertices)
            vertex = fail(w);
        out[i] = (int32_t)vertex;
        meet(w, vertex);
        near = vertex;
    }
    join(w, face);
}

static inline int32_t status_of(const walker *w)
{
    return w->decoder ? w->decoder->status : w->encoder->status;
}

/* Which open gate the face belongs to, newest first, or NONE; *turn is the corner across from it. */
static uint32_t find_gate(const walker *w, const int32_t *face, uint32_t *rank, uint32_t *turn)
{
    uint32_t at = 0;
    for (uint32_t g = w->newest; g != NONE && at <= RANK_MAX; g = w->older[g], at++)
        for (uint32_t i = 0; i < 3; i++)
            if (to(w, g) == (uint32_t)face[(i + 1) % 3] && from(w, g) == (uint32_t)face[(i + 2) % 3]) {
                *rank = at;
                *turn = i;
                return g;
            }
    return NONE;
}

static int32_t code_kept(walker *w, const int32_t *source)
{
    uint32_t *flags = w->states + NUMBERS + 7u * 64u * 12u + 16u, alone = 0;
    for (size_t t = 0; t < w->face_count; t++) {
        uint32_t rank = 0, turn = 0, gate = source ? find_gate(w, source + 3 * t, &rank, &turn) : NONE;
        alone = code_adaptive(w, flags + alone, gate == NONE);
        if (alone) {
            code_alone(w, (uint32_t)t, source ? source + 3 * t : NULL);
        } else {
            rank = code_number(w, 2, capped(w->last_rank, 8), rank);
            if (rank > RANK_MAX)
                return KP_CORRUPT;
            w->last_rank = rank < 4 ? rank : 4 + capped((31u - (uint32_t)__builtin_clz(rank)) / 2, 4);
            for (gate = w->newest; gate != NONE && rank > 0; rank--)
                gate = w->older[gate];
            if (gate == NONE)
                return KP_CORRUPT;
            uint32_t first = code_adaptive(w, flags + 2 + w->last_turn, turn == w->last_turn % 3);
            uint32_t other = (w->last_turn + 1) % 3;
            if (first)
                turn = w->last_turn;
            else
                turn = code_adaptive(w, flags + 8 + w->last_turn, turn == other) ? other : (w->last_turn + 2) % 3;
            w->last_turn = turn;
            uint32_t y = to(w, gate), x = from(w, gate);
            uint32_t third = code_third(w, gate, source ? (uint32_t)source[3 * t + turn] : 0);
            put_face(w, (uint32_t)t, turn, y, x, third);
        }
        if (status_of(w) != KP_OK)
            return status_of(w);
    }
    return KP_OK;
}

/* behind[3 faces] is each half-edge's partner in the source or NONE; stream half-edges know theirs through `own`. */
static int32_t code_walked(walker *w, const int32_t *source, const uint32_t *behind, uint32_t *own, uint8_t *done)
{
    size_t next = 0;
    for (size_t t = 0; t < w->face_count;) {
        uint32_t gate = NONE;
        while (w->heap_size && !w->open[w->heap[0]])
            pop_heap(w);
        if (w->heap_size)
            gate = pop_heap(w);
        uint32_t partner = NONE;
        if (gate == NONE) {
            while (source && next < w->face_count && done[next])
                next++;
            code_alone(w, (uint32_t)t, source ? source + 3 * next : NULL);
            for (uint32_t i = 0; source && i < 3; i++)
                own[3 * t + i] = (uint32_t)(3 * next + i);
            if (source)
                done[next] = 1;
        } else {
            uint32_t x = from(w, gate), y = to(w, gate);
            if (source) {
                partner = behind[own[gate]];
                if (partner != NONE && done[partner / 3])
                    partner = NONE;
            }
            uint32_t vx = capped(w->valence[x], 9), vy = capped(w->valence[y], 9);
            if (code_choice(w, 3, vx * 10 + vy, w->last_rank * 8 + (w->history & 3u), 0, partner == NONE)) {
                w->last_rank = capped(w->last_rank + 1, 3);
                close_gate(w, gate);
                continue;
            }
            w->last_rank = 0;
            uint32_t face = partner == NONE ? 0 : partner / 3, corner = partner == NONE ? 0 : (partner % 3 + 2) % 3;
            uint32_t third = code_third(w, gate, source ? (uint32_t)source[3 * face + corner] : 0);
            put_face(w, (uint32_t)t, 2, y, x, third);
            for (uint32_t i = 0; source && i < 3; i++)
                own[3 * t + i] = 3 * face + (corner + 1 + i) % 3;
            if (source)
                done[face] = 1;
        }
        t++;
        if (status_of(w) != KP_OK)
            return status_of(w);
    }
    return KP_OK;
}

static int32_t start(walker *w, size_t faces, size_t vertices, uint32_t policy, int32_t *out, uint32_t *words,
                     uint64_t *keys, uint8_t *bytes)
{
    if (vertices > 1u << 30 || faces > 1u << 29 || policy > 7u)
        return KP_ARGUMENT;
    w->face_count = faces;
    w->vertices = vertices;
    w->policy = policy;
    w->faces = out;
    w->states = words;
    w->weights = (int32_t *)(words + STATES);
    w->left = words + STATES + WEIGHTS;
    w->right = w->left + vertices;
    w->unused = w->right + vertices;
    w->left_below = w->unused + vertices + 1;
    w->right_below = w->left_below + 3 * faces;
    w->newer = w->right_below + 3 * faces;
    w->older = w->newer + 3 * faces;
    w->heap = w->older + 3 * faces;
    w->keys = keys;
    w->open = bytes;
    w->valence = bytes + 3 * faces;
    for (size_t i = 0; i < STATES; i++)
        w->states[i] = 1u << 31;
    for (size_t i = 0; i < WEIGHTS; i++)
        w->weights[i] = 65536 * 4 / 10;
    for (size_t v = 0; v < vertices; v++) {
        w->left[v] = w->right[v] = NONE;
        w->unused[v + 1] = (uint32_t)((v + 1) & (~v));
        w->valence[v] = 0;
    }
    w->unused[0] = 0;
    for (size_t h = 0; h < 3 * faces; h++)
        w->open[h] = 0;
    w->heap_size = 0;
    w->newest = NONE;
    w->highest = w->history = w->last_turn = w->last_rank = w->ahead = 0;
    return KP_OK;
}

int32_t kp_faces_scratch(size_t faces, size_t vertices, size_t *words, size_t *bytes)
{
    *words = STATES + WEIGHTS + 3 * vertices + 1 + 15 * faces;
    *bytes = 3 * faces + vertices;
    return KP_OK;
}

int32_t kp_faces_encode(const int32_t *source, size_t faces, size_t vertices, uint32_t policy, const uint32_t *behind,
                        uint32_t *own, uint8_t *done, int32_t *walked, uint32_t *words, uint64_t *keys, uint8_t *bytes,
                        uint8_t *out, size_t capacity, size_t *size)
{
    walker w;
    kp_encoder e;
    int32_t status = start(&w, faces, vertices, policy, walked, words, keys, bytes);
    if (status != KP_OK)
        return status;
    for (size_t i = 0; i < 3 * faces; i++)
        if (source[i] < 0 || (size_t)source[i] >= vertices)
            return KP_ARGUMENT;
    w.encoder = &e;
    w.decoder = NULL;
    kp_encoder_start(&e, out, capacity);
    status = policy & 1u ? code_walked(&w, source, behind, own, done) : code_kept(&w, source);
    return status == KP_OK ? kp_encoder_finish(&e, size) : status;
}

int32_t kp_faces_decode(const uint8_t *data, size_t size, int32_t *out, size_t faces, size_t vertices, uint32_t policy,
                        uint32_t *words, uint64_t *keys, uint8_t *bytes)
{
    walker w;
    kp_decoder d;
    int32_t status = start(&w, faces, vertices, policy, out, words, keys, bytes);
    if (status != KP_OK)
        return status;
    w.encoder = NULL;
    w.decoder = &d;
    kp_decoder_start(&d, data, size);
    status = policy & 1u ? code_walked(&w, NULL, NULL, NULL, NULL) : code_kept(&w, NULL);
    return status == KP_OK ? kp_decoder_finish(&d) : status;
}
