// Chains of dependent steps: each reads weights of its own and all of the last step's 8 KB of results, and writes results. Steps
// are kernels of a graph, with plain and with programmatic edges, or parts of one persistent kernel with a grid barrier between.
#include <map>

#include "read.cuh"
#include "run.cuh"
#include "sections.cuh"
#include "streams.cuh"

constexpr int STEPS = 80, TILE = 16384;

__device__ __forceinline__ unsigned read_results(const uint4* x) {
    return xor4(load16<PLAIN>(x + threadIdx.x)) ^ xor4(load16<PLAIN>(x + 256 + threadIdx.x));
}
template <int U>
static __global__ __launch_bounds__(256) void registers_k(const uint4* p, long tiles, const uint4* x, unsigned* y, int early) {
    unsigned acc = 0;
    auto start = [&] {
        if (early) let_next_kernel_start();
        wait_for_kernels_before();
        acc = read_results(x);
    };
    stream_registers<NO_ALLOC, U>(p, tiles, start, [&](const uint4& v) { acc ^= xor4(v); });
    y[blockIdx.x * 256 + threadIdx.x] = acc;
}
static __global__ __launch_bounds__(256) void ring_k(const char* p, long n, int stages, const uint4* x, unsigned* y, int early) {
    unsigned acc = stream_ring(p, blockIdx.x, gridDim.x, n, TILE, stages, [&](long i) {
        if (i) return 0u;
        if (early) let_next_kernel_start();
        wait_for_kernels_before();
        return read_results(x);
    });
    y[blockIdx.x * 256 + threadIdx.x] = acc;
}
// The ring of weights runs on across the grid barriers.
static __global__ __launch_bounds__(256) void persistent_k(const char* p, int tiles, int stages, unsigned* xy,
                                                           unsigned* counter) {
    unsigned acc = 0;
    int tile = 0, step = 0;
    acc = stream_ring(p, blockIdx.x, gridDim.x, (long)STEPS * tiles, TILE, stages, [&](long i) {
        unsigned r = 0;
        if (tile == 0) {
            if (step > 0) xy[((step & 1) * gridDim.x + blockIdx.x) * 256 + threadIdx.x] = (unsigned)i + acc;
            __syncthreads();
            if (threadIdx.x == 0) {
                add_release(counter, 1);
                wait_until(counter, gridDim.x * (step + 1));
            }
            __syncthreads();
            r = read_results((const uint4*)(xy + (step & 1) * gridDim.x * 256));
            step++;
        }
        if (++tile == tiles) tile = 0;
        return r;
    });
    xy[blockIdx.x * 256 + threadIdx.x] = acc;
}

enum Edge { FULL, AT_EXIT, EARLY };  // plain edges; programmatic ones, the next kernel starts at the end or at once
static const char* EDGE_NAMES[3] = {"graph", "pdl_exit", "pdl_early"};

struct Chain {
    int tiles;  // a block and step
    size_t pool, bytes;
    double ceiling;
    Memory& memory;
    Walk walk;
    Memory xy, counter;
    std::map<std::string, std::pair<double, std::string>> best;  // by what comes first in the name

    Chain(Memory& memory, size_t pool, int tiles, double ceiling)
        : tiles(tiles), pool(pool), bytes((size_t)tiles * sm_count * TILE), ceiling(ceiling), memory(memory),
          walk(memory, pool, bytes), xy(1 << 22), counter(256) {
        fill(xy.p, 1 << 22, ~0u, 0, 5);
    }
    unsigned* results(int step) { return xy.as<unsigned>() + (step & 1) * (1 << 19); }
    std::string name() const { return text("chain/%dx%zuMB/", STEPS, bytes / 1000000); }

    void report(const std::string& way, const std::string& how, const Values& us) {
        const double step = median(us) / STEPS, rate = bytes / step * 1e-3;
        std::string note = text("%.0f GB/s, %.3f of ceiling, over %.2f us", rate, rate / ceiling, step - bytes / ceiling * 1e-3);
        put(name() + way + "/" + how, "us", divided(us, STEPS), note);
        if (!best.count(way) || step < best[way].first) best[way] = {step, how + ", " + note};
    }
    void as_graph(Edge edge, const std::string& how, const std::function<void(int, How, int)>& step) {
        if (late()) return;
        Graph graph([&] {
            for (int i = 0; i < STEPS; i++) step(i, edge != FULL && i > 0 ? DEPENDENT : AFTER, edge == EARLY);
        });
        report(EDGE_NAMES[edge], how, timed(7, [&](int) { graph.run(); }, 200));
    }
    void by_registers(Edge edge, int loads, int blocks) {
        auto kernel = loads == 4 ? registers_k<4> : registers_k<8>;
        long tiles = (long)(bytes / (4096 * loads));
        as_graph(edge, text("reg_u%d_b%d", loads, blocks), [&](int i, How how, int early) {
            launch(kernel, sm_count * blocks, 256, 0, how, (const uint4*)walk.next(), tiles, (const uint4*)results(i),
                   results(i + 1), early);
        });
    }
    void by_ring(Edge edge, int stages) {
        as_graph(edge, text("bulk_s%d", stages), [&](int i, How how, int early) {
            launch(ring_k, sm_count, 256, ring_bytes(TILE, stages), how, walk.next(), (long)tiles, stages,
                   (const uint4*)results(i), results(i + 1), early);
        });
    }
    void persistent(int stages) {
        if (late()) return;
        const size_t all = bytes * STEPS;
        auto run = [&](int i) {
            CK(cudaMemsetAsync(counter.p, 0, 256, stream));
            const char* weights = memory.as<char>() + i % (pool / all) * all;
            launch(persistent_k, sm_count, 256, ring_bytes(TILE, stages), COOPERATIVE, weights, tiles, stages, xy.as<unsigned>(),
                   counter.as<unsigned>());
        };
        report("persistent", text("bulk_s%d", stages), timed(7, run, 200));
    }
    void measure() {
        for (Edge edge : {FULL, AT_EXIT, EARLY}) {
            by_registers(edge, 4, 2);
            for (int blocks : {1, 2, 4}) by_registers(edge, 8, blocks);
            for (int stages : {2, 6, 12}) by_ring(edge, stages);  // 12 leave no room for the next kernel on the SM
        }
        for (int stages : {6, 12}) persistent(stages);
        for (auto& [way, b] : best) say(name() + way, number(b.first) + " us a step: " + b.second);
    }
};

void chain_section() {
    part("chain", [] {
        const size_t pool = pool_bytes(8);
        Memory memory(pool);
        fill(memory.p, pool, ~0u, 0, 4);
        allow_shared(ring_k, 220 * 1024);
        allow_shared(persistent_k, 220 * 1024);
        const double ceiling = read_ceiling(memory.p, pool);
        show("chain/read_ceiling", "GB/s", {ceiling}, "1 GiB in one kernel");
        for (int tiles : {2, 8}) Chain(memory, pool, tiles, ceiling).measure();
    });
}
