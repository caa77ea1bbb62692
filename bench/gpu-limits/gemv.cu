// Decode GEMVs of Llama-3.2-1B and Llama-3.1-8B by shape, and all of a token's as one graph.
#include "gemv.cuh"

#include <algorithm>
#include <stdexcept>

#include "read.cuh"
#include "sections.cuh"

Gemv::Gemv(Format format, size_t weight_bytes)
    : format(format), weight_bytes(weight_bytes), scale_bytes(format == BF16 ? 4096 : weight_bytes / 8), w(weight_bytes),
      s(scale_bytes), xy(1 << 20), y32(1 << 20), kernels(gemv_kernels(format)) {
    // bf16: any sign, 2^-7 to 2^-6; int8: odd, so never 0; nibbles: any. Scales near 2^-13 and 2^-9 keep a chain of 129 in range.
    const uint32_t keep = format == BF16 ? 0x807f807f : ~0u, set = format == BF16 ? 0x3c003c00 : format == Q8 ? 0x01010101 : 0;
    fill(w.p, weight_bytes, keep, set, 11);
    fill(s.p, scale_bytes, 0x03ff03ff, format == Q8 ? 0x08000800 : 0x18001800, 12);
    reset_activations();
    for (Kernel& kernel : kernels) allow_shared(kernel.run, 100 * 1024);
}
void Gemv::reset_activations() {
    fill(activations(0), 65536, 0x80ff80ff, 0x3f003f00, 13);
}
bool Gemv::fits(const Choice& c, int k) const {
    int blocks = 0;
    CK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernels[c.kernel].run, 256, gemv_shared_bytes(format, k)));
    return blocks >= c.blocks;
}
void Gemv::run(const Choice& c, const Shape& shape, const Place& place, int step, How how, float* f32) {
    Args args = {};
    args.w = (const uint4*)(w.as<char>() + place.weights);
    args.s = s.as<char>() + place.scales;
    args.x = activations(step);
    args.y = activations(step + 1);
    args.y32 = f32;
    args.n = shape.n;
    args.k = shape.k;
    args.trigger = c.trigger;
    const Kernel& kernel = kernels[c.kernel];
    launch(kernel.run, std::min(c.blocks * sm_count, (shape.n / kernel.rows + 7) / 8), 256, gemv_shared_bytes(format, shape.k),
           how, args);
}

struct Model {
    const char* name;
    int layers;
    Shape in_layer[4], head;
};
static const Model MODELS[] = {
    {"1b",
     16,
     {{"qkv", 3072, 2048}, {"out", 2048, 2048}, {"gateup", 16384, 2048}, {"down", 2048, 8192}},
     {"head", 128256, 2048}},
    {"8b",
     32,
     {{"qkv", 6144, 4096}, {"out", 4096, 4096}, {"gateup", 28672, 4096}, {"down", 4096, 14336}},
     {"head", 128256, 4096}},
};

struct Edges {  // of a graph
    How how;
    const char* name;
    std::vector<Trigger> triggers;
};
static const Edges EDGES[] = {{AFTER, "graph", {AT_EXIT}}, {DEPENDENT, "pdl", {BEFORE_WAIT, AT_LAST_PIECE}}};

// One matrix after the other through the planes; from the start again when they end.
struct Places {
    const Gemv& g;
    Place at;
    explicit Places(const Gemv& g) : g(g) {}
    Place next(const Shape& s) {
        const size_t weights = g.weights_of(s.n, s.k), scales = g.scales_of(s.n, s.k);
        if (at.weights + weights > g.weight_bytes || at.scales + scales > g.scale_bytes) at = Place();
        Place here = at;
        at.weights += weights;
        at.scales += scales;
        return here;
    }
};

struct Measured {
    Choice choice[2];  // by EDGES
};

struct Bench {
    Gemv g;
    std::string base;
    double ceiling = 0;
    Bench(Format format, const char* name, size_t gib) : g(format, gib << 30), base(name + std::string("/")) {}

