// Bare attention of one token: 32 heads of queries, 8 of keys and values in f16, the depth split between blocks, and a second step
// that combines. No positions are turned, nothing is projected.
#include <cuda_fp16.h>

#include <cmath>
#include <stdexcept>

#include "device.cuh"
#include "read.cuh"
#include "run.cuh"
#include "sections.cuh"

constexpr int KV_HEADS = 8, SHARING = 4, HEADS = KV_HEADS * SHARING, MOST_SPLITS = 128, WARPS = 4;
constexpr float NOTHING = -1e30f;  // as a maximum

struct Partial {
    float* sums;    // [head][split][D]
    float2* scale;  // [head][split]: the largest score, and the sum of 2^(score - largest)
};

__device__ __forceinline__ void unpack_halves(float (&f)[8], const uint4& v) {
    const unsigned w[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const float2 pair = __half22float2(*(const __half2*)&w[i]);
        f[2 * i] = pair.x, f[2 * i + 1] = pair.y;
    }
}

// A block has the four query heads of one head of keys and a part of the depth. D / 8 lanes have a position, 16 bytes each, so that
// a warp loads a few positions at once; U such loads of keys and of values are in flight. Sums are kept by position in the warp.
template <int D>
static __global__ void __launch_bounds__(32 * WARPS)
    attention_k(const uint4* kv, const __half* q, Partial out, int depth, int splits) {
    constexpr int LANES = D / 8, AT_ONCE = 32 / LANES, U = 4, STRIDE = WARPS * U * AT_ONCE;
    __shared__ float sums[WARPS][SHARING][D], tops[WARPS][SHARING], totals[WARPS][SHARING];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, part = lane % LANES, head = blockIdx.x % KV_HEADS,
              split = blockIdx.x / KV_HEADS;
    const uint4 *keys = kv + (size_t)head * depth * LANES + part, *values = keys + (size_t)KV_HEADS * depth * LANES;
    const int end = (unsigned)depth * (split + 1) / splits;
    int first = (unsigned)depth * split / splits + warp * U * AT_ONCE;  // of the warp's next positions
    const uint4 zero = make_uint4(0, 0, 0, 0);
    uint4 k[U], v[U];
    auto position = [&](int u) { return first + u * AT_ONCE + lane / LANES; };
    auto load = [&](const uint4* from, int at) { return at < end ? load16<NO_ALLOC>(from + (size_t)at * LANES) : zero; };
#pragma unroll
    for (int u = 0; u < U; u++) k[u] = load(keys, position(u));
#pragma unroll
    for (int u = 0; u < U; u++) v[u] = load(values, position(u));
    let_next_kernel_start();
    wait_for_kernels_before();
    float query[SHARING][8], acc[SHARING][8], top[SHARING], total[SHARING];
#pragma unroll
    for (int h = 0; h < SHARING; h++) {
        unpack_halves(query[h], load16<PLAIN>(q + (head * SHARING + h) * D + part * 8));
        top[h] = NOTHING, total[h] = 0;
#pragma unroll
        for (int j = 0; j < 8; j++) query[h][j] *= 1.44269504f * (D == 64 ? 0.125f : 0.0883883476f), acc[h][j] = 0;
    }
    for (; first < end; first += STRIDE) {
        float score[U][SHARING];
#pragma unroll
        for (int u = 0; u < U; u++) {
            float f[8];
            unpack_halves(f, k[u]);
            k[u] = load(keys, position(u) + STRIDE);
#pragma unroll
            for (int h = 0; h < SHARING; h++) {
                float s = 0;
#pragma unroll
                for (int j = 0; j < 8; j++) s = fmaf(f[j], query[h][j], s);
#pragma unroll
                for (int o = 1; o < LANES; o *= 2) s += __shfl_xor_sync(~0u, s, o);
                score[u][h] = s;
            }
        }
#pragma unroll
        for (int h = 0; h < SHARING; h++) {
            float most = top[h];
#pragma unroll
            for (int u = 0; u < U; u++) most = position(u) < end ? fmaxf(most, score[u][h]) : most;
            const float less = exp2f(top[h] - most);
            top[h] = most;
            total[h] *= less;
#pragma unroll
            for (int j = 0; j < 8; j++) acc[h][j] *= less;
#pragma unroll
            for (int u = 0; u < U; u++) {
                score[u][h] = position(u) < end ? exp2f(score[u][h] - most) : 0.0f;
                total[h] += score[u][h];
            }
        }
#pragma unroll
        for (int u = 0; u < U; u++) {
            float f[8];
            unpack_halves(f, v[u]);
            v[u] = load(values, position(u) + STRIDE);
#pragma unroll
            for (int h = 0; h < SHARING; h++)
#pragma unroll
                for (int j = 0; j < 8; j++) acc[h][j] = fmaf(score[u][h], f[j], acc[h][j]);
        }
    }
    // First the warp's positions are brought together, then the warps.
#pragma unroll
    for (int h = 0; h < SHARING; h++) {
#pragma unroll
        for (int o = LANES; o < 32; o *= 2) {
            const float most = fmaxf(top[h], __shfl_xor_sync(~0u, top[h], o)), less = exp2f(top[h] - most);
            top[h] = most;
            total[h] *= less;
            total[h] += __shfl_xor_sync(~0u, total[h], o);
#pragma unroll
            for (int j = 0; j < 8; j++) {
                acc[h][j] *= less;
                acc[h][j] += __shfl_xor_sync(~0u, acc[h][j], o);
            }
        }
        if (lane < LANES)
#pragma unroll
            for (int j = 0; j < 8; j++) sums[warp][h][part * 8 + j] = acc[h][j];
        if (lane == 0) tops[warp][h] = top[h], totals[warp][h] = total[h];
    }
    __syncthreads();
    for (int i = threadIdx.x; i < SHARING * D; i += 32 * WARPS) {
        const int h = i / D, d = i % D, at = (head * SHARING + h) * splits + split;
        float most = NOTHING, sum = 0, all = 0;
        for (int w = 0; w < WARPS; w++) most = fmaxf(most, tops[w][h]);
        for (int w = 0; w < WARPS; w++) {
            const float less = exp2f(tops[w][h] - most);
            sum += less * sums[w][h][d];
            all += less * totals[w][h];
        }
        out.sums[(size_t)at * D + d] = sum;
        if (d == 0) out.scale[at] = make_float2(most, all);
    }
}

