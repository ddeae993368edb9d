#!/usr/bin/env bash
# Names the standard tools that the tests talk to and this machine lacks, and installs them where it can: as
# root on a system with apt. Elsewhere it lists what to install; a test that needs an absent tool then
# skips and names it. With CI=true nothing may be absent, and nothing is skipped.
#
# tools.sh bench does the same for the programs that the benchmark measures beside; what is absent is left out there.
set -euo pipefail
PATH=$PATH:/usr/sbin:/sbin

# What must work, and the Debian package that brings it.
needs=(
  "gcc            gcc"
  "make           make"
  "nbdinfo        libnbd-bin"
  "nbdcopy        libnbd-bin"
  "nbdkit         nbdkit"
  "qemu-io        qemu-utils"
  "qemu-img       qemu-utils"
  "fio            fio"
  "qemu-system-x86_64  qemu-system-x86"
  "sg_inq         sg3-utils"
  "sg_vpd         sg3-utils"
  "tshark         tshark"
  "mkfs.ext4      e2fsprogs"
  "e2fsck         e2fsprogs"
  "strace         strace"
  "mount          mount"
  "dd             coreutils"
  "openssl        openssl"
  "gnutls-cli     gnutls-bin"
  "systemd-analyze  systemd"
  "mandoc         mandoc"
  "groff          groff-base"
  "zsh            zsh"
  "fish           fish"
  "file:/usr/share/bash-completion/bash_completion  bash-completion"
  "python3:nbd    python3-libnbd"
  "file:/usr/include/stdlib.h             libc6-dev"
  "file:/etc/ssl/certs/ca-certificates.crt  ca-certificates"
)

if [ "${1:-}" = bench ]; then
  needs=(
    "fio            fio"
    "nbdkit         nbdkit"
    "qemu-storage-daemon  qemu-system-common"
    "tgtd           tgt"
    "tgtadm         tgt"
    "iscsi-perf     libiscsi-bin"
  )
fi

have() {
  case $1 in
    python3:*) /usr/bin/python3 -c "import ${1#*:}" 2>/dev/null ;;
    file:*) [ -e "${1#*:}" ] ;;
    *) command -v "$1" >/dev/null ;;
  esac
}

# packages prints the packages whose tools are absent, each once.
packages() {
  local line what package
  for line in "${needs[@]}"; do
    read -r what package <<<"$line"
    have "$what" || echo "$package"
  done | sort -u
}

command -v go >/dev/null || { echo "test/tools.sh: no go command in PATH; go.mod names the version to install" >&2; exit 1; }

missing=$(packages | xargs)
[ -n "$missing" ] || exit 0

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "installing: $missing"
  export DEBIAN_FRONTEND=noninteractive
  log=$(mktemp)
  # shellcheck disable=SC2086 # one word a package
  { apt-get -q update && apt-get -q install -y --no-install-recommends $missing; } >"$log" 2>&1 </dev/null || tail -n 20 "$log" >&2
  rm -f "$log"
  missing=$(packages | xargs)
  [ -n "$missing" ] || exit 0
fi

echo "test/tools.sh: absent here: $missing" >&2
echo "  as root on Debian:  apt-get install $missing" >&2
[ "${1:-}" != bench ] || exit 0
if [ "${CI:-}" = true ]; then
  exit 1
fi
echo "  tests that need them will skip" >&2
