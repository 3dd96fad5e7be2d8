/** The configurations of nginx and Apache: they serve as much as they can themselves, and the rest from an upstream. */

interface Site {
  readonly path: string
  readonly key: string
  readonly certificate: string
  readonly root: string
  readonly port: number
  readonly upstream: string
}

/** What takes a program. */
const PROXIED = ['echo', 'held', 'half', 'swallow', 'seen', 'begun', 'ended', 'release']
const REDIRECTS = [302, 303, 307]
/** Commas in a cookie are no separators. */
const COOKIES = ['a=1; Path=/', 'b=2, 3; HttpOnly', 'c=4']

export function toNginxConfiguration(site: Site & { readonly retiringPort: number }): string {
  const { path, key, certificate, root, port, retiringPort, upstream } = site
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  // A location that adds fields has only its own.
  const facts = 'add_header x-protocol $server_protocol always; add_header x-connection $connection always;'
  const server = (port: number, more: string): string => `
      server {
        listen 127.0.0.1:${port} ssl http2;
        ${more}
        location = /nothing { return 204; }
        location = /retire { return 200 retired; }
        location = /cookies { ${facts} ${COOKIES.map((cookie) => `add_header set-cookie '${cookie}';`).join(' ')} }
        location = /trailers { add_trailer x-sum a1b2c3; }
        location = /compressed { gzip on; gzip_types text/plain; }
        # A connection that has brought requests before isn't the right one.
        location = /misdirected { if ($connection_requests != 1) { return 421; } return 200 directed; }
        ${REDIRECTS.map((status) => `location = /redirect/${status} { return ${status} /echo; }`).join('\n')}
        location ~ ^/(${PROXIED.join('|')}) {
          proxy_pass ${upstream};
          proxy_http_version 1.1;
          proxy_request_buffering off;
          proxy_buffering off;
          proxy_hide_header x-protocol;
          proxy_hide_header x-connection;
        }
      }`
  return `
    daemon off;
    pid ${path}/nginx.pid;
    error_log stderr notice;
    worker_processes 1;
    events { worker_connections 1024; }
    http {
      access_log off;
      default_type text/plain;
      root ${root};
      ssl_certificate ${certificate};
      ssl_certificate_key ${key};
      client_max_body_size 0;
      ${temporary.map((name) => `${name}_temp_path ${path}/${name};`).join('\n')}
      ${facts}
      ${server(port, '')}
      ${server(retiringPort, 'keepalive_requests 10;')}
    }`
}

export function toApacheConfiguration({ path, key, certificate, root, port, upstream }: Site): string {
  const modules = [
    ...[
      'mpm_event',
      'ssl',
      'http2',
      'authz_core',
      'headers',
      'alias',
      'rewrite',
      'mime',
      'filter',
      'deflate',
    ],
    ...['brotli', 'lua', 'proxy', 'proxy_http'],
  ]
  // User and Group count only for root, who may not serve himself.
  return `
    ServerRoot ${path}
    DefaultRuntimeDir ${path}
    PidFile ${path}/apache.pid
    ServerName localhost:${port}
    ErrorLog "|/bin/cat"
    LogLevel notice
    User nobody
    Group nogroup
    ${modules.map((name) => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`).join('\n')}
    TypesConfig /dev/null
    Listen 127.0.0.1:${port}
    Protocols h2 http/1.1
    SSLEngine on
    SSLSessionCache none
    SSLCertificateFile ${certificate}
    SSLCertificateKeyFile ${key}
    DocumentRoot ${root}
    RequestHeader set x-port "expr=%{REMOTE_PORT}"
    Header always unset x-protocol
    Header always set x-protocol "expr=%{SERVER_PROTOCOL}"
    Header always set x-connection "expr=%{REMOTE_PORT}"
    Header unset x-protocol
    Header unset x-connection
    <Location /cookies>
      ${COOKIES.map((cookie) => `Header add set-cookie "${cookie}"`).join('\n')}
    </Location>
    <Location /compressed>
      SetOutputFilter BROTLI_COMPRESS;DEFLATE
    </Location>
    RewriteEngine on
    RewriteRule ^/nothing$ - [R=204,L]
    LuaMapHandler ^/misdirected$ ${path}/misdirected.lua handle
    ${REDIRECTS.map((status) => `Redirect ${status} /redirect/${status} /echo`).join('\n')}
    ${PROXIED.map((name) => `ProxyPass /${name} ${upstream}/${name} flushpackets=on disablereuse=on`).join('\n')}`
}

/** For Apache. A connection that has brought such a request before isn't the right one. */
export function toMisdirectingScript(): string {
  return `
    function handle(request)
      -- The session's id as well: a port comes back.
      local port = request.headers_in['X-Port'] .. ' ' .. (request:ssl_var_lookup('SSL_SESSION_ID') or '')
      local count = (request:ivm_get(port) or 0) + 1
      request:ivm_set(port, count)
      if count > 1 then request.status = 421 end
      request:write('directed')
      return apache2.OK
    end`
}
