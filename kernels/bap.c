/*
 * Body animation by table look-up (Chattopadhyay, Bhandarkar and Li): decoders of the `mpeg4-float`, `bap-indexing`
 * and `sparse-indexing` segments, and the row loop of their encoder.
 *
 * Poses are single floats that accumulate frame by frame, so that encoder and decoder drift together.
 */
#include "include/kinepack_kernels.h"

#define MODE_STILL 0
#define MODE_DENSE 1
#define MODE_SPARSE 2

static inline uint32_t load_u32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline float as_float(uint32_t bits)
{
    float value;
    __builtin_memcpy(&value, &bits, 4);
    return value;
}

static inline float load_float(const uint8_t *p)
{
    return as_float(load_u32(p));
}

/* IEEE half to single: exact. */
static float load_half(const uint8_t *p)
{
    uint32_t half = (uint32_t)p[0] | (uint32_t)p[1] << 8;
    uint32_t sign = (half & 0x8000u) << 16, exponent = half >> 10 & 31, fraction = half & 1023;
    if (exponent == 31)
        return as_float(sign | 0x7F800000u | fraction << 13);
    if (exponent == 0) {
        float tiny = (float)fraction * (1.0f / 16777216.0f);
        return sign ? -tiny : tiny;
    }
    return as_float(sign | (exponent + 112) << 23 | fraction << 13);
}

/* ---- float differences ---------------------------------------------------------------------------------------- */

/* Floats in order as integers, so that neighbours differ by one; both zeros are 0. */
static int64_t order_of(float value)
{
    uint32_t bits;
    __builtin_memcpy(&bits, &value, 4);
    int64_t magnitude = bits & 0x7FFFFFFFu;
    return bits >> 31 ? -magnitude : magnitude;
}

static float float_at(int64_t order)
{
    return order < 0 ? as_float(0x80000000u | (uint32_t)-order) : as_float((uint32_t)order);
}

/* Reads a varint of at most 63 bits; NULL where there is none. */
static const uint8_t *read_varint(const uint8_t *p, const uint8_t *end, uint64_t *value)
{
    *value = 0;
    for (uint32_t shift = 0; p < end && shift < 63; shift += 7) {
        uint8_t byte = *p++;
        *value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return p;
    }
    return NULL;
}

/* Sums that rounding spoilt: values between the last one and this, and how many floats it is off, zigzag. */
typedef struct {
    const uint8_t *p, *end;
    uint64_t next;
    int64_t off;
} repairs;

static int32_t next_repair(repairs *r, uint64_t from)
{
    uint64_t gap, folded;
    r->next = UINT64_MAX;
    if (r->p == r->end)
        return KP_OK;
    r->p = read_varint(r->p, r->end, &gap);
    if (r->p)
        r->p = read_varint(r->p, r->end, &folded);
    if (!r->p || folded >> 33)
        return KP_CORRUPT;
    r->next = from + gap;
    r->off = (int64_t)(folded >> 1) ^ -(int64_t)(folded & 1);
    return KP_OK;
}

int32_t kp_float_frames_decode(const uint8_t *data, size_t size, size_t frames, size_t width, uint16_t *symbols,
                               uint32_t *tables, float *out)
{
    if (frames == 0 || width == 0)
        return KP_ARGUMENT;
    if (size < 4 || (size - 4) / 4 < width || size - 4 - 4 * width < load_u32(data))
        return KP_TRUNCATED;
    size_t count = (frames - 1) * width;
    const uint8_t *pose = data + 4, *coded = pose + 4 * width + load_u32(data);
    repairs r = {pose + 4 * width, coded, 0, 0};
    int32_t status = kp_decode_symbols(coded, size - (size_t)(coded - data), symbols, 4 * count, NULL, 1, 256, 32,
                                       65536, tables);
    if (status == KP_OK)
        status = next_repair(&r, 0);
    if (status != KP_OK)
        return status;
    for (size_t c = 0; c < width; c++)
        out[c] = load_float(pose + 4 * c);
    for (size_t i = 0; i < count; i++) {
        const uint16_t *s = symbols + 4 * i;
        uint32_t bits = (uint32_t)s[0] | (uint32_t)s[1] << 8 | (uint32_t)s[2] << 16 | (uint32_t)s[3] << 24;
        out[width + i] = out[i] + as_float(bits);
        if (i == r.next) {
            int64_t order = order_of(out[width + i]) + r.off;
            if (order > 0x7F800000 || order < -0x7F800000)
                return KP_CORRUPT;
            out[width + i] = float_at(order);
            status = next_repair(&r, i + 1);
            if (status != KP_OK)
                return status;
        }
    }
    return r.next == UINT64_MAX ? KP_OK : KP_CORRUPT;
}

