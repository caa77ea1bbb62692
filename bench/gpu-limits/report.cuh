// What a section reports: a line of JSON a figure, written at once, and a table on standard output.
#pragma once
#include <string>
#include <vector>

using Values = std::vector<double>;

double now();  // seconds
double median(Values v);
std::string text(const char* format, ...);
std::string number(double v);

bool open_report(const char* path);  // appends to what is there
void set_deadline(double seconds);
bool late();

void put(const std::string& name, const char* unit, const Values& v, const std::string& note = "");
void show(const std::string& name, const char* unit, const Values& v, const std::string& note = "");  // in the table, too
void say(const std::string& name, const std::string& line);  // a line of the table alone, which sums up several figures
void fail(const std::string& name, const std::string& why);
