// Words between card and host through mapped memory, as tokens would go.
#include <atomic>
#include <stdexcept>

#include "device.cuh"
#include "run.cuh"
#include "sections.cuh"

static __global__ void round_trips_k(unsigned* to_host, unsigned* from_host, unsigned rounds) {
    for (unsigned r = 1; r <= rounds; r++) {
        store_release_system(to_host, r);
        for (unsigned n = 0; load_acquire_system(from_host) < r; n++)
            if (n > 3000000u) __trap();
    }
}
static __global__ void ticks_k(unsigned* to_host, unsigned n, long long cycles) {
    for (unsigned r = 1; r <= n; r++) {
        store_release_system(to_host, r);
        for (long long start = clock64(); clock64() - start < cycles;) {
        }
    }
}

using Word = std::atomic<unsigned>;
static void wait_for(const Word& word, unsigned v, double until) {
    while (word.load(std::memory_order_acquire) < v)
        if (now() > until) throw std::runtime_error("the host never saw what the card stored");
}

static void round_trips(unsigned* card, Word& out, Word& in) {
    Values us;
    for (int i = 0; i < 7; i++) {
        const unsigned rounds = 500;
        out.store(0);
        in.store(0);
        launch(round_trips_k, 1, 1, 0, AFTER, card, card + 64, rounds);
        double start = 0, until = now() + 3;
        for (unsigned r = 1; r <= rounds; r++) {
            wait_for(out, r, until);
            if (r == 1) start = now();
            in.store(r, std::memory_order_release);
        }
        us.push_back((now() - start) * 1e6 / (rounds - 1));
        CK(cudaStreamSynchronize(stream));
    }
    show("ring/round_trip", "us", us, "card st.release.sys -> host -> card");
}
static void gaps(unsigned* card, Word& out) {  // words leave at a steady pace; how even does the host see them?
    const unsigned n = 400;
    const double until = now() + 3;
    Values us;
    double last = 0;
    out.store(0);
    launch(ticks_k, 1, 1, 0, AFTER, card, n, 50000LL);
    for (unsigned r = 1; r <= n; r++) {
        wait_for(out, r, until);
        double seen = now();
        if (r > 2) us.push_back((seen - last) * 1e6);
        last = seen;
    }
    CK(cudaStreamSynchronize(stream));
    show("ring/gap_at_host", "us", us, "a store every 50,000 cycles");
}

void ring_section() {
    unsigned *host = nullptr, *card = nullptr;
    CK(cudaHostAlloc((void**)&host, 4096, cudaHostAllocMapped));
    CK(cudaHostGetDevicePointer((void**)&card, host, 0));
    auto *out = (Word*)host, *in = (Word*)(host + 64);
    part("ring/round_trip", [&] { round_trips(card, *out, *in); });
    part("ring/gap_at_host", [&] { gaps(card, *out); });
    cudaFreeHost(host);
}