constexpr int COMBINERS = 512;
template <int D>
static __global__ __launch_bounds__(COMBINERS) void combine_k(Partial in, int splits, float* y) {
    constexpr int GROUPS = COMBINERS / D;
    __shared__ float2 scale[MOST_SPLITS];
    __shared__ float sums[GROUPS][D];
    const int head = blockIdx.x, d = threadIdx.x % D, group = threadIdx.x / D;
    let_next_kernel_start();
    wait_for_kernels_before();
    if (threadIdx.x < splits) scale[threadIdx.x] = __ldcg(in.scale + head * splits + threadIdx.x);
    float of_split[MOST_SPLITS / GROUPS];  // all loads in flight
#pragma unroll
    for (int i = 0; i < MOST_SPLITS / GROUPS; i++) {
        const int s = i * GROUPS + group;
        of_split[i] = s < splits ? __ldcg(in.sums + ((size_t)head * splits + s) * D + d) : 0.0f;
    }
    __syncthreads();
    float most = NOTHING, all = 0, sum = 0;
    for (int s = 0; s < splits; s++) most = fmaxf(most, scale[s].x);
    for (int s = 0; s < splits; s++) all += exp2f(scale[s].x - most) * scale[s].y;
#pragma unroll
    for (int i = 0; i < MOST_SPLITS / GROUPS; i++) {
        const int s = i * GROUPS + group;
        if (s < splits) sum += exp2f(scale[s].x - most) * of_split[i];
    }
    sums[group][d] = sum;
    __syncthreads();
    if (group > 0) return;
    for (int g = 1; g < GROUPS; g++) sum += sums[g][d];
    y[head * D + d] = sum / all;
}

static double half_value(uint16_t v) {  // normal numbers only
    return (v & 0x8000 ? -1 : 1) * std::ldexp(1.0 + (v & 1023) / 1024.0, (v >> 10 & 31) - 15);
}

template <int D>
struct Attention {
    const Memory& pool;
    size_t pool_size;
    int depth;
    double ceiling;
    size_t bytes;
    Walk walk;
    Memory q, y, sums, scale;

    Attention(const Memory& pool, size_t pool_size, int depth, double ceiling)
        : pool(pool), pool_size(pool_size), depth(depth), ceiling(ceiling), bytes((size_t)4 * KV_HEADS * depth * D),
          walk(pool, pool_size, bytes), q(HEADS * D * 2), y(HEADS * D * 4), sums((size_t)HEADS * MOST_SPLITS * D * 4),
          scale(HEADS * MOST_SPLITS * 8) {
        fill(q.p, HEADS * D * 2, 0x83ff83ff, 0x40004000, 42);  // 2 to 4, of any sign
    }
    std::string name() const { return text("attention/%d_heads_of_%d/depth_%d", HEADS, D, depth); }
    static int splits_of(int blocks) { return blocks * sm_count / KV_HEADS; }