/* ---- indices -------------------------------------------------------------------------------------------------- */

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static void add_floats(const uint8_t *data, size_t count, const float *before, float *after)
{
    for (size_t c = 0; c < count; c++)
        after[c] = before[c] + load_float(data + 4 * c);
}

int32_t kp_indexed_decode(const uint8_t *data, size_t size, size_t rows, size_t width, size_t fdf, uint32_t bits,
                          size_t rows_per_table, float *table, float *out)
{
    if (bits < 1 || bits > 16 || fdf > width || rows_per_table == 0)
        return KP_ARGUMENT;
    const uint8_t *p = data, *end = data + size;
    size_t buckets = (size_t)1 << bits, wide = bits > 8, row_bytes = 4 * fdf + (width - fdf) * (1 + wide);
    if (size / 4 < width)
        return KP_TRUNCATED;
    for (size_t c = 0; c < width; c++, p += 4)
        out[c] = load_float(p);
    for (size_t first = 0; first < rows; first += rows_per_table) {
        size_t last = smaller(rows - first, rows_per_table) + first;
        if ((size_t)(end - p) < 4 * buckets || ((size_t)(end - p) - 4 * buckets) / (row_bytes ? row_bytes : 1) < last - first)
            return KP_TRUNCATED;
        for (size_t i = 0; i < buckets; i++, p += 4)
            table[i] = load_float(p);
        for (size_t r = first; r < last; r++, p += row_bytes) {
            const float *before = out + r * width;
            float *after = out + (r + 1) * width;
            const uint8_t *index = p + 4 * fdf;
            add_floats(p, fdf, before, after);
            if (!wide) {
                for (size_t c = fdf; c < width; c++)
                    after[c] = before[c] + table[*index++ & (buckets - 1)];
            } else {
                for (size_t c = fdf; c < width; c++, index += 2)
                    after[c] = before[c] + table[(index[0] | index[1] << 8) & (buckets - 1)];
            }
        }
    }
    return p == end ? KP_OK : KP_CORRUPT;
}

/* Columns of one table's rows, by what is stored for them. */
typedef struct {
    size_t dense, sparse;
    uint32_t *dense_columns, *sparse_columns;
} column_modes;

static int32_t read_modes(const uint8_t *modes, size_t fdf, size_t width, column_modes *m)
{
    m->dense = m->sparse = 0;
    for (size_t c = fdf; c < width; c++) {
        uint32_t mode = modes[(c - fdf) / 4] >> 2 * ((c - fdf) % 4) & 3;
        if (mode == MODE_DENSE)
            m->dense_columns[m->dense++] = (uint32_t)c;
        else if (mode == MODE_SPARSE)
            m->sparse_columns[m->sparse++] = (uint32_t)c;
        else if (mode != MODE_STILL)
            return KP_CORRUPT;
    }
    return KP_OK;
}

static inline const uint8_t *add_entry(const uint8_t *p, uint32_t wide, uint32_t mask, const float *table, float *value)
{
    uint32_t index = wide ? p[0] | (uint32_t)p[1] << 8 : p[0];
    *value += table[index & mask];
    return p + 1 + wide;
}

/* Flags of all rows of a stretch, least significant bit first, without gaps. */
typedef struct {
    const uint8_t *bytes;
    size_t size, at;
} flag_bits;

/* The next count <= 8 flags. */
static inline uint32_t take_flags(flag_bits *f, size_t count)
{
    size_t byte = f->at >> 3, shift = f->at & 7;
    uint32_t pair = f->bytes[byte] | (byte + 1 < f->size ? (uint32_t)f->bytes[byte + 1] << 8 : 0);
    f->at += count;
    return pair >> shift & ((1u << count) - 1);
}

/* One row: floats, indices of dense columns, indices of those sparse columns whose flag is set. */
static const uint8_t *sparse_row(const uint8_t *p, const uint8_t *end, size_t fdf, const column_modes *m,
                                 flag_bits *flags, uint32_t bits, const float *table, float *row)
{
    uint32_t wide = bits > 8, mask = (1u << bits) - 1;
    if ((size_t)(end - p) < 4 * fdf + m->dense * (1 + wide))
        return NULL;
    for (size_t c = 0; c < fdf; c++, p += 4)
        row[c] += load_float(p);
    for (size_t i = 0; i < m->dense; i++)
        p = add_entry(p, wide, mask, table, row + m->dense_columns[i]);
    for (size_t i = 0; i < m->sparse; i += 8) {
        for (uint32_t set = take_flags(flags, smaller(m->sparse - i, 8)); set != 0; set &= set - 1) {
            if ((size_t)(end - p) < 1 + wide)
                return NULL;
            p = add_entry(p, wide, mask, table, row + m->sparse_columns[i + (size_t)__builtin_ctz(set)]);
        }
    }
    return p;
}

