/*
 * Lossless mode of the `kine` codec: whole numbers on the grid of each channel's decimals.
 *
 * Least-squares predictors of a channel learn as they go: normal equations in integers with exponential forgetting,
 * solved by Cholesky's factor (streams of version 3: by a few Gauss-Seidel sweeps). Each is a place and two spreads of
 * a distribution; their mixture gives the probability of every binary decision. What is known of a rig before (laws by
 * which its solver made some channels from others) comes from a trained table.
 */
#include "kine_number_experts.h"
#include "kine_number_noise.h"

static void look_ahead(number_coder *c, number_channel *own, size_t at)
{
    for (uint32_t i = 0; i < c->experts; i++) {
        look(own, at, c->outlooks + i, own->experts[i].features);
        predict(own->experts + i, own, c->prior ? SOLVED_BITS : SWEPT_BITS);
    }
    mix(c, own);
}

static void learn(number_coder *c, number_channel *own, int64_t value, int64_t move)
{
    for (uint32_t i = 0; i < c->experts; i++) {
        expert *e = own->experts + i;
        int64_t noise = normalised(own->spreads[2 * i + 1] >> 4, own->scale, MOST_MOVE);
        if (c->prior) {
            int64_t a = own->credits[2 * i], b = own->credits[2 * i + 1];
            noise += normalised(size_of(value - e->guess), own->scale, MOST_MOVE) / 2;
            learn_solving(c, e, c->outlooks + i, move, noise, own->seen, a > b ? a : b);
        } else {
            learn_sweeping(e, c->outlooks + i, move, noise, own->seen);
        }
    }
}

static void remember(number_channel *own, int64_t value, int64_t move)
{
    own->seen++;
    for (uint32_t i = HISTORY - 1; i > 0; i--)
        own->moves[i] = own->moves[i - 1];
    own->moves[0] = move;
    own->place_before = own->place;
    own->place = normalised(value - own->first, own->scale, MOST_PLACE);
    own->angle = own->decimals <= LAW_DECIMALS ? angle_of(value, own->decimals) : 0;
    own->last = value;
}

static int32_t code_number(number_coder *c, number_channel *all, size_t at, int64_t *value)
{
    number_channel *own = all + at;
    int64_t rank = c->decoder ? 0 : rank_of(*value, own->digits), move = 0;
    if (!c->decoder && (size_of(*value) > LARGEST || value_of(rank, own->digits) != *value))
        return KP_ARGUMENT;
    if (own->ruled.terms)
        obey(c, own);
    if (own->seen) {
        look_ahead(c, own, at);
        rank = code_rank(c, own->digits, rank);
    } else {
        rank = code_first(c, rank);
    }
    if (size_of(rank) > rank_of(LARGEST, own->digits))
        return KP_CORRUPT;
    *value = value_of(rank, own->digits);
    if (own->seen) {
        move = normalised(*value - own->last, own->scale, MOST_MOVE);
        judge(c, own, *value);
        learn(c, own, *value, move);
    } else {
        own->first = *value;
    }
    remember(own, *value, move);
    return KP_OK;
}

/* Eight-byte words that a segment needs. */
uint32_t kp_kine_numbers_room(const uint8_t *digits, size_t channels)
{
    uint64_t words = ((uint64_t)channels * sizeof(number_channel) + 7) / 8 + (KP_SOLVE_ROOM + 1) / 2;
    size_t at = 0;
    for (size_t c = 0; c < channels; c++) {
        if (digits[c] >= DYADIC) {
            words += (DYADIC_STATES + 1) / 2;
            continue;
        }
        for (uint32_t i = 0; i < EXPERTS; i++) {
            size_t n = order_of(solved + i, at, 1);
            words += n * (n + 2);
        }
        at++;
    }
    return words < UINT32_MAX ? (uint32_t)words : UINT32_MAX;
}

static void start_usual(expert *e)
{
    int64_t *row = e->normal;
    for (uint32_t j = 0; j < HISTORY; j++) {
        for (uint32_t i = j; i < HISTORY; i++)
            *row++ = USUAL * usual[i - j];
        *row++ = USUAL * usual[j + 1];
    }
    e->energy = USUAL * usual[0];
}

static int64_t *start_experts(const number_coder *c, number_channel *own, size_t at, int64_t *room)
{
    for (uint32_t i = 0; i < c->experts; i++) {
        expert *e = own->experts + i;
        size_t n = e->order = order_of(c->outlooks + i, at, own->ruled.terms);
        e->weights = room;
        e->target = room + n;
        e->normal = room + (c->prior ? n : 2 * n);
        e->energy = 0;
        room += n * (n + 2);
        for (size_t j = 0; j < n * (n + 2); j++)
            e->weights[j] = 0;
        if (c->prior && i == 0)
            start_usual(e);
        for (size_t j = 0; j < n && !c->prior; j++)
            e->normal[j * (n + 1)] = RIDGE;
    }
    return room;
}

static int64_t *start_channel(const number_coder *c, number_channel *own, size_t at, int64_t *room)
{
    for (uint32_t i = 0; i < SPREADS; i++) {
        own->spreads[i] = (int64_t)16 << own->scale;
        own->credits[i] = 0;
    }
    for (uint32_t i = 0; i < HISTORY; i++)
        own->moves[i] = 0;
    own->last = own->first = own->place = own->place_before = own->angle = own->told = own->told_by = 0;
    return start_experts(c, own, at, room);
}

