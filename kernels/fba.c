/*
 * MPEG-4 face and body animation, predictive body mode: a whole bare stream of I and P frames.
 *
 * Parameters are numbered in group order, 0 .. count - 1; group_sizes tells the groups apart. A frame's values go
 * through a 16-bit arithmetic coder (Witten, Neal and Cleary, 1987) that starts afresh in every frame; after 22 zero
 * bits it stuffs a one. Counts live in Fenwick trees, so that a symbol costs O(log range).
 */
#include "include/kinepack_kernels.h"

#define TOP 65535u
#define QUARTER 16384u
#define HALF 32768u
#define THREE_QUARTERS 49152u
#define TOTAL_MAX 16383u
#define ZERO_RUN 22u
#define PRELOAD 16u
#define GIVEN_BACK 14u
#define BAPS_MAX 296
#define RANGES 4 /* I maximum, I minimum, P maximum, P minimum */

static const uint8_t SCALE[32] = {0,  1,  2,  3,  5,  7,  9,  11, 14, 17, 20, 23, 27, 31,  35,  39,
                                  43, 47, 52, 57, 62, 67, 72, 77, 82, 88, 94, 100, 106, 113, 120, 127};

/* ---- bits ----------------------------------------------------------------------------------------------------- */

typedef struct {
    uint8_t *out;
    size_t capacity_bits;
    size_t position;
    int32_t status;
} bit_writer;

static void put_bit(bit_writer *w, uint32_t bit)
{
    if (w->position >= w->capacity_bits) {
        w->status = KP_CAPACITY;
        return;
    }
    uint8_t *byte = w->out + (w->position >> 3);
    uint32_t shift = 7 - (uint32_t)(w->position & 7);
    if (shift == 7)
        *byte = 0;
    *byte = (uint8_t)(*byte | (bit << shift));
    w->position++;
}

static void put(bit_writer *w, uint32_t value, uint32_t width)
{
    while (width-- > 0)
        put_bit(w, (value >> width) & 1);
}

typedef struct {
    const uint8_t *data;
    size_t bits;
    size_t position; /* may pass the end: bits there read as zero */
} bit_reader;

static inline uint32_t bit_at(const bit_reader *r, size_t position)
{
    return position < r->bits ? (uint32_t)(r->data[position >> 3] >> (7 - (position & 7))) & 1 : 0;
}

static uint32_t get(bit_reader *r, uint32_t width)
{
    uint32_t value = 0;
    while (width-- > 0)
        value = value << 1 | bit_at(r, r->position++);
    return value;
}

static uint32_t peek(const bit_reader *r, uint32_t width)
{
    bit_reader ahead = *r;
    return get(&ahead, width);
}

/* ---- counts --------------------------------------------------------------------------------------------------- */

/* Node 0 is the total, nodes 1..size a Fenwick tree over the counts of symbols 0..size-1. */
static void start_counts(uint32_t *tree, uint32_t size)
{
    tree[0] = size;
    for (uint32_t i = 1; i <= size; i++)
        tree[i] = i & (0u - i);
}

static uint32_t sum_below(const uint32_t *tree, uint32_t symbol)
{
    uint32_t sum = 0;
    for (uint32_t i = symbol; i > 0; i &= i - 1)
        sum += tree[i];
    return sum;
}

static void halve(uint32_t *tree, uint32_t size)
{
    for (uint32_t i = size; i >= 1; i--) {
        uint32_t parent = i + (i & (0u - i));
        if (parent <= size)
            tree[parent] -= tree[i];
    }
    tree[0] = 0;
    for (uint32_t i = 1; i <= size; i++) {
        tree[i] = (tree[i] + 1) >> 1;
        tree[0] += tree[i];
    }
    for (uint32_t i = 1; i <= size; i++) {
        uint32_t parent = i + (i & (0u - i));
        if (parent <= size)
            tree[parent] += tree[i];
    }
}

static void learn(uint32_t *tree, uint32_t size, uint32_t symbol)
{
    if (tree[0] >= TOTAL_MAX)
        halve(tree, size);
    for (uint32_t i = symbol + 1; i <= size; i += i & (0u - i))
        tree[i]++;
    tree[0]++;
}

