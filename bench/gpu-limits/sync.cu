// Hand-offs inside one kernel: barriers of the whole grid, and a signal from one block to another.
#include "device.cuh"
#include "run.cuh"
#include "sections.cuh"

enum Barrier { FLAT, FLAT_NAP, FLAGS };  // one counter that thread 0 polls, without and with naps; a flag a block
template <Barrier KIND>
static __global__ void barrier_k(unsigned* counters, int rounds) {
    for (int r = 1; r <= rounds; r++) {
        __syncthreads();
        if (KIND == FLAGS) {
            if (threadIdx.x == 0) store_release(counters + blockIdx.x, r);
            for (unsigned b = threadIdx.x; b < gridDim.x; b += blockDim.x) wait_until(counters + b, r);
        } else if (threadIdx.x == 0) {
            add_release(counters, 1);
            wait_until<KIND == FLAT_NAP ? 20 : 0>(counters, gridDim.x * r);
        }
        __syncthreads();
    }
}
// Block 0 and block `other` in turn. crowd: all other blocks poll block 0's counter, too; with_data: 1 KB goes with each signal.
static __global__ void one_way_k(unsigned* a, unsigned* b, unsigned* data, int other, int rounds, int crowd, int with_data) {
    const bool first = blockIdx.x == 0, second = blockIdx.x == other;
    unsigned acc = threadIdx.x;
    if (!first && !second) {
        if (crowd && threadIdx.x == 0) wait_until(a, rounds);
        return;
    }
    for (int r = 1; r <= rounds; r++)
        for (int turn = 0; turn < 2; turn++) {
            unsigned *counter = turn ? b : a, *d = data + turn * blockDim.x + threadIdx.x;
            if (first == (turn == 0)) {
                if (with_data) {
                    *d = acc + r;
                    __syncthreads();
                }
                if (threadIdx.x == 0) add_release(counter, 1);
            } else {
                if (threadIdx.x == 0) wait_until(counter, r);
                if (with_data) {
                    __syncthreads();
                    acc += *(volatile unsigned*)d;
                }
            }
        }
    use(acc, data);
}

constexpr size_t COUNTERS = 1 << 16;

template <Barrier KIND>
static void barrier(const Memory& counters, const char* kind, int blocks, int threads) {
    std::string name = text("sync/barrier_%s_%dx%d", kind, blocks, threads);
    part(name, [&] {
        auto run = [&](int rounds) {
            return timed(7, [&](int) {
                CK(cudaMemsetAsync(counters.p, 0, COUNTERS, stream));
                launch(barrier_k<KIND>, blocks, threads, 0, COOPERATIVE, counters.as<unsigned>(), rounds);
            });
        };
        const int rounds = 1000;
        const double launch_alone = median(run(0));
        Values us = run(rounds);
        for (double& v : us) v = (v - launch_alone) / rounds;
        show(name, "us", us, "all-to-all grid barrier");
    });
}
template <Barrier KIND>
static void barriers(const Memory& counters, const char* kind) {
    barrier<KIND>(counters, kind, sm_count, 256);
    barrier<KIND>(counters, kind, sm_count, 32);
    barrier<KIND>(counters, kind, 2 * sm_count, 256);
}
static void one_way(const Memory& counters, const char* name, int threads, int crowd, int with_data) {
    part(name, [&] {
        const int rounds = 1000;
        unsigned *a = counters.as<unsigned>(), *b = a + 64, *data = a + 1024;
        Values of_partners;
        for (int other : {1, 2, 5, 9, 17, 33, 50, 66, 67, 80, 99, 110, 121, 131}) {
            if (other >= sm_count) continue;
            auto us = timed(5, [&](int) {
                CK(cudaMemsetAsync(counters.p, 0, COUNTERS, stream));
                launch(one_way_k, sm_count, threads, 0, COOPERATIVE, a, b, data, other, rounds, crowd, with_data);
            });
            of_partners.push_back(median(us) / (2.0 * rounds));
        }
        show(name, "us", of_partners, "spread is over partner blocks");
    });
}

void sync_section() {
    Memory counters(COUNTERS);
    barriers<FLAT>(counters, "flat");
    barriers<FLAT_NAP>(counters, "flat_nanosleep");
    barriers<FLAGS>(counters, "flags");
    one_way(counters, "sync/one_way_quiet", 32, 0, 0);
    one_way(counters, "sync/one_way_130_pollers", 32, 1, 0);
    one_way(counters, "sync/one_way_1KB_data", 256, 0, 1);
}