static uint32_t state_of(const uint8_t *prior, uint32_t which)
{
    if (!prior)
        return 1u << 31;
    return (uint32_t)prior[2 * which] << 16 | (uint32_t)prior[2 * which + 1] << 24 | prior[2 * PRIOR_STATES + which];
}

/* Gives a channel its law if those that it needs come earlier and are predicted. */
static void find_law(const number_coder *c, number_channel *own, uint32_t role)
{
    own->ruled.terms = 0;
    if (role >= ROLES || own->decimals > LAW_DECIMALS)
        return;
    const uint8_t *p = c->prior + 3 * PRIOR_STATES;
    for (uint32_t count = *p++; count > 0; count--) {
        law l = {p[1], p[2], 0, p + 4, p + 4 + p[1]};
        uint32_t found = p[0] == role;
        l.terms = p[3];
        for (uint32_t i = 0; i < l.inputs; i++)
            found = found && c->players[l.roles[i]];
        if (found)
            own->ruled = l;
        p = l.weights + (size_t)4 * l.terms;
    }
}

/* Channels with predictors stand first in `all`, the others at its end, backwards. */
static int32_t start(number_coder *c, number_channel *all, size_t channels, const number_model *model, int64_t *room)
{
    size_t at = 0, from_end = channels;
    for (uint32_t i = 0; i < DECISIONS * (1 + EXPERTS); i++)
        c->weights[i / (1 + EXPERTS)][i % (1 + EXPERTS)] = i % (1 + EXPERTS) ? 0 : 65536;
    c->factor = (uint32_t *)(void *)room;
    room += (KP_SOLVE_ROOM + 1) / 2;
    for (uint32_t i = 0; i < ROLES; i++) {
        c->players[i] = NULL;
        c->first_states[i] = state_of(c->prior, i);
    }
    for (size_t i = 0; i < channels; i++) {
        uint32_t digits = model->digits[i], dyadic = digits >= DYADIC, role = c->prior ? model->roles[i] : NO_ROLE;
        number_channel *own = all + (dyadic ? --from_end : at);
        if (digits >= 2 * DYADIC || digits == DYADIC || model->scales[i] < 0 || model->scales[i] > 40)
            return KP_ARGUMENT;
        own->digits = digits;
        own->decimals = model->decimals[i];
        own->scale = model->scales[i];
        own->seen = 0;
        if (dyadic) {
            own->states = (uint32_t *)(void *)room;
            for (uint32_t k = 0; k < DYADIC_STATES; k++)
                own->states[k] = state_of(c->prior, FIRST_STATES + k);
            room += (DYADIC_STATES + 1) / 2;
            continue;
        }
        find_law(c, own, role);
        room = start_channel(c, own, at++, room);
        if (role < ROLES && own->decimals <= LAW_DECIMALS)
            c->players[role] = own;
    }
    return KP_OK;
}

static int32_t code_all(number_coder *c, int64_t *numbers, size_t frames, size_t channels, const number_model *model,
                        int64_t *room)
{
    number_channel *all = (number_channel *)(void *)room;
    if (kp_kine_numbers_room(model->digits, channels) == UINT32_MAX) /* more than can be told: there is not that much */
        return KP_ARGUMENT;
    c->prior = model->prior;
    c->outlooks = c->prior ? solved : swept;
    c->experts = c->prior ? sizeof solved / sizeof *solved : sizeof swept / sizeof *swept;
    int32_t status = start(c, all, channels, model, room + (channels * sizeof(number_channel) + 7) / 8);
    start_tails(c->tails);
    for (size_t t = 0; t < frames && status == KP_OK; t++) {
        size_t at = 0, from_end = channels;
        for (size_t i = 0; i < channels && status == KP_OK; i++) {
            int64_t *number = numbers + t * channels + i;
            if (model->digits[i] >= DYADIC)
                status = code_dyadic(c, all + --from_end, number);
            else
                status = code_number(c, all, at++, number);
        }
        if (c->decoder && c->decoder->status != KP_OK)
            return c->decoder->status;
    }
    return status;
}

int32_t kp_kine_numbers_encode(int64_t *numbers, size_t frames, size_t channels, const uint8_t *digits,
                               const int8_t *scales, const uint8_t *decimals, const uint8_t *roles,
                               const uint8_t *prior, int64_t *room, uint8_t *out, size_t capacity, size_t *size)
{
    kp_encoder e;
    number_coder c;
    number_model model = {digits, decimals, roles, prior, scales};
    c.encoder = &e;
    c.decoder = NULL;
    kp_encoder_start(&e, out, capacity);
    int32_t status = code_all(&c, numbers, frames, channels, &model, room);
    if (status != KP_OK)
        return status;
    return e.status == KP_OK ? kp_encoder_finish(&e, size) : e.status;
}

int32_t kp_kine_numbers_decode(const uint8_t *data, size_t size, int64_t *numbers, size_t frames, size_t channels,
                               const uint8_t *digits, const int8_t *scales, const uint8_t *decimals,
                               const uint8_t *roles, const uint8_t *prior, int64_t *room)
{
    kp_decoder d;
    number_coder c;
    number_model model = {digits, decimals, roles, prior, scales};
    c.encoder = NULL;
    c.decoder = &d;
    kp_decoder_start(&d, data, size);
    int32_t status = code_all(&c, numbers, frames, channels, &model, room);
    return status == KP_OK ? kp_decoder_finish(&d) : status;
}