/* The symbol with sum_below(symbol) <= slot < sum_below(symbol + 1). */
static uint32_t find(const uint32_t *tree, uint32_t size, uint32_t slot, uint32_t *below)
{
    uint32_t position = 0, sum = 0;
    for (uint32_t step = 1u << (31 - __builtin_clz(size)); step > 0; step >>= 1) {
        uint32_t next = position + step;
        if (next <= size && sum + tree[next] <= slot) {
            position = next;
            sum += tree[next];
        }
    }
    *below = sum;
    return position;
}

/* ---- arithmetic coder ----------------------------------------------------------------------------------------- */

typedef struct {
    uint32_t low, high, opposite, zeros;
} coder;

static void put_stuffed(bit_writer *w, coder *c, uint32_t bit)
{
    put_bit(w, bit);
    c->zeros = bit ? 0 : c->zeros + 1;
    if (c->zeros == ZERO_RUN) {
        put_bit(w, 1);
        c->zeros = 0;
    }
}

static void put_followed(bit_writer *w, coder *c, uint32_t bit)
{
    put_stuffed(w, c, bit);
    for (; c->opposite > 0; c->opposite--)
        put_stuffed(w, c, !bit);
}

/* The table of cumulative counts descends: symbol s owns [total - sum_below(s + 1), total - sum_below(s)). */
static void narrow(coder *c, uint32_t from, uint32_t to, uint32_t total)
{
    uint32_t range = c->high - c->low + 1;
    c->high = c->low + range * to / total - 1;
    c->low = c->low + range * from / total;
}

static void encode_interval(bit_writer *w, coder *c, uint32_t from, uint32_t to, uint32_t total)
{
    narrow(c, from, to, total);
    for (;;) {
        if (c->high < HALF) {
            put_followed(w, c, 0);
        } else if (c->low >= HALF) {
            put_followed(w, c, 1);
            c->low -= HALF;
            c->high -= HALF;
        } else if (c->low >= QUARTER && c->high < THREE_QUARTERS) {
            c->opposite++;
            c->low -= QUARTER;
            c->high -= QUARTER;
        } else {
            return;
        }
        c->low = 2 * c->low;
        c->high = 2 * c->high + 1;
    }
}

static void flush(bit_writer *w, coder *c)
{
    c->opposite++;
    put_followed(w, c, c->low >= QUARTER);
}

typedef struct {
    bit_reader *reader;
    uint32_t low, high, value, zeros, at;
    size_t after[16]; /* stream position after each of the last 16 bits taken */
} decoder;

static inline uint32_t take(decoder *d)
{
    bit_reader *r = d->reader;
    uint32_t bit = bit_at(r, r->position++);
    d->zeros = bit ? 0 : d->zeros + 1;
    if (d->zeros == ZERO_RUN) {
        r->position++;
        d->zeros = 0;
    }
    d->after[d->at++ & 15] = r->position;
    return bit;
}

static void start_decoder(decoder *d, bit_reader *reader)
{
    d->reader = reader;
    d->low = d->value = d->zeros = d->at = 0;
    d->high = TOP;
    for (uint32_t i = 0; i < PRELOAD; i++)
        d->value = d->value << 1 | take(d);
}

static inline uint32_t decoder_slot(const decoder *d, uint32_t total)
{
    uint32_t range = d->high - d->low + 1;
    return ((d->value - d->low + 1) * total - 1) / range;
}

static void decoder_narrow(decoder *d, uint32_t from, uint32_t to, uint32_t total)
{
    uint32_t range = d->high - d->low + 1;
    d->high = d->low + range * to / total - 1;
    d->low = d->low + range * from / total;
    for (;;) {
        if (d->high >= HALF) {
            uint32_t less;
            if (d->low >= HALF)
                less = HALF;
            else if (d->low >= QUARTER && d->high < THREE_QUARTERS)
                less = QUARTER;
            else
                return;
            d->low -= less;
            d->high -= less;
            d->value -= less;
        }
        d->low = 2 * d->low;
        d->high = 2 * d->high + 1;
        d->value = 2 * d->value + take(d);
    }
}

