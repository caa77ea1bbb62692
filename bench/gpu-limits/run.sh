#!/bin/bash
# bash run.sh OUT [SECTION...]: builds the program for a Hopper card (nvcc, sm_90a) and runs all sections or those once. In OUT:
# limits.json has a line of JSON a figure, table.txt what is shown meanwhile, smi.csv clocks, power and temperature each second.
set -euo pipefail
out=${1:?usage: bash run.sh OUT [SECTION...]}
shift
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$out"
rm -f "$out/limits.json"
build=$(mktemp -d)
logger=
trap '[ -z "$logger" ] || kill "$logger"; rm -rf "$build"' EXIT

command -v nvcc >/dev/null || PATH=$PATH:/usr/local/cuda/bin
(cd "$here" && ls *.cu) | xargs -P "$(nproc)" -I{} \
    nvcc -gencode=arch=compute_90a,code=sm_90a -O3 -std=c++17 -c -o "$build/{}.o" "$here/{}"
nvcc -gencode=arch=compute_90a,code=sm_90a -o "$build/limits" "$build"/*.o

if command -v nvidia-smi >/dev/null; then
    nvidia-smi --query-gpu=timestamp,name,driver_version,clocks.sm,clocks.mem,power.draw,temperature.gpu --format=csv -l 1 \
        >"$out/smi.csv" &
    logger=$!
fi
"$build/limits" "$out/limits.json" "$@" | tee "$out/table.txt"
echo "$(wc -l <"$out/limits.json") figures, $(grep -c '"unit":"error"' "$out/limits.json" || true) failures"