    std::string choice_name(const Choice& c) const { return text("r%d_b%d_t%d", g.kernels[c.kernel].rows, c.blocks, c.trigger); }
    std::string summary(const Choice& c, size_t bytes) const {
        const double rate = bytes / c.us * 1e-3;
        return text("%.0f GB/s %.3f of ceiling %.2f us %s", rate, rate / ceiling, c.us, choice_name(c).c_str());
    }
    std::vector<Choice> choices(const Edges& edges, int k) const {
        std::vector<Choice> all;
        for (size_t kernel = 0; kernel < g.kernels.size(); kernel++)
            for (int blocks : {1, 2, 3, 4})
                for (Trigger trigger : edges.triggers) {
                    Choice c = {(int)kernel, blocks, trigger};
                    if (g.fits(c, k)) all.push_back(c);
                }
        return all;
    }
    Choice best_choice(const Shape& shape, const Edges& edges, Places& places, const std::string& name) {
        const size_t bytes = g.bytes_of(shape);
        const int nodes = (int)std::min<size_t>(32, std::max<size_t>(g.weight_bytes / g.weights_of(shape.n, shape.k), 4));
        Choice best;
        Values best_rate;
        for (Choice c : choices(edges, shape.k)) {
            if (late()) break;
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
    Measured measure_shape(const Model& model, const Shape& shape) {
        const std::string name = base + model.name + "_" + shape.name;
        Measured best;
        part(name + "/check", [&] { check_gemv(g, shape, name + "/check"); });
        part(name, [&] {
            Places places(g);
            std::string line;
            for (int e = 0; e < 2; e++) {
                best.choice[e] = best_choice(shape, EDGES[e], places, name + "/" + EDGES[e].name);
                if (best.choice[e].us >= 1e30) continue;  // out of time
                line += text("%s%s %s", e ? " | " : "", EDGES[e].name, summary(best.choice[e], g.bytes_of(shape)).c_str());
            }
            say(name, line);
        });
        return best;
    }

    // All products of a token, each with the results of the one before as its activations.
    void token(const Model& model, const std::vector<Measured>& best, int e) {
        Places places(g);
        int step = 0;
        auto one = [&](const Shape& shape, int i) {
            g.run(best[i].choice[e], shape, places.next(shape), step, step ? EDGES[e].how : AFTER);
            step++;
        };
        for (int layer = 0; layer < model.layers; layer++)
            for (int i = 0; i < 4; i++) one(model.in_layer[i], i);
        one(model.head, 4);
    }
    size_t token_bytes(const Model& model) const {
        size_t in_layer = 0;
        for (const Shape& shape : model.in_layer) in_layer += g.bytes_of(shape);
        return model.layers * in_layer + g.bytes_of(model.head);
    }
    std::vector<uint16_t> token_in_graph(const Model& model, const std::vector<Measured>& best, int e, const std::string& name) {
        Graph graph([&] { token(model, best, e); });
        Values us = timed(11, [&](int) { graph.run(); }, 150, 2, [&] { g.reset_activations(); });
        const double m = median(us), rate = token_bytes(model) / m * 1e-3;
        show(name, "us", us, text("%.0f tok/s %.0f GB/s %.3f of ceiling", 1e6 / m, rate, rate / ceiling));
        std::vector<uint16_t> y(model.head.n);
        CK(cudaMemcpy(y.data(), g.activations(model.layers * 4 + 1), y.size() * 2, cudaMemcpyDeviceToHost));
        for (uint16_t v : y)
            if ((v & 0x7f80) == 0x7f80) throw std::runtime_error("the token's result isn't finite");
        return y;
    }
    void measure_token(const Model& model, const std::vector<Measured>& best) {
        const std::string name = base + "token_" + model.name;
        part(name, [&] {
            auto plain = token_in_graph(model, best, 0, name + "/graph");
            auto dependent = token_in_graph(model, best, 1, name + "/graph_pdl");
            if (plain != dependent) throw std::runtime_error("graph and PDL graph differ in bits");
            auto reset = [&] {
                g.reset_activations();
                CK(cudaStreamSynchronize(stream));
            };
            auto us = timed(5, [&](int) { token(model, best, 0); }, 0, 2, reset);
            show(name + "/plain_launches", "us", us, "no graph: host-bound?");
        });
    }
    void measure() {
        part(base + "ceiling", [&] {
            ceiling = read_ceiling(g.w.p, g.weight_bytes);
            show(base + "ceiling", "GB/s", {ceiling}, "read only, 1 GiB");
        });
        for (const Model& model : MODELS) {
            std::vector<Measured> best;
            for (const Shape& shape : model.in_layer) best.push_back(measure_shape(model, shape));
            best.push_back(measure_shape(model, model.head));
            measure_token(model, best);
        }
    }
};

void gemv_bf16_section() {
    Bench(BF16, "gemv_bf16", 8).measure();
}
void gemv_q8_section() {
    Bench(Q8, "gemv_q8", 4).measure();
}
void gemv_q4_section() {
    Bench(Q4, "gemv_q4", 4).measure();
}