/* Gives back the bits that were read ahead of the frame's end. */
static int32_t finish_decoder(decoder *d)
{
    d->reader->position = d->after[(d->at - 1 - GIVEN_BACK) & 15];
    return d->reader->position <= d->reader->bits ? KP_OK : KP_TRUNCATED;
}

/* ---- ranges and models ---------------------------------------------------------------------------------------- */

typedef struct {
    uint32_t count;
    uint32_t quant;
    uint8_t on[BAPS_MAX];
    int32_t k[RANGES][BAPS_MAX]; /* -1: not told yet */
    int32_t low[2][BAPS_MAX];    /* least level of I and P */
    uint32_t size[2][BAPS_MAX];
    uint32_t *tree[BAPS_MAX];
} model;

static int32_t start_models(model *m, uint32_t *scratch, size_t scratch_size)
{
    uint32_t scale = SCALE[m->quant];
    size_t used = 0;
    if (scale == 0)
        return KP_CORRUPT; /* "no quantiser" has no ranges */
    for (uint32_t i = 0; i < m->count; i++) {
        if (!m->on[i])
            continue;
        for (uint32_t kind = 0; kind < 2; kind++) {
            int32_t most = m->k[2 * kind][i], least = m->k[2 * kind + 1][i];
            if (most < 0 || least < 0)
                return KP_CORRUPT;
            m->low[kind][i] = -(int32_t)((uint32_t)least * 60 / scale);
            m->size[kind][i] = (uint32_t)most * 60 / scale + (uint32_t)least * 60 / scale + 1;
        }
        if (scratch_size - used < m->size[1][i] + 1)
            return KP_CAPACITY;
        m->tree[i] = scratch + used;
        used += m->size[1][i] + 1;
        start_counts(m->tree[i], m->size[1][i]);
    }
    return KP_OK;
}

/* ---- encoder -------------------------------------------------------------------------------------------------- */

static void put_intra_header(bit_writer *w, const model *m, const uint8_t *group_sizes, uint32_t groups)
{
    uint32_t i = 0;
    put(w, m->quant, 5);
    for (uint32_t g = 0; g < groups; i += group_sizes[g++]) {
        uint32_t on = 0;
        for (uint32_t p = 0; p < group_sizes[g]; p++)
            on += m->on[i + p];
        put(w, 1, 1);
        put(w, on == 0 ? 0 : on == group_sizes[g] ? 3 : 1, 2);
        if (on > 0 && on < group_sizes[g])
            for (uint32_t p = 0; p < group_sizes[g]; p++)
                put(w, m->on[i + p], 1);
    }
    put(w, 0, 2);  /* suggested gender, predictive coding */
    put(w, 15, 4); /* all four ranges are told */
    for (uint32_t range = 0; range < RANGES; range++) {
        i = 0;
        for (uint32_t g = 0; g < groups; i += group_sizes[g++]) {
            for (uint32_t p = 0; p < group_sizes[g]; p++) {
                if (p % 4 == 0)
                    put(w, 1, 1);
                if (m->on[i + p])
                    put(w, (uint32_t)m->k[range][i + p], 5);
            }
        }
    }
}

static int32_t put_values(bit_writer *w, model *m, const int32_t *levels, uint32_t kind)
{
    coder c = {0, TOP, 0, 0};
    for (uint32_t i = 0; i < m->count; i++) {
        if (!m->on[i])
            continue;
        uint32_t size = m->size[kind][i], symbol = (uint32_t)(*levels++ - m->low[kind][i]);
        if (symbol >= size)
            return KP_ARGUMENT;
        if (kind == 0) {
            encode_interval(w, &c, size - symbol - 1, size - symbol, size);
        } else {
            uint32_t *tree = m->tree[i], total = tree[0];
            encode_interval(w, &c, total - sum_below(tree, symbol + 1), total - sum_below(tree, symbol), total);
            learn(tree, size, symbol);
        }
    }
    flush(w, &c);
    return KP_OK;
}

