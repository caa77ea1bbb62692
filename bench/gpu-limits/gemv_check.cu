// Every GEMV kernel against float64 on the host, and all with the same order of sums against each other for equal bits.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <stdexcept>

#include "gemv.cuh"

static double bf16(uint16_t v) {
    uint32_t bits = (uint32_t)v << 16;
    float f;
    memcpy(&f, &bits, 4);
    return f;
}
static double f16(uint16_t v) {  // scales here are normal and positive
    return std::ldexp(1.0 + (v & 1023) / 1024.0, (v >> 10) - 15);
}
template <class T>
static std::vector<T> from_card(const void* p, size_t n) {
    std::vector<T> v(n);
    CK(cudaMemcpy(v.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost));
    return v;
}

// The activations as the kernels take them: rounded to 8 bits in blocks of 32, but for bf16.
static std::vector<double> activations(Gemv& g, int k) {
    auto x = from_card<uint16_t>(g.activations(0), k);
    std::vector<double> v(k);
    for (int i = 0; i < k; i += 32) {
        float most = 0;
        for (int j = 0; j < 32; j++) most = std::max(most, std::fabs((float)bf16(x[i + j])));
        const float scale = most * (1.0f / 127.0f), inverse = most > 0 ? 1.0f / scale : 0;
        for (int j = 0; j < 32; j++) {
            const float f = (float)bf16(x[i + j]);
            v[i + j] = g.format == BF16 ? f : (double)scale * std::nearbyint(f * inverse);
        }
    }
    return v;
}
static double weight(Format format, const std::vector<uint8_t>& row, const std::vector<uint16_t>& scales, int i) {
    const int block = i / 32, piece = i / PIECE, b = block % 64;  // b: the block in its piece
    if (format == BF16) return bf16((uint16_t)(row[2 * i] | row[2 * i + 1] << 8));
    if (format == Q8) return (int8_t)row[i] * f16(scales[piece * 64 + (b % 16) * 4 + b / 16]);
    const uint8_t byte = row[block * 16 + (i & 15)];
    return ((i & 16 ? byte >> 4 : byte & 15) - 8) * f16(scales[piece * 64 + (b % 32) * 2 + b / 32]);
}
// The largest |y - exact| / sum of |terms| of a few rows, from the bytes on the card.
static double largest_error(Gemv& g, const Shape& shape, const std::vector<float>& y) {
    const int n = shape.n, k = shape.k;
    const std::vector<double> x = activations(g, k);
    double worst = 0;
    for (long r : {0, 1, n / 3, n / 2 + 1, n - 2, n - 1}) {
        auto row = from_card<uint8_t>(g.w.as<char>() + g.weights_of(r, k), g.weights_of(1, k));
        auto scales = from_card<uint16_t>(g.s.as<char>() + g.scales_of(r, k), g.scales_of(1, k) / 2);
        double sum = 0, magnitude = 0;
        for (int i = 0; i < k; i++) {
            const double term = weight(g.format, row, scales, i) * x[i];
            sum += term;
            magnitude += std::fabs(term);
        }
        const double error = std::fabs(y[r] - sum) / magnitude;
        worst = std::isfinite(error) ? std::max(worst, error) : INFINITY;
    }
    return worst;
}
static std::vector<float> result(Gemv& g, const Shape& shape, const Choice& choice) {
    g.reset_activations();
    CK(cudaMemsetAsync(g.y32.p, 255, shape.n * 4, stream));  // NaN, so that what isn't written is seen
    CK(cudaMemsetAsync(g.ready(1), 255, g.ready_bytes(shape.n), stream));
    g.run(choice, shape, {}, 0, AFTER, g.y32.as<float>(), {GIVEN, shape.n});
    CK(cudaStreamSynchronize(stream));
    return from_card<float>(g.y32.p, shape.n);
}
// What the kernel made of its results for the next one, against what the kernel for that makes of them.
static void check_ready(Gemv& g, int n) {
    g.prepare(1, n, g.ready(0), AFTER);
    CK(cudaStreamSynchronize(stream));
    if (from_card<char>(g.ready(0), g.ready_bytes(n)) != from_card<char>(g.ready(1), g.ready_bytes(n)))
        throw std::runtime_error("a kernel's quantised results are wrong");
    for (unsigned v : from_card<unsigned>(g.arrived.p, n / 32))
        if (v != 0) throw std::runtime_error("a kernel left a counter of its results");
}

// The order of sums depends on how warps share a row, and on nothing else.
static std::pair<int, int> order_of_sums(const Kernel& kernel) {
    return {kernel.warps, kernel.warps == 1 ? 0 : kernel.loads};
}

void check_gemv(Gemv& g, const Shape& shape, const std::string& name) {
    std::map<std::pair<int, int>, std::vector<float>> first;
    double worst = 0;
    int kernels = 0;
    for (size_t i = 0; i < g.kernels.size(); i++) {
        const Kernel& kernel = g.kernels[i];
        if (parts_of_row(g.format, kernel, shape.k) < kernel.warps) continue;
        Choice choice;
        choice.kernel = (int)i;
        choice.blocks = 1 + (int)i % 2;
        std::vector<float> y = result(g, shape, choice);
        kernels++;
        if (kernel.quantises) check_ready(g, shape.n);
        std::vector<float>& same = first[order_of_sums(kernel)];
        if (!same.empty()) {
            if (memcmp(same.data(), y.data(), shape.n * 4)) throw std::runtime_error("kernels differ in bits");
            continue;
        }
        for (float v : y)
            if (!std::isfinite(v)) throw std::runtime_error("a result wasn't written, or isn't finite");
        worst = std::max(worst, largest_error(g, shape, y));
        same = std::move(y);
    }
    put(name, "rel", {worst}, text("largest error / sum of magnitudes, 6 rows, %d kernels of equal bits by order", kernels));
    if (!(worst < 1e-5)) throw std::runtime_error("wrong result, error " + number(worst));
}
