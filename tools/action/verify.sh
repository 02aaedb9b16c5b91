#!/usr/bin/env bash
# What the GitHub Action of action.yml runs: `sharespec verify --exec` in the folder of the job, with
# its reports in $REPORTS. Inputs come as variables, so that none of them is read as shell.
set -euo pipefail
mkdir -p "$REPORTS"
arguments=(--exec "$DRIVER" --seed "${SEED:-0}")
[ -z "${SECONDS_TO_SEARCH:-}" ] || arguments+=(--seconds "$SECONDS_TO_SEARCH")
[ -z "${OPERATIONS:-}" ] || arguments+=(--operations "$OPERATIONS")
[ -z "${KNOWN:-}" ] || arguments+=(--known "$KNOWN")
reports=(--html "$REPORTS/report.html" --junit "$REPORTS/report.xml" --markdown "$REPORTS/report.md")
status=0
sharespec verify "${arguments[@]}" "${reports[@]}" || status=$?
# A summary may have a mebibyte; the page has everything.
if [ -n "${GITHUB_STEP_SUMMARY:-}" ] && [ -f "$REPORTS/report.md" ]; then
    head --bytes 1000000 "$REPORTS/report.md" >> "$GITHUB_STEP_SUMMARY"
fi
exit "$status"
