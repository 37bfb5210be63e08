/*
 * Coarse-to-fine order of a mesh's vertices (docs/codecs/kine-mesh.md, "Hierarchy").
 *
 * Works on the graph of edges, so that any connectivity will do. A level removes an independent set of vertices, those
 * of low degree first; a removed vertex is collapsed onto the neighbour that shares most neighbours with it. The
 * vertices around it at that time are its references. Decoding goes in the reverse order of removal, so that all
 * references of a vertex are known before it. Integers only.
 */
#include "include/kinepack_kernels.h"

#define RING_MAX 12u   /* references next to the vertex */
#define SECOND_MAX 6u  /* references next to those */
#define SCAN_MAX 24u   /* neighbours of a reference that are looked at */
#define NONE 0xFFFFFFFFu

typedef struct {
    uint32_t *head;   /* [vertices] first node of the adjacency list */
    uint32_t *degree; /* [vertices] */
    uint32_t *next;   /* [2 edges] */
    uint32_t *prev;
    uint32_t *target; /* node 2e + 1 is the twin of node 2e */
    uint32_t *mark;   /* [vertices] */
    uint32_t stamp;
} graph;

static void link_node(graph *g, uint32_t node, uint32_t from, uint32_t to)
{
    g->target[node] = to;
    g->prev[node] = NONE;
    g->next[node] = g->head[from];
    if (g->head[from] != NONE)
        g->prev[g->head[from]] = node;
    g->head[from] = node;
    g->degree[from]++;
}

static void unlink_node(graph *g, uint32_t node, uint32_t from)
{
    if (g->prev[node] == NONE)
        g->head[from] = g->next[node];
    else
        g->next[g->prev[node]] = g->next[node];
    if (g->next[node] != NONE)
        g->prev[g->next[node]] = g->prev[node];
    g->degree[from]--;
}

static int adjacent(const graph *g, uint32_t a, uint32_t b)
{
    if (g->degree[b] < g->degree[a]) {
        uint32_t swap = a;
        a = b;
        b = swap;
    }
    for (uint32_t node = g->head[a]; node != NONE; node = g->next[node])
        if (g->target[node] == b)
            return 1;
    return 0;
}

/* The neighbour among the first RING_MAX that has most of the others as its own neighbours. */
static uint32_t collapse_target(const graph *g, const uint32_t *ring, uint32_t count)
{
    uint32_t best = 0, best_shared = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t shared = 0;
        for (uint32_t j = 0; j < count; j++)
            shared += j != i && adjacent(g, ring[i], ring[j]);
        if (i == 0 || shared > best_shared || (shared == best_shared && g->degree[ring[i]] < g->degree[ring[best]])) {
            best = i;
            best_shared = shared;
        }
    }
    return ring[best];
}

/* Takes v out; its other neighbours become neighbours of u. The nodes of v's edges are used again. */
static void collapse(graph *g, uint32_t v, uint32_t u)
{
    uint32_t node = g->head[v];
    while (node != NONE) {
        uint32_t following = g->next[node], w = g->target[node];
        unlink_node(g, node, v);
        unlink_node(g, node ^ 1u, w);
        if (w != u && !adjacent(g, u, w)) {
            link_node(g, node, u, w);
            link_node(g, node ^ 1u, w, u);
        }
        node = following;
    }
}

/* Up to SECOND_MAX vertices that two or more of the references know, those known to most first. */
static uint32_t second_ring(graph *g, uint32_t v, const uint32_t *ring, uint32_t count, uint32_t *out)
{
    uint32_t seen[RING_MAX * SCAN_MAX], times[RING_MAX * SCAN_MAX], found = 0, base = g->stamp;
    g->stamp += RING_MAX * SCAN_MAX + 2;
    for (uint32_t i = 0; i < count; i++)
        g->mark[ring[i]] = base + 1;
    g->mark[v] = base + 1;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t scanned = 0;
        for (uint32_t node = g->head[ring[i]]; node != NONE && scanned < SCAN_MAX; node = g->next[node], scanned++) {
            uint32_t w = g->target[node];
            if (g->mark[w] == base + 1)
                continue;
            if (g->mark[w] > base) {
                times[g->mark[w] - base - 2]++;
            } else {
                g->mark[w] = base + 2 + found;
                seen[found] = w;
                times[found++] = 1;
            }
        }
    }
    uint32_t kept = 0;
    for (uint32_t least = count; least >= 2 && kept < SECOND_MAX; least--)
        for (uint32_t i = 0; i < found && kept < SECOND_MAX; i++)
            if (times[i] == least)
                out[kept++] = seen[i];
    return kept;
}

typedef struct {
    uint32_t *removed; /* [vertices] in order of removal */
    uint32_t *starts;  /* [vertices + 1] by order of removal */
    uint32_t *refs;
    uint8_t *rings;
    uint8_t *levels;
    uint32_t count;
} removal;

