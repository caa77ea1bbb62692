// The models, and how shapes and tokens are measured.
#include "gemv_bench.cuh"

#include <algorithm>
#include <stdexcept>

#include "read.cuh"

const Model MODELS[2] = {
    {"1b",
     16,
     {{"qkv", 3072, 2048}, {"out", 2048, 2048}, {"gateup", 16384, 2048}, {"down", 2048, 8192}},
     {"head", 128256, 2048}},
    {"8b",
     32,
     {{"qkv", 6144, 4096}, {"out", 4096, 4096}, {"gateup", 28672, 4096}, {"down", 4096, 14336}},
     {"head", 128256, 4096}},
};
const Edges EDGES[2] = {{AFTER, "graph", {AT_EXIT}}, {DEPENDENT, "pdl", {BEFORE_WAIT, AT_LAST_PIECE}}};

Place Places::next(const Shape& s) {
    const size_t weights = g.weights_of(s.n, s.k), scales = g.scales_of(s.n, s.k);
    if (at.weights + weights > g.weight_bytes || at.scales + scales > g.scale_bytes) at = Place();
    Place here = at;
    at.weights += weights;
    at.scales += scales;
    return here;
}

std::string Bench::choice_name(const Choice& c) const {
    static const char* sources[4] = {"", "batched_", "copied_", "direct_"};
    const Kernel& kernel = g.kernels[c.kernel];
    std::string split = kernel.warps > 1 ? text("w%d_u%d_", kernel.warps, kernel.loads) : "";
    return text("%s%sr%d_b%d_t%d", sources[kernel.source], split.c_str(), kernel.rows, c.blocks, c.trigger);
}
std::string Bench::summary(const Choice& c, size_t bytes) const {
    const double rate = bytes / c.us * 1e-3;
    return text("%.0f GB/s %.3f of ceiling %.2f us %s", rate, rate / ceiling, c.us, choice_name(c).c_str());
}
void Bench::measure_ceiling() {
    part(base + "ceiling", [&] {
        ceiling = read_ceiling(g.w.p, g.weight_bytes);
        show(base + "ceiling", "GB/s", {ceiling}, "read only, 1 GiB");
    });
}

Choice Bench::best_choice(const Shape& shape, const Edges& edges, Places& places, const std::string& name, const Which& which) {
    const size_t bytes = g.bytes_of(shape);
    const int nodes = (int)std::min<size_t>(32, std::max<size_t>(g.weight_bytes / g.weights_of(shape.n, shape.k), 4));
    Choice best;
    Values best_rate;
    for (size_t kernel = 0; kernel < g.kernels.size(); kernel++)
        for (int blocks : {1, 2, 3, 4})
            for (Trigger trigger : edges.triggers) {
                Choice c = {(int)kernel, blocks, trigger};
                if (!which(g.kernels[kernel]) || !g.fits(c, shape) || late()) continue;
                Graph graph([&] {
                    for (int i = 0; i < nodes; i++) g.run(c, shape, places.next(shape), 0, i ? edges.how : AFTER);
                });
                Values us = divided(timed(5, [&](int) { graph.run(); }, 80, 1), nodes);
                c.us = median(us);
                Values rate = gb_per_s(us, (double)bytes);
                put(name + "/" + choice_name(c), "GB/s", rate);
                if (replace_if_higher(best_rate, rate)) best = c;
            }
    if (!best_rate.empty()) put(name, "GB/s", best_rate, summary(best, bytes));
    return best;
}

void Bench::token(const Model& model, const Shapes& best, int e, How how, Carry carry) {
    Places places(g);
    const int products = model.layers * 4 + 1;
    auto shape_of = [&](int step) -> int { return step + 1 == products ? 4 : step % 4; };
    for (int step = 0; step < products; step++) {
        const Shape& shape = model.shape(shape_of(step));
        const bool last = step + 1 == products;
        Link link = {carry, last ? 0 : model.shape(shape_of(step + 1)).k};
        g.run(best[shape_of(step)].choice[e], shape, places.next(shape), step, step ? how : AFTER, nullptr, link);
        if (carry == BY_KERNEL && !last) g.prepare(step + 1, link.next_k, g.ready(step + 1), how);
    }
}
size_t Bench::token_bytes(const Model& model) const {
    size_t in_layer = 0;
    for (const Shape& shape : model.in_layer) in_layer += g.bytes_of(shape);
    return model.layers * in_layer + g.bytes_of(model.head);
}
void Bench::reset(const Model& model, Carry carry) {
    g.reset_activations();
    if (carry != GIVEN) g.prepare(0, model.in_layer[0].k, g.ready(0), AFTER);
}
std::vector<uint16_t> Bench::token_result(const Model& model) {
    std::vector<uint16_t> y(model.head.n);
    CK(cudaMemcpy(y.data(), g.activations(model.layers * 4 + 1), y.size() * 2, cudaMemcpyDeviceToHost));
    for (uint16_t v : y)
        if ((v & 0x7f80) == 0x7f80) throw std::runtime_error("the token's result isn't finite");
    return y;
}
std::vector<uint16_t> Bench::token_in_graph(const Model& model, const Shapes& best, int e, Carry carry, const std::string& name) {
    Graph graph([&] { token(model, best, e, EDGES[e].how, carry); });
    Values us = timed(11, [&](int) { graph.run(); }, 150, 2, [&] { reset(model, carry); });
    const double m = median(us), rate = token_bytes(model) / m * 1e-3;
    show(name, "us", us, text("%.0f tok/s %.0f GB/s %.3f of ceiling", 1e6 / m, rate, rate / ceiling));
    return token_result(model);
}
