#pragma once
#include "run.cuh"

using RateRun = std::function<void(int rounds, unsigned* out, unsigned long long* span)>;

// Shows operations a second, in 10^12. instructions_of_sm: of all threads of an SM in a round; operations: of one of those;
// ms: how long to run.
void measure_rate(const std::string& name, const RateRun& start, double instructions_of_sm, double operations, const char* unit,
                  double ms);