static int32_t load_model(model *m, size_t count, const uint8_t *on, const int32_t *ranges, uint32_t quant)
{
    if (count > BAPS_MAX || quant > 31)
        return KP_ARGUMENT;
    m->count = (uint32_t)count;
    m->quant = quant;
    for (size_t i = 0; i < count; i++) {
        m->on[i] = on[i] != 0;
        for (uint32_t range = 0; range < RANGES; range++) {
            m->k[range][i] = ranges[range * count + i];
            if (m->k[range][i] < 0 || m->k[range][i] > 31)
                return KP_ARGUMENT;
        }
    }
    return KP_OK;
}

int32_t kp_fba_encode(const int32_t *levels, const uint8_t *intra, size_t frames, const uint8_t *on,
                      const int32_t *ranges, size_t count, const uint8_t *group_sizes, uint32_t groups, uint32_t quant,
                      uint32_t sixteenths, uint32_t *scratch, size_t scratch_size, uint8_t *out, size_t capacity,
                      size_t *size)
{
    model m;
    bit_writer w = {out, capacity * 8, 0, KP_OK};
    int32_t status = load_model(&m, count, on, ranges, quant);
    size_t width = 0;
    if (status != KP_OK || (frames > 0 && !intra[0]))
        return KP_ARGUMENT;
    for (uint32_t i = 0; i < m.count; i++)
        width += m.on[i];
    put(&w, 0x000001BAu, 32);
    for (size_t f = 0; f < frames && w.status == KP_OK; f++) {
        put(&w, intra[f] ? 1 : 0, 1);
        put(&w, 2, 2);
        if (intra[f]) {
            put(&w, sixteenths ? 1 : 0, 1);
            if (sixteenths) {
                put(&w, sixteenths >> 4, 8);
                put(&w, (sixteenths & 15) << 1, 5);
            }
            put(&w, 0, 1);
        }
        put(&w, 0, 1);
        if (intra[f]) {
            put_intra_header(&w, &m, group_sizes, groups);
            status = start_models(&m, scratch, scratch_size);
            if (status != KP_OK)
                return KP_ARGUMENT;
        }
        status = put_values(&w, &m, levels + f * width, intra[f] ? 0 : 1);
        if (status != KP_OK)
            return status;
    }
    while (w.position & 7 && w.status == KP_OK)
        put_bit(&w, 0);
    put(&w, 0x000001B1u, 32);
    *size = w.position >> 3;
    return w.status;
}

/* ---- decoder -------------------------------------------------------------------------------------------------- */

static int32_t get_intra_header(bit_reader *r, model *m, const uint8_t *group_sizes, uint32_t groups)
{
    uint32_t i = 0, told;
    m->quant = get(r, 5);
    for (uint32_t g = 0; g < groups; i += group_sizes[g++]) {
        uint32_t marker = get(r, 1), type = get(r, 2);
        if (!marker || type == 2)
            return KP_CORRUPT;
        for (uint32_t p = 0; p < group_sizes[g]; p++)
            m->on[i + p] = type == 1 ? (uint8_t)get(r, 1) : type == 3;
    }
    get(r, 1);
    if (get(r, 1))
        return KP_CORRUPT; /* DCT coding */
    told = get(r, 4);
    for (uint32_t range = 0; range < RANGES; range++) {
        if (!(told >> (3 - range) & 1))
            continue;
        i = 0;
        for (uint32_t g = 0; g < groups; i += group_sizes[g++]) {
            for (uint32_t p = 0; p < group_sizes[g]; p++) {
                if (p % 4 == 0 && !get(r, 1))
                    return KP_CORRUPT;
                if (m->on[i + p])
                    m->k[range][i + p] = (int32_t)get(r, 5);
            }
        }
    }
    return r->position <= r->bits ? KP_OK : KP_TRUNCATED;
}

