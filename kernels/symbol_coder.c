/*
 * Adaptive order-0 coder for alphabets of up to 32768 symbols, one frequency model per context.
 *
 * A model is a Fenwick tree, so that coding and learning a symbol both take O(log alphabet): node i (1-based) holds
 * the sum of the (i & -i) frequencies that end at symbol i - 1. Node 0 holds the total.
 */
#include "range_coder.h"

#define KP_ALPHABET_MAX 32768u
#define KP_TOTAL_MAX 65536u
#define KP_INCREMENT_MAX 4096u

typedef struct {
    uint32_t alphabet;
    uint32_t top; /* largest power of two not above alphabet */
    uint32_t increment;
    uint32_t limit;
} kp_symbol_model;

static int32_t start_model(kp_symbol_model *m, uint32_t alphabet, uint32_t increment, uint32_t limit)
{
    if (alphabet < 1 || alphabet > KP_ALPHABET_MAX || increment < 1 || increment > KP_INCREMENT_MAX)
        return KP_ARGUMENT;
    if (limit < 2 * alphabet || limit > KP_TOTAL_MAX)
        return KP_ARGUMENT;
    m->alphabet = alphabet;
    m->increment = increment;
    m->limit = limit;
    m->top = 1u << (31 - __builtin_clz(alphabet));
    return KP_OK;
}

static inline uint32_t low_bit(uint32_t i)
{
    return i & (0u - i);
}

/* Turns plain frequencies in nodes 1..alphabet into the tree. */
static void build_tree(uint32_t *tree, uint32_t alphabet)
{
    uint32_t total = 0;
    for (uint32_t i = 1; i <= alphabet; i++)
        total += tree[i];
    for (uint32_t i = 1; i <= alphabet; i++) {
        uint32_t parent = i + low_bit(i);
        if (parent <= alphabet)
            tree[parent] += tree[i];
    }
    tree[0] = total;
}

static void unbuild_tree(uint32_t *tree, uint32_t alphabet)
{
    for (uint32_t i = alphabet; i >= 1; i--) {
        uint32_t parent = i + low_bit(i);
        if (parent <= alphabet)
            tree[parent] -= tree[i];
    }
}

static void start_tables(const kp_symbol_model *m, uint32_t *tables, size_t context_count)
{
    for (size_t c = 0; c < context_count; c++) {
        uint32_t *tree = tables + c * (m->alphabet + 1);
        for (uint32_t i = 1; i <= m->alphabet; i++)
            tree[i] = 1;
        build_tree(tree, m->alphabet);
    }
}

static uint32_t prefix_sum(const uint32_t *tree, uint32_t symbol)
{
    uint32_t sum = 0;
    for (uint32_t i = symbol; i > 0; i -= low_bit(i))
        sum += tree[i];
    return sum;
}

/* The symbol whose interval holds `slot`; *start receives where the interval begins. */
static uint32_t find_symbol(const kp_symbol_model *m, const uint32_t *tree, uint32_t slot, uint32_t *start)
{
    uint32_t position = 0, sum = 0;
    for (uint32_t step = m->top; step > 0; step >>= 1) {
        uint32_t next = position + step;
        if (next <= m->alphabet && sum + tree[next] <= slot) {
            position = next;
            sum += tree[next];
        }
    }
    *start = sum;
    return position;
}

static void learn(const kp_symbol_model *m, uint32_t *tree, uint32_t symbol)
{
    for (uint32_t i = symbol + 1; i <= m->alphabet; i += low_bit(i))
        tree[i] += m->increment;
    tree[0] += m->increment;
    while (tree[0] > m->limit) {
        unbuild_tree(tree, m->alphabet);
        for (uint32_t i = 1; i <= m->alphabet; i++)
            tree[i] = (tree[i] + 1) >> 1;
        build_tree(tree, m->alphabet);
    }
}

static uint32_t *table_of(const kp_symbol_model *m, uint32_t *tables, const int32_t *contexts, size_t context_count,
                          size_t index)
{
    int32_t context = contexts ? contexts[index] : 0;
    if (context < 0 || (size_t)context >= context_count)
        return NULL;
    return tables + (size_t)context * (m->alphabet + 1);
}

int32_t kp_encode_symbols(const uint16_t *symbols, size_t count, const int32_t *contexts, size_t context_count,
                          uint32_t alphabet, uint32_t increment, uint32_t limit, uint32_t *tables, uint8_t *out,
                          size_t capacity, size_t *size)
{
    kp_symbol_model m;
    kp_encoder e;
    int32_t status = start_model(&m, alphabet, increment, limit);
    if (status != KP_OK)
        return status;
    start_tables(&m, tables, context_count);
    kp_encoder_start(&e, out, capacity);
    for (size_t i = 0; i < count && e.status == KP_OK; i++) {
        uint32_t *tree = table_of(&m, tables, contexts, context_count, i);
        uint32_t symbol = symbols[i];
        if (!tree || symbol >= alphabet)
            return KP_ARGUMENT;
        uint32_t start = prefix_sum(tree, symbol);
        kp_encode_interval(&e, start, prefix_sum(tree, symbol + 1) - start, tree[0]);
        learn(&m, tree, symbol);
    }
    return e.status == KP_OK ? kp_encoder_finish(&e, size) : e.status;
}

int32_t kp_decode_symbols(const uint8_t *data, size_t size, uint16_t *symbols, size_t count, const int32_t *contexts,
                          size_t context_count, uint32_t alphabet, uint32_t increment, uint32_t limit,
                          uint32_t *tables)
{
    kp_symbol_model m;
    kp_decoder d;
    int32_t status = start_model(&m, alphabet, increment, limit);
    if (status != KP_OK)
        return status;
    start_tables(&m, tables, context_count);
    kp_decoder_start(&d, data, size);
    for (size_t i = 0; i < count && d.status == KP_OK; i++) {
        uint32_t *tree = table_of(&m, tables, contexts, context_count, i);
        if (!tree)
            return KP_ARGUMENT;
        uint32_t start, step = d.range / tree[0];
        uint32_t symbol = find_symbol(&m, tree, kp_decoder_slot(&d, step, tree[0]), &start);
        kp_decoder_narrow(&d, step * start, step * (prefix_sum(tree, symbol + 1) - start));
        learn(&m, tree, symbol);
        symbols[i] = (uint16_t)symbol;
    }
    return kp_decoder_finish(&d);
}
