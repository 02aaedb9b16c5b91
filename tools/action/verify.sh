#!/usr/bin/env bash
# What the GitHub Action of action.yml runs: `sharespec verify` of a driver ($DRIVER) or a broker ($BOOTSTRAP), or
# `verify-client` of a share consumer ($CLIENT: a name, or the command of a driver), in the folder of the job, with
# its reports in $REPORTS. Inputs come as variables, so that none of them is read as shell.
set -euo pipefail
mkdir -p "$REPORTS"
rm -f "$REPORTS"/report.*  # Of an earlier step of the job.
command=verify arguments=(--seed "${SEED:-0}")
targets=0
for given in "${DRIVER:-}" "${BOOTSTRAP:-}" "${CLIENT:-}"; do [ -z "$given" ] || targets=$((targets + 1)); done
if [ "$targets" -ne 1 ]; then
    echo "::error title=sharespec::give one of exec, bootstrap and verify-client" >&2
    exit 2
fi
[ -z "${DRIVER:-}" ] || arguments+=(--exec "$DRIVER")
[ -z "${BOOTSTRAP:-}" ] || arguments+=(--bootstrap "$BOOTSTRAP" --profile "${PROFILE:-kafka}")
case "${CLIENT:-}" in
    '') ;;
    librdkafka | kafka | kafkats | franz-go | krafka | kafkit | kafrust | krabka | kacrab | spring-kafka | smallrye) command=verify-client arguments+=("$CLIENT") ;;
    *) command=verify-client arguments+=(--exec "$CLIENT") ;;
esac
[ -z "${SECONDS_TO_SEARCH:-}" ] || arguments+=(--seconds "$SECONDS_TO_SEARCH")
[ -z "${OPERATIONS:-}" ] || arguments+=(--operations "$OPERATIONS")
[ -z "${SEQUENCES:-}" ] || arguments+=(--sequences "$SEQUENCES")
[ -z "${KNOWN:-}" ] || arguments+=(--known "$KNOWN")
reports=(--html "$REPORTS/report.html" --junit "$REPORTS/report.xml" --markdown "$REPORTS/report.md")
status=0
# What a driver says is no command of a workflow.
token=$(head --bytes 16 /dev/urandom | od -An -tx1 | tr -d ' \n')
echo "::stop-commands::$token"
sharespec "$command" "${arguments[@]}" "${reports[@]}" --json > "$REPORTS/report.json" || status=$?
# The log has what the summary has; a summary may have a mebibyte, the page has everything.
if [ -f "$REPORTS/report.md" ]; then
    cat "$REPORTS/report.md"
    head --bytes 1000000 "$REPORTS/report.md" >> "${GITHUB_STEP_SUMMARY:-/dev/null}"
fi
echo "::$token::"
python "$(dirname "${BASH_SOURCE[0]}")/../outputs.py" "$REPORTS/report.json" >> "${GITHUB_OUTPUT:-/dev/null}"
exit "$status"
