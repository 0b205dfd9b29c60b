// SPDX-License-Identifier: Apache-2.0
// loads NAME SCALE: one load, as often as SCALE says; 0 does nothing but start and end. Prints what the process used.
#include "load.hpp"

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		load::Load *run;
	} kLoads[] = {
		{ "simple", load::simple },         { "factors", load::factors },     { "covers", load::covers },
		{ "random_large", load::random_large }, { "anything", load::anything }, { "inherit", load::inherit },
		{ "producers", load::producers },   { "mixed", load::mixed },
	};
	for (const auto &entry : kLoads) {
		if (argc == 3 && !std::strcmp(argv[1], entry.name)) {
			entry.run(static_cast<unsigned>(std::atoi(argv[2])));
			load::report();
			return 0;
		}
	}
	std::fprintf(stderr, "loads NAME SCALE\n");
	return 2;
}
