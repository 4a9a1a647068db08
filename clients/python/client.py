"""A program on NVIDIA's published Python packages, on a machine with eight H100.

Reports in TAP; exit code 1 if a check failed.
"""

import sys
import traceback

import devices
import ending
import graphs
import guide
import kernels
import memory
import misuse
import peers
import processes
import streams


def main():
    groups = (devices, streams, memory, peers, kernels, graphs, misuse, processes, guide, ending)
    checks = [check for group in groups for check in group.CHECKS]
    print(f"1..{len(checks)}", flush=True)
    failed = False
    for number, check in enumerate(checks, 1):
        outcome = "ok"
        try:
            check()
        except Exception:
            for line in traceback.format_exc().splitlines():
                print(f"# {line}")
            outcome, failed = "not ok", True
        print(f"{outcome} {number} - {check.__name__.replace('_', ' ')}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
