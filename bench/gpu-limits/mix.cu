// How many instructions a 4-byte word takes before reading gets slower: N a word, where N = 0 is one XOR.
#include "run.cuh"
#include "sections.cuh"
#include "streams.cuh"

enum Kind { LOP3_SHF, LOP3_FFMA, DP4A };  // the first two in turn
static const char* KIND_NAMES[3] = {"lop3_shf", "lop3_ffma", "dp4a"};

template <Kind KIND>
__device__ __forceinline__ void instruction(int j, unsigned& acc, unsigned next, unsigned word, unsigned k, float& f, float fk) {
    if (KIND == DP4A)
        asm volatile("dp4a.s32.s32 %0, %1, %2, %0;" : "+r"(acc) : "r"(word), "r"(k));
    else if (j % 2 == 0)
        asm volatile("lop3.b32 %0, %0, %1, %2, 0x96;" : "+r"(acc) : "r"(word), "r"(next));
    else if (KIND == LOP3_SHF)
        asm volatile("shf.l.wrap.b32 %0, %0, %1, 5;" : "+r"(acc) : "r"(word));
    else
        asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(f) : "f"(fk));
}
template <int N, Kind KIND>
static __global__ __launch_bounds__(256, 6) void mix_k(const uint4* p, long tiles, unsigned* out) {
    unsigned acc[4] = {1, 2, 3, 4}, k = threadIdx.x * 0x01010101u;
    float f[4] = {1, 2, 3, 4}, fk = 0.5f + threadIdx.x * 0.001f;
    auto take = [&](const uint4& v) {
        const unsigned w[4] = {v.x, v.y, v.z, v.w};
        if (N == 0)
#pragma unroll
            for (int c = 0; c < 4; c++) acc[c] ^= w[c];
#pragma unroll
        for (int j = 0; j < N; j++)
#pragma unroll
            for (int c = 0; c < 4; c++) instruction<KIND>(j, acc[c], acc[(c + 1) & 3], w[c], k, f[c], fk);
    };
    stream_registers<NO_ALLOC, 4>(p, tiles, [] {}, take);
    use(acc[0] ^ acc[1] ^ acc[2] ^ acc[3] ^ __float_as_uint(f[0] + f[1] + f[2] + f[3]), out);
}

struct Pool {
    size_t bytes;
    Memory memory, out;
    Pool() : bytes(pool_bytes(8)), memory(bytes), out(4096) { fill(memory.p, bytes, ~0u, 0, 3); }
};
template <int N, Kind KIND>
static Values read_with(const Pool& pool) {
    const size_t bytes = (size_t)2 << 30;
    Values best;
    for (int blocks : {4, 6}) {
        auto read = [&](int i) {
            const char* p = pool.memory.as<char>() + (i % (pool.bytes / bytes)) * bytes;
            launch(mix_k<N, KIND>, sm_count * blocks, 256, 0, AFTER, (const uint4*)p, (long)(bytes / 16384),
                   pool.out.as<unsigned>());
        };
        replace_if_higher(best, gb_per_s(timed(5, read, 60, 1), (double)bytes));
    }
    return best;
}
template <Kind KIND, int... N>
static void mixes(const Pool& pool) {
    std::string name = std::string("mix/") + KIND_NAMES[KIND], line = "GB/s by N:";
    double first = 0;
    auto one = [&](int n, Values (*read)(const Pool&)) {
        if (late()) return;
        Values v = read(pool);
        if (n == 0) first = median(v);
        put(name + text("/N=%d", n), "GB/s", v, text("%.3f of N=0", median(v) / first));
        line += text(" %d:%.0f", n, median(v));
    };
    (one(N, read_with<N, KIND>), ...);
    say(name, line);
}

void mix_section() {
    part("mix", [] {
        Pool pool;
        mixes<LOP3_SHF, 0, 2, 4, 6, 8, 12, 16, 24>(pool);
        mixes<LOP3_FFMA, 0, 2, 4, 6, 8, 12, 16, 24>(pool);
        mixes<DP4A, 0, 2, 4, 6, 8, 12, 16, 24>(pool);
    });
}
