// What it costs to start a kernel that does nothing: launched alone, from a graph, with programmatic dependent launch (PDL).
#include "device.cuh"
#include "run.cuh"
#include "sections.cuh"

template <bool EARLY>  // the next kernel may start before this one has waited, else only when it ends
static __global__ void dependent_k() {
    if (EARLY) let_next_kernel_start();
    wait_for_kernels_before();
}
static void launch_dependent(bool early, How how) {
    launch(early ? dependent_k<true> : dependent_k<false>, sm_count, 256, 0, how);
}
static std::function<void()> times(int n, const std::function<void(int)>& f) {
    return [=] {
        for (int i = 0; i < n; i++) f(i);
    };
}

static void plain_launches() {
    const int n = 500, many = 3000;
    auto empty = [](int) { launch_empty(); };
    auto dependent = [](int) { launch_dependent(true, DEPENDENT); };
    auto per_kernel = [](int n, const std::function<void(int)>& f, double spin_us) {
        return divided(timed(7, [&](int) { times(n, f)(); }, spin_us), n);
    };
    show("cost/plain_launch_host", "us", divided(host_timed(7, times(n, empty)).call, n), "host time of <<<>>>");
    show("cost/plain_launch_queued", "us", per_kernel(n, empty, 4000), "queue full: the card's own pace");
    show("cost/plain_launch_steady", "us", per_kernel(many, empty, 0), "host and card");
    show("cost/launch_ex_pdl_queued", "us", per_kernel(n, dependent, 6000), "no graph, PDL");
    show("cost/launch_sync_round_trip", "us", host_timed(50, launch_empty).done, "launch + cudaStreamSynchronize");
}
static void graph_of(const std::string& name, const std::function<void(int)>& node) {
    const int nodes = 200;
    part(name, [&] {
        Graph graph(times(nodes, node));
        show(name, "us", divided(timed(15, [&](int) { graph.run(); }, 300), nodes), "a kernel, 200 nodes");
        HostTimes host = host_timed(15, [&] { graph.run(); });
        show(name + "/host", "us", host.call, "host time of cudaGraphLaunch, 200 nodes");
        put(name + "/launch_to_sync", "us", host.done, "host, 200 nodes");
        auto four = [&](int) { times(4, [&](int) { graph.run(); })(); };
        put(name + "/x4", "us", divided(timed(7, four, 600), 4 * nodes), "a kernel, 4 graphs queued");
    });
}
static void small_graphs() {
    for (int nodes : {1, 2, 10, 65}) {
        Graph graph(times(nodes, [](int) { launch_empty(); }));
        auto host = host_timed(15, [&] { graph.run(); }).call;
        auto total = timed(15, [&](int) { graph.run(); }, 100);
        put(text("cost/graph_host_%d_nodes", nodes), "us", host, "host time of cudaGraphLaunch");
        show(text("cost/graph_total_%d_nodes", nodes), "us", total, "on the card, whole graph");
    }
}

void launch_section() {
    auto dependent = [](bool early) { return [=](int i) { launch_dependent(early, i ? DEPENDENT : AFTER); }; };
    part("cost/plain_launch", plain_launches);
    graph_of("cost/graph", [](int) { launch_empty(); });
    graph_of("cost/graph_pdl_early", dependent(true));
    graph_of("cost/graph_pdl_at_exit", dependent(false));
    part("cost/graph_small", small_graphs);
}
