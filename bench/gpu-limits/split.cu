// GEMVs by how their activations come and by how many warps share a row, and tokens of the best of each.
#include "gemv_split.cuh"

#include <stdexcept>

#include "gemv_bench.cuh"
#include "sections.cuh"

static const char* SOURCES[4] = {"staged", "batched", "copied", "direct"};

static std::vector<Kernel> all_kernels(Format f) {
    std::vector<Kernel> all = gemv_kernels(f);
    for (auto kernels : {split_batched(f), split_copied(f), split_direct(f), split_quantising(f)})
        all.insert(all.end(), kernels.begin(), kernels.end());
    return all;
}

// How a token is computed: by the best choice of some kernels for each shape, with activations carried in some way.
struct Way {
    const char* name;
    Source source;
    int most_warps;
    Carry carry;
};
static const Way WAYS[] = {
    {"staged", STAGED, 1, GIVEN},
    {"batched", BATCHED, 1, GIVEN},
    {"batched_split", BATCHED, 8, GIVEN},
    {"copied", COPIED, 1, GIVEN},
    {"copied_split", COPIED, 8, GIVEN},
    {"direct", DIRECT, 1, GIVEN},
    {"direct_split", DIRECT, 8, GIVEN},
    {"copied_split_by_kernel", COPIED, 8, BY_KERNEL},
    {"direct_split_by_kernel", DIRECT, 8, BY_KERNEL},
    {"copied_by_writer", COPIED, 1, BY_WRITER},
    {"copied_split_by_writer", COPIED, 8, BY_WRITER},
};

struct Split : Bench {
    Split(Format format, const char* name, size_t gib) : Bench(format, name, gib, all_kernels(format)) {}

    struct Best {
        Measured by[4][4];  // source, log2 of warps
    };
    Best measure_ways(const Model& model, const Shape& shape) {
        const std::string name = base + model.name + "_" + shape.name;
        Best best;
        part(name + "/check", [&] { check_gemv(g, shape, name + "/check"); });
        part(name, [&] {
            Places places(g);
            for (int e = 1; e >= 0; e--) {
                std::string line;
                for (int source = 0; source < 4; source++) {
                    line += text("%s%s", source ? " | " : "", SOURCES[source]);
                    for (int i = 0; i < 4; i++) {
                        if (i && (source == STAGED || shape.n > 8192)) continue;  // many rows have enough warps
                        const std::string which = text("%s_w%d", SOURCES[source], 1 << i);
                        Choice& c = best.by[source][i].choice[e];
                        c = best_choice(shape, EDGES[e], places, name + "/" + EDGES[e].name + "/" + which, [&](const Kernel& k) {
                            return k.source == source && k.warps == 1 << i && !k.quantises;
                        });
                        if (c.us < 1e30) line += text(" %d:%.2f", 1 << i, c.us);
                    }
                }
                say(name + "/" + EDGES[e].name, "us by warps a row: " + line);
            }
        });
        return best;
    }
    static Choice best_of(const Best& best, const Way& way, int e) {
        Choice c;
        for (int i = 0; 1 << i <= way.most_warps; i++) {
            const Choice& other = best.by[way.source][i].choice[e];
            if (other.us < c.us) c = other;
        }
        if (c.us >= 1e30) throw std::runtime_error("no choice was measured for a shape");
        return c;
    }
    // The same but for the activations' source and for whether the kernel quantises its results.
    Choice twin(const Choice& c, Source source, bool quantises) const {
        const Kernel& mine = g.kernels[c.kernel];
        Choice other = c;
        for (size_t i = 0; i < g.kernels.size(); i++) {
            const Kernel& k = g.kernels[i];
            other.kernel = (int)i;
            if (k.rows == mine.rows && k.warps == mine.warps && k.loads == mine.loads && k.source == source &&
                k.quantises == quantises)
                return other;
        }
        throw std::runtime_error("a kernel has no twin");
    }
    void measure_token_by(const Model& model, const std::vector<Best>& best, const Way& way, int e) {
        const std::string name = base + "token_" + model.name + "/" + way.name + "/" + EDGES[e].name;
        part(name, [&] {
            Shapes run, simple;
            std::string names;
            bool given = false;
            for (const Best& shape : best) {
                Measured m;
                m.choice[e] = best_of(shape, way, e);
                if (way.carry == BY_WRITER) m.choice[e] = twin(m.choice[e], COPIED, true);
                given = given || (way.carry == GIVEN && g.takes_ready(m.choice[e]));
                names += " " + choice_name(m.choice[e]);
                run.push_back(m);
                m.choice[e] = twin(m.choice[e], BATCHED, false);
                simple.push_back(m);
            }
            put(name + "/choices", "us", {}, names);
            auto y = token_in_graph(model, run, e, way.carry, name);
            // Given activations aren't those of the product before, so these can be compared with the same kernels only.
            reset(model, way.carry);
            token(model, given ? run : simple, e, AFTER, given ? way.carry : GIVEN);
            CK(cudaStreamSynchronize(stream));
            if (y != token_result(model)) throw std::runtime_error("differs in bits from plain launches of the simple kernels");
            if (way.source != STAGED || EDGES[e].how != AFTER) return;
            auto us = timed(5, [&](int) { token(model, run, e, AFTER, way.carry); }, 0, 2, [&] {
                reset(model, way.carry);
                CK(cudaStreamSynchronize(stream));
            });
            show(base + "token_" + model.name + "/" + way.name + "/plain_launches", "us", us, "no graph: host-bound?");
        });
    }
    void measure() {
        measure_ceiling();
        for (const Model& model : MODELS) {
            std::vector<Best> best;
            for (int i = 0; i < 5; i++) best.push_back(measure_ways(model, model.shape(i)));
            for (int e = 1; e >= 0; e--)
                for (const Way& way : WAYS)
                    if (way.carry == GIVEN || g.format != BF16) measure_token_by(model, best, way, e);
        }
    }
};

void split_bf16_section() {
    Split(BF16, "split_bf16", 8).measure();
}
void split_q8_section() {
    Split(Q8, "split_q8", 4).measure();
}
void split_q4_section() {
    Split(Q4, "split_q4", 4).measure();
}
