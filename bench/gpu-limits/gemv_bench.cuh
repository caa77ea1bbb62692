// Decode GEMVs of Llama-3.2-1B and Llama-3.1-8B by shape, and all of a token's as one graph.
#pragma once
#include "gemv.cuh"

struct Model {
    const char* name;
    int layers;
    Shape in_layer[4], head;
    const Shape& shape(int i) const { return i < 4 ? in_layer[i] : head; }
};
struct Edges {  // of a graph
    How how;
    const char* name;
    std::vector<Trigger> triggers;
};
extern const Model MODELS[2];
extern const Edges EDGES[2];

// One matrix after the other through the planes; from the start again when they end.
struct Places {
    const Gemv& g;
    Place at;
    explicit Places(const Gemv& g) : g(g) {}
    Place next(const Shape& s);
};

struct Measured {
    Choice choice[2];  // by EDGES
};
using Shapes = std::vector<Measured>;  // by Model::shape
using Which = std::function<bool(const Kernel&)>;

struct Bench {
    Gemv g;
    std::string base;
    double ceiling = 0;
    Bench(Format format, const char* name, size_t gib, std::vector<Kernel> kernels)
        : g(format, gib << 30, std::move(kernels)), base(name + std::string("/")) {}

    std::string choice_name(const Choice& c) const;
    std::string summary(const Choice& c, size_t bytes) const;
    void measure_ceiling();
    Choice best_choice(const Shape& shape, const Edges& edges, Places& places, const std::string& name, const Which& which);

    // All products of a token, each with the results of the one before as its activations, unless those are given.
    void token(const Model& model, const Shapes& best, int e, How how, Carry carry);
    size_t token_bytes(const Model& model) const;
    void reset(const Model& model, Carry carry);
    std::vector<uint16_t> token_result(const Model& model);
    std::vector<uint16_t> token_in_graph(const Model& model, const Shapes& best, int e, Carry carry, const std::string& name);
};