static void take_out(graph *g, removal *r, uint32_t v, uint32_t level)
{
    uint32_t *refs = r->refs + r->starts[r->count], count = 0;
    for (uint32_t node = g->head[v]; node != NONE && count < RING_MAX; node = g->next[node])
        refs[count++] = g->target[node];
    uint32_t second = count >= 2 ? second_ring(g, v, refs, count, refs + count) : 0;
    if (count)
        collapse(g, v, collapse_target(g, refs, count));
    r->rings[r->count] = (uint8_t)count;
    r->levels[r->count] = (uint8_t)(level < 255 ? level : 255);
    r->removed[r->count] = v;
    r->starts[r->count + 1] = r->starts[r->count] + count + second;
    r->count++;
}

static int32_t build_graph(graph *g, const uint32_t *edges, size_t edge_count, size_t vertices)
{
    for (size_t v = 0; v < vertices; v++) {
        g->head[v] = NONE;
        g->degree[v] = g->mark[v] = 0;
    }
    g->stamp = 1;
    for (size_t e = 0; e < edge_count; e++) {
        uint32_t a = edges[2 * e], b = edges[2 * e + 1];
        if (a >= vertices || b >= vertices || a == b)
            return KP_ARGUMENT;
        link_node(g, (uint32_t)(2 * e), a, b);
        link_node(g, (uint32_t)(2 * e + 1), b, a);
    }
    return KP_OK;
}

/* Removes all vertices, level by level. alive[vertices] lists those left, blocked[vertices] is a level number. */
static void remove_levels(graph *g, removal *r, uint32_t *alive, uint32_t *blocked, size_t vertices)
{
    size_t left = vertices;
    for (uint32_t level = 1; left > 0; level++) {
        uint32_t least = NONE, before = r->count;
        for (size_t i = 0; i < left; i++)
            least = g->degree[alive[i]] < least ? g->degree[alive[i]] : least;
        for (uint32_t degree = least; degree < least + 8u; degree++) {
            for (size_t i = 0; i < left; i++) {
                uint32_t v = alive[i];
                if (blocked[v] == level || blocked[v] == NONE || g->degree[v] != degree)
                    continue;
                for (uint32_t node = g->head[v]; node != NONE; node = g->next[node])
                    blocked[g->target[node]] = level;
                take_out(g, r, v, level);
                blocked[v] = NONE;
            }
        }
        size_t kept = 0;
        for (size_t i = 0; i < left; i++)
            if (blocked[alive[i]] != NONE)
                alive[kept++] = alive[i];
        left = kept;
        if (r->count == before)
            break;
        if (g->stamp > 0xF0000000u) {
            for (size_t v = 0; v < vertices; v++)
                g->mark[v] = 0;
            g->stamp = 1;
        }
    }
}

/* Turns removal order into decoding order: positions, references as positions below the vertex's own. */
static void reverse_order(const removal *r, uint32_t *order, uint32_t *position, uint32_t *starts, uint32_t *refs,
                          uint8_t *rings, uint8_t *levels)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < r->count; i++)
        position[r->removed[r->count - 1 - i]] = i;
    starts[0] = 0;
    for (uint32_t i = 0; i < r->count; i++) {
        uint32_t k = r->count - 1 - i;
        order[i] = r->removed[k];
        rings[i] = r->rings[k];
        levels[i] = r->levels[k];
        for (uint32_t j = r->starts[k]; j < r->starts[k + 1]; j++)
            refs[at++] = position[r->refs[j]];
        if (i > 0 && r->starts[k] == r->starts[k + 1]) {
            refs[at++] = i & (i - 1); /* near in the order, and never more than 32 steps from the first */
            rings[i] = 1;
        }
        starts[i + 1] = at;
    }
}

int32_t kp_mesh_hierarchy(const uint32_t *edges, size_t edge_count, size_t vertices, uint32_t *scratch,
                          uint8_t *byte_scratch, uint32_t *order, uint32_t *starts, uint32_t *refs, uint8_t *rings,
                          uint8_t *levels)
{
    if (vertices > 1u << 27 || edge_count > 1u << 29)
        return KP_ARGUMENT;
    graph g;
    removal r;
    g.head = scratch;
    g.degree = g.head + vertices;
    g.mark = g.degree + vertices;
    uint32_t *alive = g.mark + vertices, *blocked = alive + vertices;
    r.removed = blocked + vertices;
    r.starts = r.removed + vertices;
    r.refs = r.starts + vertices + 1;
    g.next = r.refs + vertices * (RING_MAX + SECOND_MAX);
    g.prev = g.next + 2 * edge_count;
    g.target = g.prev + 2 * edge_count;
    r.rings = byte_scratch;
    r.levels = byte_scratch + vertices;
    r.count = 0;
    r.starts[0] = 0;
    int32_t status = build_graph(&g, edges, edge_count, vertices);
    if (status != KP_OK)
        return status;
    for (size_t v = 0; v < vertices; v++) {
        alive[v] = (uint32_t)v;
        blocked[v] = 0;
    }
    remove_levels(&g, &r, alive, blocked, vertices);
    reverse_order(&r, order, alive, starts, refs, rings, levels);
    return KP_OK;
}