static int32_t get_values(bit_reader *r, model *m, uint32_t kind, const int32_t *steps, const int32_t *columns,
                          int32_t *row)
{
    decoder d;
    uint32_t scale = SCALE[m->quant];
    start_decoder(&d, r);
    for (uint32_t i = 0; i < m->count; i++) {
        if (!m->on[i])
            continue;
        uint32_t size = m->size[kind][i], symbol, below;
        if (kind == 0) {
            symbol = size - 1 - decoder_slot(&d, size);
            decoder_narrow(&d, size - symbol - 1, size - symbol, size);
        } else {
            uint32_t *tree = m->tree[i], total = tree[0];
            symbol = find(tree, size, total - 1 - decoder_slot(&d, total), &below);
            decoder_narrow(&d, total - sum_below(tree, symbol + 1), total - below, total);
            learn(tree, size, symbol);
        }
        int32_t column = columns[i];
        if (column >= 0) {
            uint32_t value = (uint32_t)((int32_t)symbol + m->low[kind][i]) * (uint32_t)steps[i] * scale;
            row[column] = (int32_t)(kind == 0 ? value : (uint32_t)row[column] + value);
        }
    }
    return finish_decoder(&d);
}

static int32_t get_frame_header(bit_reader *r, uint32_t *intra, uint32_t *skipped, uint32_t *sixteenths)
{
    if (peek(r, 32) == 0x000001BBu)
        get(r, 32);
    *intra = get(r, 1);
    if (get(r, 2) != 2)
        return KP_CORRUPT;
    if (*intra) {
        if (get(r, 1)) {
            uint32_t whole = get(r, 8);
            *sixteenths = whole << 4 | get(r, 4);
            get(r, 1);
        }
        if (get(r, 1))
            get(r, 18);
    }
    *skipped = 0;
    if (get(r, 1)) {
        uint32_t part;
        do {
            part = get(r, 4);
            *skipped += part;
        } while (part == 15 && r->position <= r->bits);
    }
    return r->position <= r->bits ? KP_OK : KP_TRUNCATED;
}

static void copy_row(int32_t *values, size_t row, size_t width)
{
    for (size_t c = 0; c < width; c++)
        values[row * width + c] = row ? values[(row - 1) * width + c] : 0;
}

int32_t kp_fba_decode(const uint8_t *data, size_t size, size_t count, const uint8_t *group_sizes, uint32_t groups,
                      const int32_t *steps, const int32_t *columns, size_t width, uint32_t *scratch,
                      size_t scratch_size, int32_t *values, size_t capacity, size_t *frames, uint8_t *used,
                      uint32_t *sixteenths)
{
    model m;
    bit_reader r = {data, size * 8, 0};
    size_t row = 0;
    if (count > BAPS_MAX)
        return KP_ARGUMENT;
    m.count = (uint32_t)count;
    for (size_t i = 0; i < count; i++) {
        used[i] = 0;
        for (uint32_t range = 0; range < RANGES; range++)
            m.k[range][i] = -1;
    }
    *sixteenths = 0;
    if (get(&r, 32) != 0x000001BAu)
        return size < 4 ? KP_TRUNCATED : KP_CORRUPT;
    while (peek(&r, 3) != 0 || peek(&r, 32) == 0x000001BBu) {
        uint32_t intra, skipped;
        int32_t status = get_frame_header(&r, &intra, &skipped, sixteenths);
        if (status != KP_OK)
            return status;
        if (!intra && row == 0)
            return KP_CORRUPT;
        for (; skipped > 0 && row < capacity; skipped--)
            copy_row(values, row++, width);
        if (row >= capacity)
            return KP_CAPACITY;
        copy_row(values, row, width);
        if (intra) {
            status = get_intra_header(&r, &m, group_sizes, groups);
            if (status == KP_OK)
                status = start_models(&m, scratch, scratch_size);
            if (status != KP_OK)
                return status;
            for (size_t i = 0; i < count; i++)
                used[i] |= m.on[i];
        }
        status = get_values(&r, &m, intra ? 0 : 1, steps, columns, values + row * width);
        if (status != KP_OK)
            return status;
        row++;
    }
    r.position = (r.position + 7) & ~(size_t)7;
    if (r.position + 32 > r.bits)
        return KP_TRUNCATED;
    *frames = row;
    return get(&r, 32) == 0x000001B1u ? KP_OK : KP_CORRUPT;
}
