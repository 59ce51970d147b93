# Commands that run side by side, since many keep one processor busy. Scripts source this file.
# shellcheck shell=bash

together=$(mktemp -d)
started=()
trap 'kill "${started[@]}" 2>/dev/null || true; rm -rf "$together"' EXIT

# Starts a command, whose output `finish` prints.
start() {
    "$@" >"$together/${#started[@]}" 2>&1 &
    started+=($!)
}

# Waits for all started commands and prints the output of each as a whole. Fails if one has failed.
finish() {
    local at failed=0
    for at in "${!started[@]}"; do
        wait "${started[at]}" || failed=1
        cat "$together/$at"
    done
    started=()
    return "$failed"
}
