#!/usr/bin/env bash
# The hourly doctor. Runs every check whatever fails before it (no `set -e`), and says so itself where the Python
# environment is too broken to say anything. Exit 0: healthy; 1: findings.
here=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P) || exit 1
home=${BRAIN_HOME:-$HOME/.brain}
brain=$here/.venv/bin/brain
findings=0

say() {
  findings=1
  line="$(date -u +%Y-%m-%dT%H:%M:%SZ) error $1: $2  fix: $3"
  echo "$line" >&2
  if [ -d "$home" ]; then
    (umask 077; mkdir -p "$home/logs" && [ ! -L "$home/logs/doctor.log" ] && echo "$line" >> "$home/logs/doctor.log")
  fi
}

if [ ! -x "$brain" ]; then
  found=$(command -v brain 2> /dev/null)
  if [ -n "$found" ]; then
    brain=$found
  else
    say environment "$brain is not there" "make venv (in $here)"
  fi
fi

if [ -x "$brain" ]; then
  if ! version=$("$brain" --version 2>&1); then
    say environment "$brain --version failed: $(printf '%s' "$version" | head -n 1)" "make venv (in $here)"
  else
    BRAIN_SURFACE=${BRAIN_SURFACE:-launchd} "$brain" doctor "$@"
    code=$?
    case $code in
      0) ;;
      1) findings=1 ;;
      *) say doctor "brain doctor ended with $code" "$brain doctor" ;;
    esac
  fi
fi
exit "$findings"
