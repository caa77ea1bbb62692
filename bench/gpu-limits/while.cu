// A while node of a graph: many steps by one launch.
#include <stdexcept>

#include "run.cuh"
#include "sections.cuh"

static __global__ void set_k(int* p, int v) {
    *p = v;
}
static __global__ void condition_k(cudaGraphConditionalHandle handle, int* left) {
    int n = *left - 1;
    *left = n;
    cudaGraphSetConditional(handle, n > 0 ? 1u : 0u);
}

static cudaGraph_t while_graph(int kernels, int* left) {
    cudaGraph_t graph = nullptr, same = nullptr;
    cudaGraphConditionalHandle handle;
    cudaGraphNode_t node;
    cudaGraphNodeParams params = {};
    CK(cudaGraphCreate(&graph, 0));
    CK(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault));
    params.type = cudaGraphNodeTypeConditional;
    params.conditional.handle = handle;
    params.conditional.type = cudaGraphCondTypeWhile;
    params.conditional.size = 1;
    CK(cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &params));
    cudaGraph_t body = params.conditional.phGraph_out[0];
    CK(cudaStreamBeginCaptureToGraph(stream, body, nullptr, nullptr, 0, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < kernels; i++) launch_empty();
    launch(condition_k, 1, 1, 0, AFTER, handle, left);
    CK(cudaStreamEndCapture(stream, &same));
    return graph;
}
static void iterations(const std::string& name, int kernels) {
    Memory left(256);
    cudaGraph_t graph = while_graph(kernels, left.as<int>());
    cudaGraphExec_t exec = nullptr;
    CK(cudaGraphInstantiate(&exec, graph, 0));
    const int rounds = 500;
    auto run = [&](int) {
        launch(set_k, 1, 1, 0, AFTER, left.as<int>(), rounds);
        CK(cudaGraphLaunch(exec, stream));
    };
    Values us = timed(7, run, 200);
    int n = -1;
    CK(cudaMemcpy(&n, left.p, 4, cudaMemcpyDeviceToHost));
    if (n != 0) throw std::runtime_error(text("the while node ran a wrong number of times: %d were left", n));
    show(name, "us", divided(us, rounds), "body: empty kernels + the condition kernel");
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
}

void while_section() {
    for (int kernels : {0, 10}) {
        std::string name = text("cost/while_iteration_%d_inner", kernels);
        part(name, [&] { iterations(name, kernels); });
    }
}