int32_t kp_sparse_indexed_decode(const uint8_t *data, size_t size, size_t rows, size_t width, size_t fdf, uint32_t bits,
                                 size_t rows_per_table, uint32_t half, float *table, uint32_t *columns, float *out)
{
    if (bits < 1 || bits > 16 || fdf > width || rows_per_table == 0)
        return KP_ARGUMENT;
    const uint8_t *p = data, *end = data + size;
    size_t buckets = (size_t)1 << bits, entry = half ? 2 : 4, mode_bytes = (width - fdf + 3) / 4;
    column_modes m = {0, 0, columns, columns + width};
    if (size / 4 < width)
        return KP_TRUNCATED;
    for (size_t c = 0; c < width; c++, p += 4)
        out[c] = load_float(p);
    for (size_t first = 0; first < rows; first += rows_per_table) {
        size_t last = smaller(rows - first, rows_per_table) + first;
        if ((size_t)(end - p) < entry * buckets + mode_bytes)
            return KP_TRUNCATED;
        for (size_t i = 0; i < buckets; i++, p += entry)
            table[i] = half ? load_half(p) : load_float(p);
        int32_t status = read_modes(p, fdf, width, &m);
        if (status != KP_OK)
            return status;
        p += mode_bytes;
        flag_bits flags = {p, 0, 0};
        flags.size = ((last - first) * m.sparse + 7) / 8;
        if ((size_t)(end - p) < flags.size)
            return KP_TRUNCATED;
        p += flags.size;
        for (size_t r = first; r < last; r++) {
            float *row = out + (r + 1) * width;
            for (size_t c = 0; c < width; c++)
                row[c] = row[c - width];
            p = sparse_row(p, end, fdf, &m, &flags, bits, table, row);
            if (!p)
                return KP_CORRUPT;
        }
    }
    return p == end ? KP_OK : KP_CORRUPT;
}

/* ---- encoder's rows ------------------------------------------------------------------------------------------- */

static inline double size_of(double value)
{
    return value < 0 ? -value : value;
}

/* Number of edges below the value, by halving. */
static size_t bucket_of(const double *edges, size_t buckets, double value)
{
    size_t low = 0, high = buckets - 1;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (edges[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int32_t kp_bucket_sums(const double *numbers, size_t rows, size_t width, const int32_t *levels, size_t level_count,
                       const double *edges, size_t buckets, double *sums, double *counts)
{
    if (buckets < 1 || buckets > 65536)
        return KP_ARGUMENT;
    for (size_t i = 0; i < level_count * buckets; i++)
        sums[i] = counts[i] = 0;
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0; c < width; c++) {
            if (levels[c] < 0 || (size_t)levels[c] >= level_count)
                return KP_ARGUMENT;
            size_t at = (size_t)levels[c] * buckets + bucket_of(edges, buckets, numbers[r * width + c]);
            sums[at] += numbers[r * width + c];
            counts[at] += 1;
        }
    }
    return KP_OK;
}

int32_t kp_index_rows(const double *x, size_t rows, size_t width, size_t fdf, const double *edges, const float *table,
                      size_t buckets, const double *mean, const double *threshold, uint32_t closed, double *carry,
                      float *deltas, uint16_t *indices, uint8_t *released, float *out)
{
    if (buckets < 1 || buckets > 65536 || fdf > width)
        return KP_ARGUMENT;
    for (size_t r = 0; r < rows; r++) {
        const double *target = x + (r + 1) * width, *source = x + r * width;
        const float *before = out + r * width;
        float *after = out + (r + 1) * width;
        for (size_t c = 0; c < width; c++) {
            double step = closed ? target[c] - (double)before[c] : target[c] - source[c];
            if (c < fdf) {
                deltas[r * fdf + c] = (float)step;
                after[c] = before[c] + (float)step;
                continue;
            }
            size_t at = r * (width - fdf) + c - fdf;
            double rest = closed ? step : carry[c] + step;
            size_t index = bucket_of(edges, buckets, rest);
            released[at] = size_of(rest - mean[c]) > threshold[c];
            if (closed && threshold[c] >= 0) /* a release that brings the decoder no nearer is left out */
                released[at] &= size_of(rest - (double)table[index]) < size_of(rest);
            indices[at] = released[at] ? (uint16_t)index : 0;
            after[c] = released[at] ? before[c] + table[index] : before[c];
            rest = released[at] ? 0 : rest;
            carry[c] = rest;
        }
    }
    return KP_OK;
}
