#!/usr/bin/env bash
# Runs every test for a GPU that comes with this script, then every benchmark, and prints a table.
# Needs bash, coreutils, sed, grep, tar, xz or else python3, and a CUDA driver. The exit code is 1 if anything failed.
#
#   TEST_SECONDS    the time a test program may take (120)
#   BENCH_SECONDS   the time a benchmark may take (300)
#   OUT             a folder for the complete output and the report
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
test_seconds=${TEST_SECONDS:-120}
bench_seconds=${BENCH_SECONDS:-300}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
out=${OUT:-$scratch/out}
mkdir -p "$out"

# The archive's content. Python has the same decoder, for machines without the program.
decompressed() {
    if command -v xz >/dev/null; then
        xz --decompress --stdout "$1"
    elif command -v python3 >/dev/null; then
        python3 -c 'import lzma, shutil, sys
with lzma.open(sys.argv[1]) as archive: shutil.copyfileobj(archive, sys.stdout.buffer, 1 << 20)' "$1"
    else
        echo "$1 cannot be unpacked: there is neither xz nor python3" >&2
        return 1
    fi
}

programs=$here
if [[ -e $here/programs.tar.xz ]]; then
    programs=$scratch/programs
    mkdir "$programs"
    decompressed "$here/programs.tar.xz" | tar --extract --file=- --directory="$programs" || exit 1
fi

now() { local us=${EPOCHREALTIME/[.,]/}; echo "$us"; }
seconds_since() { local us=$(($(now) - $1)); printf '%d.%d' $((us / 1000000)) $((us / 100000 % 10)); }

# The number before a word of the test runner's last line; 0 if it never came so far.
counted() { sed -n "s/^test result: .* \([0-9]*\) $2;.*/\1/p" "$1" | tail -n 1 | grep . || echo 0; }

# One test in a process of its own; says what became of it.
alone() {
    local program=$1 name=$2 log=$3 code=0
    echo "=== $name, alone" >>"$log"
    timeout -k 5 "$test_seconds" "$program" --ignored --exact --test-threads=1 --nocapture "$name" >>"$log" 2>&1 || code=$?
    case $code in
        0) echo passed ;;
        124 | 137) echo "ran longer than $test_seconds s" ;;
        101) echo failed ;;
        *) echo "ended with code $code" ;;
    esac
}

# All tests of one program in one process; if that does not come to its end, each in its own.
run_program() {
    local program=$1 name log started passed failed verdict
    local names=() failures=()
    name=$(basename "$program")
    log=$out/$name.log
    mapfile -t names <"$program.list"
    started=$(now)
    timeout -k 5 "$test_seconds" "$program" --ignored --exact --test-threads=1 "${names[@]}" >"$log" 2>&1
    if grep -q '^test result: ' "$log"; then
        passed=$(counted "$log" passed)
        failed=$(counted "$log" failed)
        mapfile -t failures < <(grep -E '^    [^ ]+::cuda$' "$log" | sed 's/^ *//' | sort -u)
        local missing=$((${#names[@]} - passed - failed))
        if ((missing > 0)); then
            failed=$((failed + missing))
            failures+=("$missing listed tests did not run")
        fi
    else
        passed=0 failed=0
        for test in "${names[@]}"; do
            verdict=$(alone "$program" "$test" "$log")
            if [[ $verdict == passed ]]; then
                passed=$((passed + 1))
            else
                failed=$((failed + 1))
                failures+=("$test ($verdict)")
            fi
        done
        failures+=("the tests together did not come to an end; see $name.log")
        # All well alone, but not together: that is a failure, too.
        ((failed > 0)) || failed=1
    fi
    printf '%-36s %8d %8d %9s\n' "$name" "$passed" "$failed" "$(seconds_since "$started")"
    printf '    %s\n' "${failures[@]}" | grep -v '^ *$'
    total_passed=$((total_passed + passed))
    total_failed=$((total_failed + failed))
}

run_benchmark() {
    local program=$1 name log code=0
    name=$(basename "$program")
    log=$out/$name.bench.txt
    printf '\n%s\n' "$name"
    timeout -k 5 "$bench_seconds" "$program" --bench >"$log" 2>&1 || code=$?
    sed 's/^/    /' "$log"
    if ((code != 0)); then
        printf '    ended with code %d\n' "$code"
        benches_failed=$((benches_failed + 1))
    fi
}

main() {
    local started total_passed=0 total_failed=0 benches_failed=0
    started=$(now)
    nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null
    printf '%-36s %8s %8s %9s\n' "test program" passed failed seconds
    for list in "$programs"/tests/*.list; do
        [[ -e $list ]] && run_program "${list%.list}"
    done
    printf '%-36s %8d %8d %9s\n' total "$total_passed" "$total_failed" "$(seconds_since "$started")"
    for bench in "$programs"/benches/*; do
        [[ -x $bench ]] && run_benchmark "$bench"
    done
    ((benches_failed == 0)) || printf '\n%d benchmarks failed\n' "$benches_failed"
    ((total_failed == 0 && benches_failed == 0))
}

main | tee "$out/report.txt"
exit "${PIPESTATUS[0]}"
