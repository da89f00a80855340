#!/usr/bin/env bash
# Makes the root of a small Debian with Python, as a tar file, for machines that reach no Docker registry:
#     build.sh OUT.tar [SUITE]
# Needs root and debootstrap. The mirror is the one that this machine's apt uses, or $PBTBENCH_DEBIAN_MIRROR.
set -euo pipefail
out=$1
suite=${2:-trixie}

die() { echo "$1" >&2; exit 1; }
[ "$(id -u)" = 0 ] || die "the offline base can only be made by root"
command -v debootstrap > /dev/null || die "debootstrap is not installed; install it with apt"

mirror=${PBTBENCH_DEBIAN_MIRROR:-}
if [ -z "$mirror" ]; then
    targets() { apt-get indextargets --format '$(REPO_URI)' 'Identifier: Packages' "$@" 2> /dev/null || true; }
    mirror=$(targets 'Origin: Debian' 'Label: Debian' | sed -n 1p)
    # Before the first "apt-get update" nothing is known of origins; the first source is the main one.
    [ -n "$mirror" ] || mirror=$(targets | sed -n 1p)
fi
[ -n "$mirror" ] || die "apt on this machine uses no Debian mirror; name one in PBTBENCH_DEBIAN_MIRROR"
eval "$(apt-config shell proxy Acquire::http::Proxy)"
if [ -n "${proxy:-}" ]; then export http_proxy=${http_proxy:-$proxy} https_proxy=${https_proxy:-$proxy}; fi

work=$(mktemp -d "$(dirname "$out")/.tmp-offline-XXXXXX")
trap 'rm -rf "$work"' EXIT
root=$work/root
debootstrap --variant=minbase --include=python3,less "$suite" "$root" "$mirror" > "$work/log" 2>&1 \
    || die "debootstrap failed: $(tail -n 1 "$work/log")"

chroot "$root" /bin/sh -eu -c '
    useradd --uid 1000 --home-dir /tmp --no-create-home --shell /bin/bash agent
    python3 -m venv --without-pip /opt/venv
    install -d -o agent -g agent /workspace
'
# Documentation, translations and package lists only make it larger; apt sources would name a mirror.
rm -rf "$root"/usr/share/{doc,man,info,locale,i18n,lintian,python-wheels} "$root"/var/{cache,log}/* "$root"/var/lib/apt/lists/* \
    "$root"/etc/apt/sources.list "$root"/etc/apt/sources.list.d/* "$root"/etc/resolv.conf "$root"/etc/hostname \
    "$root"/debootstrap "$root"/dev/* "$root"/tmp/* "$root"/run/*
tar --create --file "$out" --sort=name --numeric-owner --one-file-system --directory "$root" .
