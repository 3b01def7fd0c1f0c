#!/usr/bin/env bash
# Starts MySQL, Valkey and Redis of Debian's unstable distribution next to the system's servers.
#
#   newest-servers.sh MYSQL_PORT VALKEY_PORT REDIS_PORT
#
# Unpacks 100 MB of packages into a temporary folder, starts the servers on these ports of
# 127.0.0.1, and prints their versions, one on each line. When the input of this script ends, it
# ends them and removes the folder. Needs root, a network, apt-get and dpkg-deb. The packages bring
# their own C library. Nothing is installed into the system, and its package lists stay as they are.
set -euo pipefail
mysql_port=$1 valkey_port=$2 redis_port=$3
dir=$(mktemp --directory --tmpdir keyscope-newest-XXXXXX)
root=$dir/root
servers=()

clean_up() {
  for server in "${servers[@]}"; do kill "$server" 2>/dev/null || true; done
  wait
  rm -rf "$dir"
}
trap clean_up EXIT

unpack() {
  local uri options packages
  uri=$(grep -hm1 '^URIs' /etc/apt/sources.list.d/debian.sources | awk '{print $2}')
  mkdir -p "$dir"/{lists/partial,cache/archives/partial,debs}
  local key=/usr/share/keyrings/debian-archive-keyring.gpg
  echo "deb [signed-by=$key] $uri sid main" >"$dir/sources.list"
  cp /var/lib/dpkg/status "$dir/status"
  options=(
    -o "Dir::Etc::sourcelist=$dir/sources.list" -o Dir::Etc::sourceparts=/dev/null
    -o "Dir::State::lists=$dir/lists" -o "Dir::State::status=$dir/status"
    -o "Dir::Cache=$dir/cache" -o APT::Sandbox::User=root -o APT::Update::Error-Mode=any
  )
  apt-get "${options[@]}" -qq update
  # Without the packages that set up a system.
  packages=$(
    for name in mysql-server-core valkey-server redis-server; do
      apt-cache "${options[@]}" depends --recurse --no-recommends --no-suggests --no-conflicts \
        --no-breaks --no-replaces --no-enhances "$name"
    done | grep '^\w' | sort -u |
      grep -vE '^(perl|debconf|adduser|passwd|login|systemd|dpkg|init|cdebconf|libpam|libaudit)' |
      grep -vE '^(libselinux|lsb)'
  )
  # shellcheck disable=SC2086 # one word for each package
  (cd "$dir/debs" && apt-get "${options[@]}" -qq download $packages)
  for deb in "$dir"/debs/*.deb; do dpkg-deb -x "$deb" "$root"; done
}

unpack >&2
loader=$(find "$root" -name 'ld-linux-*.so.*' | head -1)
libraries=$(find "$root" -name '*.so*' -exec dirname {} \; | sort -u | grep -v gconv | tr '\n' ':')
program() { exec "$loader" --library-path "$libraries" "$root/usr/$1" "${@:2}"; }

# mysqld refuses to run as root without a user.
data=$dir/data
install -d -o nobody "$data"
chmod 755 "$dir"
mysql=(
  --no-defaults "--basedir=$root/usr" "--datadir=$data/mysql" --user=nobody
  "--lc-messages-dir=$root/usr/share/mysql" "--plugin-dir=$root/usr/lib/mysql/plugin"
  "--character-sets-dir=$root/usr/share/mysql/charsets" --secure-file-priv= --mysqlx=OFF
)
(program sbin/mysqld "${mysql[@]}" --initialize-insecure >"$dir/mysql.log" 2>&1)
files=("--socket=$data/socket" "--pid-file=$data/pid")
(program sbin/mysqld "${mysql[@]}" "${files[@]}" --bind-address=127.0.0.1 \
  "--port=$mysql_port" >"$dir/mysql.log" 2>&1) &
servers+=("$!")
in_memory=(--bind 127.0.0.1 --save '' --daemonize no --dir "$data")
(program bin/valkey-server --port "$valkey_port" "${in_memory[@]}" >"$dir/valkey.log" 2>&1) &
servers+=("$!")
(program bin/redis-server --port "$redis_port" "${in_memory[@]}" >"$dir/redis.log" 2>&1) &
servers+=("$!")

for _ in $(seq 60); do
  grep -q 'ready for connections' "$dir/mysql.log" && break
  sleep 1
done
if ! grep -q 'ready for connections' "$dir/mysql.log"; then
  tail -5 "$dir/mysql.log" >&2
  exit 1
fi
for name in sbin/mysqld bin/valkey-server bin/redis-server; do
  (program "$name" --version) | grep -oE '[0-9]+\.[0-9]+\.[0-9]+' | head -1
done
cat >/dev/null
