// Ceilings and costs of a Hopper card, as a text-generation engine meets them. Usage: limits OUT.json [SECTION...]
// The program starts itself once a section, with a deadline each, so that a hang or a lost context costs one section only.
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "run.cuh"
#include "sections.cuh"

struct Section {
    const char* name;
    double seconds;
    void (*measure)();
};
static const Section SECTIONS[] = {
    {"info", 8, info_section},
    {"read", 24, read_section},
    {"launch", 10, launch_section},
    {"chain", 14, chain_section},
    {"sync", 10, sync_section},
    {"rates", 8, rates_section},
    {"mix", 8, mix_section},
    {"ring", 8, ring_section},
    {"copy", 12, copy_section},
    {"while", 8, while_section},
    {"split_q4", 22, split_q4_section},
    {"split_q8", 22, split_q8_section},
    {"split_bf16", 20, split_bf16_section},
    {"wgmma", 8, wgmma_section},
    {"attention", 10, attention_section},
};
static const Section* section_named(const char* name) {
    for (const Section& section : SECTIONS)
        if (!strcmp(section.name, name)) return &section;
    fprintf(stderr, "no section is called %s\n", name);
    return nullptr;
}
static const char* ALONE = "--in-this-process";  // and then the section and its seconds
static std::string report_name(const Section& section) {
    return std::string("section/") + section.name;
}

static void raise_clocks() {
    const size_t bytes = 64 << 20;
    Memory memory(bytes);
    for (double start = now(); now() - start < 0.15;) {
        for (int i = 0; i < 20; i++) fill(memory.p, bytes, ~0u, 0, i);
        CK(cudaStreamSynchronize(stream));
    }
}
static int measure(const Section& section, double seconds) {
    set_deadline(seconds);
    try {
        CK(cudaSetDevice(0));
        CK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        CK(cudaDeviceGetAttribute(&sm_count, cudaDevAttrMultiProcessorCount, 0));
        raise_clocks();
        double start = now();
        section.measure();
        put(report_name(section), "s", {now() - start}, "time of the section");
    } catch (const std::exception& e) {
        fail(report_name(section), e.what());
        return 1;
    }
    return 0;
}

// Looks until `seconds` are over; never waits for ever on a process that hangs in the driver.
static bool ended_within(pid_t process, double seconds, int* status) {
    for (double end = now() + seconds; now() < end; usleep(5000))
        if (waitpid(process, status, WNOHANG)) return true;
    return false;
}
static void measure_in_process(const Section& section, char** argv) {
    fflush(stdout);
    pid_t process = fork();
    if (process == 0) {
        std::string seconds = std::to_string(section.seconds);
        execl("/proc/self/exe", argv[0], argv[1], ALONE, section.name, seconds.c_str(), (char*)nullptr);
        _exit(127);
    }
    if (process < 0) return fail(report_name(section), "no process could be started");
    int status = 0;
    if (!ended_within(process, section.seconds + 4, &status)) {
        kill(process, SIGKILL);
        ended_within(process, 2, &status);
        fail(report_name(section), "killed at its deadline");
    } else if (!WIFEXITED(status) || WEXITSTATUS(status) == 127) {
        fail(report_name(section), "ended by a signal or not started");
    }
}

int main(int argc, char** argv) {
    if (argc < 2) {
        fprintf(stderr, "usage: limits OUT.json [SECTION...]\n");
        return 2;
    }
    if (!open_report(argv[1])) {
        perror(argv[1]);
        return 2;
    }
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);  // no kernel gets loaded in the middle of a capture
    if (argc == 5 && !strcmp(argv[2], ALONE)) {
        const Section* section = section_named(argv[3]);
        return section ? measure(*section, atof(argv[4])) : 2;
    }
    std::vector<const Section*> sections;
    for (int i = 2; i < argc; i++) sections.push_back(section_named(argv[i]));
    if (argc == 2)
        for (const Section& section : SECTIONS) sections.push_back(&section);
    for (const Section* section : sections)
        if (!section) return 2;
    for (const Section* section : sections) measure_in_process(*section, argv);
    return 0;
}
