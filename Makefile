# Godwit: `make demo` runs the main job on real data, `make test` runs everything. `make help` lists the rest.
# Every target starts from a plain clone: tools/setup.py installs what is missing into .venv and says what it cannot.

PYTHON ?= python3
VENV   := .venv
GODWIT := $(VENV)/bin/godwit
DATA   := build/data/flights.parquet
PREFIX ?= /usr/local

.PHONY: help demo driver-demo test wheel install lint spec bench fmax board mutate hunt setup setup-test format clean

help:
	@echo "make demo     set up what the main job needs, then split a real table on the simulated card"
	@echo "make test     set up the test tools, then run every test"
	@echo "make driver-demo  a Linux guest with the driver, and a program in it that uses the simulated card"
	@echo "make wheel    one wheel for pip, in build/dist: everything that godwit needs in any folder"
	@echo "make install  headers, libraries, pkg-config and CMake files for C and C++: PREFIX=/usr/local DESTDIR="
	@echo "make lint     linters of every language"
	@echo "make bench    every benchmark suite: tables, and plots in build/bench"
	@echo "make fmax     clock of the main blocks (nextpnr, ECP5)"
	@echo "make board    the card \`ecp5\` as a bitstream for an OrangeCrab (nextpnr; hours; BOARD=--netlist ends before placement)"
	@echo "make mutate   single faults put into the RTL, and who finds them (hours; MUTATE='--sample 5 l2' for less)"
	@echo "make hunt     random benches with fresh seeds until stopped (HUNT='--seeds 20 hw/test/heap' for less)"
	@echo "make spec     registers, layouts and configurations, generated into build/spec"
	@echo "make format   rewrite Rust and Python files in their standard format"
	@echo "make clean    remove build products (.venv and the card cache stay)"

hunt: setup-test
	@$(VENV)/bin/python tools/hunt.py $(HUNT)

mutate: setup-test
	@$(VENV)/bin/python hw/mutate/run.py $(MUTATE)

setup:
	@$(PYTHON) tools/setup.py demo

setup-test:
	@$(PYTHON) tools/setup.py test

demo: setup
	@$(GODWIT) data flights --output $(DATA)
	@$(GODWIT) run split --input $(DATA) --column dep_delay --where '> 15' --output-dir build/demo

driver-demo: setup
	@$(GODWIT) data flights --output $(DATA)
	@$(GODWIT) vm demo --input $(DATA)

test: setup-test
	@$(VENV)/bin/python tools/test.py

wheel: setup
	@$(VENV)/bin/python tools/package.py wheel build/dist

install: setup
	@$(VENV)/bin/python tools/install.py "$(PREFIX)" "$(DESTDIR)"

lint: setup-test
	@$(VENV)/bin/python tools/lint.py

spec: setup
	@$(VENV)/bin/python -m godwit.spec generate --out build/spec

bench: setup-test
	@for suite in $$($(GODWIT) bench --list); do $(GODWIT) bench $$suite || exit 1; done

fmax: setup-test
	@$(VENV)/bin/python hw/synth/synth.py fmax

board: setup-test
	@$(VENV)/bin/python hw/board/board.py $(BOARD)

format: setup-test
	@cargo fmt --all
	@$(VENV)/bin/ruff format python hw kernels bench tools card core driver conftest.py
	@$(VENV)/bin/ruff check --fix python hw kernels bench tools card core driver conftest.py

clean:
	@rm -rf build target
