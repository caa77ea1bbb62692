// Copies on the card, reads that L2 answers, and copies over PCIe.
#include <algorithm>

#include "device.cuh"
#include "run.cuh"
#include "sections.cuh"

static __global__ __launch_bounds__(256) void copy_k(const uint4* from, uint4* to, long tiles) {
    for (long t = blockIdx.x; t < tiles; t += gridDim.x) {
        const long at = t * 1024 + threadIdx.x;
        uint4 v[4];
#pragma unroll
        for (int u = 0; u < 4; u++) v[u] = load16<NO_ALLOC>(from + at + u * 256);
#pragma unroll
        for (int u = 0; u < 4; u++) to[at + u * 256] = v[u];
    }
}
static __global__ __launch_bounds__(256) void l2_k(const uint4* p, unsigned tiles, int passes, unsigned* out) {
    unsigned acc = 0;
    for (int pass = 0; pass < passes; pass++)
        for (unsigned t = blockIdx.x; t < tiles; t += gridDim.x) {
            const uint4* q = p + ((t + pass * 37u) % tiles) * 1024 + threadIdx.x;  // what another SM read in the last pass
            uint4 v[4];
#pragma unroll
            for (int u = 0; u < 4; u++) v[u] = load16<NO_ALLOC>(q + u * 256);
#pragma unroll
            for (int u = 0; u < 4; u++) acc ^= xor4(v[u]);
        }
    use(acc, out);
}

static void copies(char* a, char* b, size_t bytes) {
    auto rate = [&](auto copy) {  // in turns in both directions
        return gb_per_s(timed(5, [&](int i) { i & 1 ? copy(b, a) : copy(a, b); }), 2.0 * bytes);
    };
    part("copy/memcpy_d2d", [&] {
        auto copy = [&](char* from, char* to) { CK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream)); };
        show("copy/memcpy_d2d", "GB/s", rate(copy), "read + written");
    });
    part("copy/kernel", [&] {
        for (int blocks : {2, 4, 8}) {
            auto copy = [&](char* from, char* to) {
                launch(copy_k, sm_count * blocks, 256, 0, AFTER, (const uint4*)from, (uint4*)to, (long)(bytes / 16384));
            };
            show(text("copy/kernel_b%d", blocks), "GB/s", rate(copy), "read + written");
        }
    });
}
static void l2_reads(const char* p) {
    part("l2/read", [&] {
        Memory out(4096);
        const int passes = 40;
        for (int mib : {4, 8, 16, 24, 32}) {
            Values best;
            for (int blocks : {4, 6, 8}) {
                auto read = [&](int) {
                    launch(l2_k, sm_count * blocks, 256, 0, AFTER, (const uint4*)p, mib * 64u, passes, out.as<unsigned>());
                };
                replace_if_higher(best, gb_per_s(timed(5, read), (double)passes * mib * 1048576));
            }
            show(text("l2/read_%dMiB", mib), "GB/s", best, text("%d passes, no L1", passes));
        }
    });
}
static void pcie_copies(char* card) {
    part("pcie", [&] {
        const size_t bytes = 256u << 20;
        char* host = nullptr;
        CK(cudaHostAlloc((void**)&host, bytes, cudaHostAllocDefault));
        for (size_t i = 0; i < bytes / 4; i++) ((uint32_t*)host)[i] = (uint32_t)(i * 2654435761u + 1);
        auto in = [&](int i) { CK(cudaMemcpyAsync(card + i * bytes, host, bytes, cudaMemcpyHostToDevice, stream)); };
        auto back = [&](int i) { CK(cudaMemcpyAsync(host, card + i * bytes, bytes, cudaMemcpyDeviceToHost, stream)); };
        auto small = [&](int) { CK(cudaMemcpyAsync(card, host, 4096, cudaMemcpyHostToDevice, stream)); };
        show("pcie/h2d_pinned", "GB/s", gb_per_s(timed(5, in, 0), (double)bytes), "256 MiB");
        show("pcie/d2h_pinned", "GB/s", gb_per_s(timed(5, back, 0), (double)bytes), "256 MiB");
        show("pcie/h2d_4KiB", "us", timed(9, small));
        CK(cudaFreeHost(host));
    });
}

void copy_section() {
    const size_t pool = pool_bytes(16), half = pool / 2;
    Memory memory(pool);
    fill(memory.p, pool, ~0u, 0, 2);
    char* a = memory.as<char>();
    copies(a, a + half, std::min<size_t>(half, (size_t)4 << 30));
    l2_reads(a);
    pcie_copies(a);
}