    void run(const char* kv, int splits, How first, How how) {
        const Partial partial = {sums.as<float>(), scale.as<float2>()};
        launch(attention_k<D>, KV_HEADS * splits, 32 * WARPS, 0, first, (const uint4*)kv, q.as<__half>(), partial, depth, splits);
        launch(combine_k<D>, HEADS, COMBINERS, 0, how, partial, splits, y.as<float>());
    }
    std::vector<float> result() {
        std::vector<float> v(HEADS * D);
        CK(cudaStreamSynchronize(stream));
        CK(cudaMemcpy(v.data(), y.p, v.size() * 4, cudaMemcpyDeviceToHost));
        return v;
    }
    template <class T>
    static std::vector<T> from_card(const void* p, size_t n) {
        std::vector<T> v(n);
        CK(cudaMemcpy(v.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost));
        return v;
    }
    // The largest |y - exact| / sum of |terms| of one head.
    double error_of(int head, const std::vector<float>& result) {
        const size_t of_head = (size_t)depth * D;
        const uint16_t* kv = pool.as<uint16_t>() + head / SHARING * of_head;
        auto query = from_card<uint16_t>(q.as<uint16_t>() + head * D, D), keys = from_card<uint16_t>(kv, of_head),
             values = from_card<uint16_t>(kv + KV_HEADS * of_head, of_head);
        std::vector<double> x(D), weight(depth), sum(D), magnitude(D);
        for (int j = 0; j < D; j++) x[j] = half_value(query[j]) / std::sqrt((double)D);
        double most = -INFINITY, total = 0, worst = 0;
        for (int t = 0; t < depth; t++) {
            for (int j = 0; j < D; j++) weight[t] += x[j] * half_value(keys[(size_t)t * D + j]);
            most = std::fmax(most, weight[t]);
        }
        for (int t = 0; t < depth; t++) {
            weight[t] = std::exp(weight[t] - most);
            total += weight[t];
            for (int j = 0; j < D; j++) {
                const double term = weight[t] * half_value(values[(size_t)t * D + j]);
                sum[j] += term;
                magnitude[j] += std::fabs(term);
            }
        }
        for (int j = 0; j < D; j++) {
            const double error = std::fabs(result[head * D + j] - sum[j] / total) / (magnitude[j] / total);
            worst = std::isfinite(error) ? std::fmax(worst, error) : INFINITY;
        }
        return worst;
    }
    void compare() {
        double worst = 0;
        for (int blocks : {1, 3}) {
            CK(cudaMemsetAsync(y.p, 255, HEADS * D * 4, stream));
            run(pool.as<char>(), splits_of(blocks), AFTER, AFTER);
            auto v = result();
            for (int head : {0, 13, 31}) worst = std::fmax(worst, error_of(head, v));
        }
        put(name() + "/check", "rel", {worst}, "largest error / sum of magnitudes, 3 heads, two ways to split");
        if (!(worst < 1e-4)) throw std::runtime_error("wrong result, error " + number(worst));
    }
    void measure(const char* edges, How how) {
        const std::string of_edges = name() + "/" + edges;
        const int nodes = 16;
        Values best;
        std::string note;
        for (int blocks : {1, 2, 3, 4}) {
            if (late()) return;
            const int splits = splits_of(blocks);
            if (splits > MOST_SPLITS || splits < 1) continue;
            const char* last = nullptr;
            Graph graph([&] {
                for (int i = 0; i < nodes; i++) run(last = walk.next(), splits, i ? how : AFTER, how);
            });
            Values us = divided(timed(5, [&](int) { graph.run(); }, 120, 1), nodes);
            auto v = result();
            run(last, splits, AFTER, AFTER);
            if (v != result()) throw std::runtime_error("the graph's result differs in bits from plain launches");
            Values rate = gb_per_s(us, (double)bytes);
            put(text("%s/b%d", of_edges.c_str(), blocks), "us", us, text("%d splits", splits));
            if (replace_if_higher(best, rate))
                note = text("%.2f us, %.3f of ceiling, over %.2f us, %d splits (%d blocks an SM)", median(us),
                            median(rate) / ceiling, median(us) - bytes / ceiling * 1e-3, splits, blocks);
        }
        show(of_edges, "GB/s", best, note);
    }
};

template <int D>
static void attention_of(const Memory& pool, size_t pool_size, double ceiling) {
    for (int depth : {4096, 32768}) {
        Attention<D> attention(pool, pool_size, depth, ceiling);
        part(attention.name() + "/pdl", [&] { attention.measure("pdl", DEPENDENT); });
        part(attention.name() + "/graph", [&] { attention.measure("graph", AFTER); });
        part(attention.name() + "/check", [&] { attention.compare(); });
    }
}

void attention_section() {
    part("attention", [] {
        const size_t size = pool_bytes(8);
        Memory pool(size);
        fill(pool.p, size, 0x83ff83ff, 0x38003800, 41);  // f16 of 0.5 to 1, of any sign
        const double ceiling = read_ceiling(pool.p, size);
        show("attention/read_ceiling", "GB/s", {ceiling}, "1 GiB in one kernel");
        attention_of<64>(pool, size, ceiling);
        attention_of<128>(pool, size, ceiling);
    });
}
