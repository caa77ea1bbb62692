// Reading: by size of the kernel, alone between two events and as one of many nodes of a graph, by the way of loading.
#include "read.cuh"

#include <algorithm>
#include <cmath>
#include <map>

#include "run.cuh"
#include "sections.cuh"
#include "streams.cuh"

template <Load LOAD, int U>
static __global__ __launch_bounds__(256) void read_k(const uint4* p, long tiles, unsigned* out) {
    unsigned acc = 0;
    stream_registers<LOAD, U>(p, tiles, [] {}, [&](const uint4& v) { acc ^= xor4(v); });
    use(acc, out);
}
static __global__ __launch_bounds__(256) void read_ring_k(const char* p, long tiles, int tile_bytes, int stages, unsigned* out) {
    long mine = (tiles - blockIdx.x + gridDim.x - 1) / gridDim.x;
    use(stream_ring(p, blockIdx.x, gridDim.x, mine, tile_bytes, stages, [](long) { return 0u; }), out);
}

struct Config {
    Load load;
    int loads;               // of 16 bytes in flight a thread
    int tile_bytes, stages;  // of the ring
    int blocks;              // an SM
};
static Config registers(Load load, int loads, int blocks) {
    return {load, loads, 0, 0, blocks};
}
static Config ring(int tile_bytes, int stages, int blocks) {
    return {BULK, 0, tile_bytes, stages, blocks};
}
static std::vector<Config> configs() {
    std::vector<Config> r;
    for (Load load : {PLAIN, NO_ALLOC, NO_ALLOC_256B}) {
        r.push_back(registers(load, 1, 8));
        for (int blocks : {2, 4, 8}) r.push_back(registers(load, 4, blocks));
        for (int blocks : {2, 4}) r.push_back(registers(load, 8, blocks));
    }
    r.push_back(registers(NO_ALLOC, 4, 1));  // 16 KB in flight an SM: too few? (others: loads x blocks x 4 KB)
    for (Config c : {ring(16384, 12, 1), ring(32768, 6, 1), ring(16384, 6, 2), ring(8192, 6, 4)}) r.push_back(c);
    return r;
}
static std::string config_name(const Config& c) {
    static const char* names[4] = {"plain", "nc_noalloc", "nc_noalloc_L2_256B", "bulk"};
    if (c.load == BULK) return text("bulk %dKBx%d b%d", c.tile_bytes / 1024, c.stages, c.blocks);
    return text("%s u%d b%d", names[c.load], c.loads, c.blocks);
}

template <Load LOAD>
static void read_registers(const Config& c, const void* p, size_t bytes, unsigned* out) {
    auto kernel = c.loads == 1 ? read_k<LOAD, 1> : c.loads == 4 ? read_k<LOAD, 4> : read_k<LOAD, 8>;
    long tiles = (long)(bytes / (c.loads * 4096));
    launch(kernel, (int)std::min<long>(tiles, c.blocks * sm_count), 256, 0, AFTER, (const uint4*)p, tiles, out);
}
static void read_once(const Config& c, const void* p, size_t bytes, unsigned* out) {
    if (c.load == PLAIN) return read_registers<PLAIN>(c, p, bytes, out);
    if (c.load == NO_ALLOC) return read_registers<NO_ALLOC>(c, p, bytes, out);
    if (c.load == NO_ALLOC_256B) return read_registers<NO_ALLOC_256B>(c, p, bytes, out);
    static const bool allowed = (allow_shared(read_ring_k, 220 * 1024), true);
    (void)allowed;
    long tiles = (long)(bytes / c.tile_bytes);
    launch(read_ring_k, (int)std::min<long>(tiles, c.blocks * sm_count), 256, ring_bytes(c.tile_bytes, c.stages), AFTER,
           (const char*)p, tiles, c.tile_bytes, c.stages, out);
}

double read_ceiling(const void* pool, size_t bytes) {
    Memory out(4096);
    const size_t piece = 1u << 30;
    double best = 0;
    for (const Config& c : configs()) {
        auto read = [&](int i) { read_once(c, (const char*)pool + (i % (bytes / piece)) * piece, piece, out.as<unsigned>()); };
        best = std::max(best, median(gb_per_s(timed(5, read), (double)piece)));
    }
    return best;
}

static Values read_alone(const Config& c, Walk& walk, unsigned* out) {
    auto read = [&](int) { read_once(c, walk.next(), walk.bytes, out); };
    return gb_per_s(timed(walk.bytes > (1u << 30) ? 5 : 9, read, 60, 1), (double)walk.bytes);
}
static Values read_in_graph(const Config& c, Walk& walk, unsigned* out) {
    int nodes = (int)std::min<size_t>(100, std::max<size_t>(walk.regions, 2));
    Graph graph([&] {
        for (int i = 0; i < nodes; i++) read_once(c, walk.next(), walk.bytes, out);
    });
    return gb_per_s(timed(5, [&](int) { graph.run(); }, 120, 1), (double)walk.bytes * nodes);
}

static std::string size_name(size_t bytes) {
    if (bytes >= (1u << 30)) return text("%zuGiB", bytes >> 30);
    if (bytes >= (1u << 20)) return text("%zuMiB", bytes >> 20);
    return text("%zuKiB", bytes >> 10);
}
// All ways of loading; the best is the figure, and the note has the best of each way.
static void read_by_all(const std::string& name, Walk& walk, unsigned* out, Values (*read)(const Config&, Walk&, unsigned*)) {
    std::map<Load, double> best_of;
    Values best;
    std::string best_name;
    for (const Config& c : configs()) {
        if (late()) break;
        Values v = read(c, walk, out);
        put(name + "/" + config_name(c), "GB/s", v);
        best_of[c.load] = std::max(best_of[c.load], median(v));
        if (replace_if_higher(best, v)) best_name = config_name(c);
    }
    double us = walk.bytes / median(best) * 1e-3;
    std::string note = text("%.3f us;", us);
    static const char* short_names[4] = {"plain", "nc", "nc256", "bulk"};
    for (auto& [load, rate] : best_of) note += text(" %s %.0f", short_names[load], rate);
    show(name, "GB/s", best, note + "; " + best_name);
    put(name + "/us_a_kernel", "us", {us}, best_name);
}

void read_section() {
    const size_t pool = pool_bytes(16), KIB = 1024, MIB = 1024 * KIB;
    Memory memory(pool), out(4096);
    fill(memory.p, pool, ~0u, 0, 1);
    CK(cudaStreamSynchronize(stream));
    part("read/empty_between_events",
         [] { show("read/empty_between_events", "us", timed(21, [](int) { launch_empty(); }), "a kernel that does nothing"); });
    for (size_t bytes : {192 * KIB, MIB, 4 * MIB, 16 * MIB, 64 * MIB, 256 * MIB, 1024 * MIB, 8192 * MIB}) {
        if (bytes > pool) continue;
        Walk walk(memory, pool, bytes);
        std::string alone = "read/single/" + size_name(bytes), graph = "read/graph/" + size_name(bytes);
        part(alone, [&] { read_by_all(alone, walk, out.as<unsigned>(), read_alone); });
        part(graph, [&] { read_by_all(graph, walk, out.as<unsigned>(), read_in_graph); });
    }
}
