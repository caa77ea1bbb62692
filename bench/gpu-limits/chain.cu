// Chains of dependent steps: each reads weights of its own and all of the last step's 8 KB of results, and writes results. Steps
// are kernels of a graph, with plain and with programmatic edges, or parts of one persistent kernel with a grid barrier between.
#include <map>
#include <stdexcept>

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
// The ring of weights runs on across the grid barriers. COPIER: a warp of its own copies, which has nothing to do with them.
template <bool COPIER>
static __global__ void __launch_bounds__(COPIER ? WORKERS + 32 : WORKERS)
    persistent_k(const char* p, int tiles, int tile_bytes, int stages, unsigned* xy, unsigned* counter) {
    unsigned sum = 0;  // of the results that were read
    int tile = 0, step = 0;
    auto workers_barrier = [] {
        if (COPIER)
            asm volatile("bar.sync 1, %0;" ::"n"(WORKERS) : "memory");
        else
            __syncthreads();
    };
    auto before = [&](long i) {
        unsigned r = 0;
        if (tile == 0) {
            if (step > 0) xy[((step & 1) * gridDim.x + blockIdx.x) * 256 + threadIdx.x] = (unsigned)i + sum;
            workers_barrier();
            if (threadIdx.x == 0) {
                add_release(counter, 1);
                wait_until(counter, gridDim.x * (step + 1));
            }
            workers_barrier();
            r = read_results((const uint4*)(xy + (step & 1) * gridDim.x * 256));
            sum ^= r;
            step++;
        }
        if (++tile == tiles) tile = 0;
        return r;
    };
    const long n = (long)STEPS * tiles;
    const unsigned acc = COPIER ? stream_ring_of_copier(p, blockIdx.x, gridDim.x, n, tile_bytes, stages, before)
                                : stream_ring(p, blockIdx.x, gridDim.x, n, tile_bytes, stages, before);
    if (threadIdx.x < WORKERS) xy[blockIdx.x * 256 + threadIdx.x] = acc;
}

// The same by two kernels a step, for the check.
static __global__ void simple_write_k(int tiles, int step, unsigned* xy, const unsigned* sums) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    xy[(step & 1) * gridDim.x * 256 + i] = step * tiles + sums[i];
}
static __global__ void simple_read_k(const char* p, int tiles, int step, const unsigned* xy, unsigned* sums, unsigned* accs) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    const unsigned r = read_results((const uint4*)(xy + (step & 1) * gridDim.x * 256));
    unsigned acc = accs[i] ^ r;
    for (int t = 0; t < tiles; t++)
        for (int o = threadIdx.x * 16; o < TILE; o += 4096)
            acc ^= xor4(*(const uint4*)(p + (((long)step * tiles + t) * gridDim.x + blockIdx.x) * TILE + o));
    sums[i] ^= r;
    accs[i] = acc;
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
        reset_results();
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
    void reset_results() { fill(xy.p, 1 << 22, ~0u, 0, 5); }
    void run_persistent(bool copier, int stages, size_t region, int tile_bytes = TILE) {
        CK(cudaMemsetAsync(counter.p, 0, 256, stream));
        launch(copier ? persistent_k<true> : persistent_k<false>, sm_count, copier ? WORKERS + 32 : WORKERS,
               ring_bytes(TILE, stages), COOPERATIVE, memory.as<char>() + region * bytes * STEPS, tiles, tile_bytes, stages,
               xy.as<unsigned>(), counter.as<unsigned>());
    }
    std::vector<unsigned> first_results() {
        std::vector<unsigned> v(sm_count * 256);
        CK(cudaStreamSynchronize(stream));
        CK(cudaMemcpy(v.data(), xy.p, v.size() * 4, cudaMemcpyDeviceToHost));
        return v;
    }
    std::vector<unsigned> simple_results() {
        const size_t n = sm_count * 1024;
        Memory sums(n), accs(n);
        CK(cudaMemsetAsync(sums.p, 0, n, stream));
        CK(cudaMemsetAsync(accs.p, 0, n, stream));
        reset_results();
        for (int step = 0; step < STEPS; step++) {
            if (step) launch(simple_write_k, sm_count, 256, 0, AFTER, tiles, step, xy.as<unsigned>(), sums.as<unsigned>());
            launch(simple_read_k, sm_count, 256, 0, AFTER, memory.as<char>(), tiles, step, xy.as<unsigned>(), sums.as<unsigned>(),
                   accs.as<unsigned>());
        }
        CK(cudaMemcpyAsync(xy.p, accs.p, n, cudaMemcpyDeviceToDevice, stream));
        return first_results();
    }
    void persistent(bool copier, int stages) {
        if (late()) return;
        const size_t regions = pool / (bytes * STEPS);
        report(copier ? "persistent_copier" : "persistent", text("bulk_s%d", stages),
               timed(7, [&](int i) { run_persistent(copier, stages, i % regions); }, 200));
    }
    void handoffs(bool copier) {  // what a step takes that reads next to nothing
        const std::string of = name() + (copier ? "handoff_alone_copier" : "handoff_alone");
        part(of, [&] {
            auto us = timed(7, [&](int) { run_persistent(copier, 12, 0, 16); }, 200);
            show(of, "us", divided(us, STEPS), "persistent kernel, 16 bytes a tile");
        });
    }
    void check_persistent(bool copier, int stages) {
        reset_results();
        run_persistent(copier, stages, 0);
        std::vector<unsigned> y = first_results();
        if (y != simple_results())
            throw std::runtime_error(text("a persistent kernel's result is wrong (copier %d, %d stages)", copier, stages));
    }
    void measure() {
        for (bool copier : {true, false}) {
            handoffs(copier);
            for (int stages : {6, 12}) {
                persistent(copier, stages);
                part(name() + text("persistent%s/check_s%d", copier ? "_copier" : "", stages),
                     [&] { check_persistent(copier, stages); });
            }
        }
        for (Edge edge : {FULL, AT_EXIT, EARLY}) {
            by_registers(edge, 4, 2);
            for (int blocks : {1, 2, 4}) by_registers(edge, 8, blocks);
            for (int stages : {2, 6, 12}) by_ring(edge, stages);  // 12 leave no room for the next kernel on the SM
        }
        for (auto& [way, b] : best) say(name() + way, number(b.first) + " us a step: " + b.second);
    }
};

void chain_section() {
    part("chain", [] {
        const size_t pool = pool_bytes(8);
        Memory memory(pool);
        fill(memory.p, pool, ~0u, 0, 4);
        allow_shared(ring_k, 220 * 1024);
        allow_shared(persistent_k<false>, 220 * 1024);
        allow_shared(persistent_k<true>, 220 * 1024);
        const double ceiling = read_ceiling(memory.p, pool);
        show("chain/read_ceiling", "GB/s", {ceiling}, "1 GiB in one kernel");
        for (int tiles : {2, 8}) Chain(memory, pool, tiles, ceiling).measure();
    });
}
