#include "report.cuh"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdarg>
#include <cstdio>

static FILE* out = nullptr;
static double deadline = 0;

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
double median(Values v) {
    if (v.empty()) return NAN;
    std::sort(v.begin(), v.end());
    return v[v.size() / 2];
}
std::string text(const char* format, ...) {
    char buffer[400];
    va_list args;
    va_start(args, format);
    vsnprintf(buffer, sizeof buffer, format, args);
    va_end(args);
    return buffer;
}
std::string number(double v) {
    return std::isfinite(v) ? text("%.6g", v) : "null";
}

bool open_report(const char* path) {
    out = fopen(path, "a");
    return out != nullptr;
}
void set_deadline(double seconds) {
    deadline = now() + seconds;
}
bool late() {
    return now() > deadline;
}

static std::string without_quotes(std::string s) {
    for (char& c : s) {
        if (c == '"' || c == '\\') c = '\'';
        if ((unsigned char)c < 32) c = ' ';
    }
    return s;
}
static void write_line(const std::string& name, const char* unit, const Values& v, const std::string& note) {
    double least = v.empty() ? NAN : *std::min_element(v.begin(), v.end());
    double most = v.empty() ? NAN : *std::max_element(v.begin(), v.end());
    fprintf(out, "{\"name\":\"%s\",\"value\":%s,\"unit\":\"%s\",\"median_of\":%zu,\"min\":%s,\"max\":%s,\"note\":\"%s\"}\n",
            without_quotes(name).c_str(), number(median(v)).c_str(), unit, v.size(), number(least).c_str(), number(most).c_str(),
            without_quotes(note).c_str());
    fflush(out);
}
static void table_line(const std::string& name, const std::string& line) {
    printf("%-30s %s\n", name.c_str(), line.c_str());
    fflush(stdout);
}

void put(const std::string& name, const char* unit, const Values& v, const std::string& note) {
    write_line(name, unit, v, note);
}
void show(const std::string& name, const char* unit, const Values& v, const std::string& note) {
    write_line(name, unit, v, note);
    table_line(name, text("%8.5g %-7s %s", median(v), unit, note.c_str()));
}
void say(const std::string& name, const std::string& line) {
    table_line(name, line);
}
void fail(const std::string& name, const std::string& why) {
    write_line(name, "error", {}, why);
    table_line(name, "FAILED " + why);
}
