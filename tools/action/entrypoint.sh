#!/bin/sh
# What a container runs: sharespec, as the owner of the folder that is mounted, unless `docker run --user` says who.
set -eu
user=$(stat --format %u .) group=$(stat --format %g .)
if [ "$(id -u)" -eq 0 ] && [ "$user" -ne 0 ]; then
    exec setpriv --reuid "$user" --regid "$group" --clear-groups sharespec "$@"
fi
exec sharespec "$@"
