/**
 * Configurations of real servers: HTTP/2 by prior knowledge in front, an origin over HTTP/1.1 behind. None retries a request:
 * what the origin gets twice, the client has sent twice.
 */

/**
 * @typedef {object} Place
 * @property {number} port
 * @property {number} origin its port
 * @property {string} folder
 */

/** One process, as it is killed. @param {Place} place */
export const toNginx = ({ port, origin, folder }) => `
  daemon off;
  master_process off;
  pid ${folder}/pid;
  error_log /dev/null;
  events { worker_connections 4096; }
  http {
    access_log off;
    client_body_temp_path ${folder}/body;
    proxy_temp_path ${folder}/proxy;
    fastcgi_temp_path ${folder}/fastcgi;
    uwsgi_temp_path ${folder}/uwsgi;
    scgi_temp_path ${folder}/scgi;
    client_max_body_size 0;
    server {
      listen 127.0.0.1:${port} http2;
      location / {
        proxy_pass http://127.0.0.1:${origin};
        proxy_http_version 1.1;
        proxy_next_upstream off;
        proxy_request_buffering off;
        proxy_buffering off;
      }
    }
  }`

/** Where Debian has Apache's modules. */
const MODULES = '/usr/lib/apache2/modules'

/** User and Group count only for root. @param {Place} place */
export const toApache = ({ port, origin, folder }) => `
  ServerRoot ${folder}
  DefaultRuntimeDir ${folder}
  PidFile ${folder}/pid
  ServerName localhost
  ErrorLog /dev/null
  User nobody
  Group nogroup
  ${['mpm_event', 'http2', 'proxy', 'proxy_http', 'authz_core']
    .map((name) => `LoadModule ${name}_module ${MODULES}/mod_${name}.so`)
    .join('\n  ')}
  Listen 127.0.0.1:${port}
  Protocols h2c
  ProxyPass / http://127.0.0.1:${origin}/ disablereuse=On flushpackets=On`

/** @param {Place} place */
export const toHaproxy = ({ port, origin }) => `
global
  maxconn 4000
defaults
  mode http
  timeout connect 20s
  timeout client 60s
  timeout server 60s
  timeout tunnel 60s
  retries 0
frontend front
  bind 127.0.0.1:${port} proto h2
  default_backend back
backend back
  http-reuse never
  server origin 127.0.0.1:${origin}
`

/** @param {Place} place */
export const toH2o = ({ port, origin, folder }) => `
${process.getuid?.() === 0 ? 'user: root' : ''}
listen:
  host: 127.0.0.1
  port: ${port}
pid-file: ${folder}/pid
error-log: /dev/null
hosts:
  default:
    paths:
      /:
        proxy.reverse.url: http://127.0.0.1:${origin}/
        proxy.timeout.keepalive: 0
`

/** @param {Place} place */
export const toCaddy = ({ port, origin, folder }) => `
{
  admin off
  auto_https off
  storage file_system ${folder}
  log {
    output discard
  }
  servers {
    protocols h1 h2c
  }
}
http://:${port} {
  bind 127.0.0.1
  reverse_proxy 127.0.0.1:${origin} {
    flush_interval -1
    transport http {
      keepalive off
    }
  }
}
`

const EXTENSIONS = 'type.googleapis.com/envoy.extensions.filters'

/** @param {Place} place */
export function toEnvoy({ port, origin }) {
  const at = (/** @type {number} */ port_value) => ({ socket_address: { address: '127.0.0.1', port_value } })
  const route = { match: { prefix: '/' }, route: { cluster: 'origin', timeout: '0s' } }
  const manager = {
    '@type': `${EXTENSIONS}.network.http_connection_manager.v3.HttpConnectionManager`,
    stat_prefix: 'chaos',
    codec_type: 'HTTP2',
    http2_protocol_options: { allow_connect: true },
    upgrade_configs: [{ upgrade_type: 'websocket' }],
    http_filters: [
      {
        name: 'envoy.filters.http.router',
        typed_config: { '@type': `${EXTENSIONS}.http.router.v3.Router` },
      },
    ],
    route_config: { virtual_hosts: [{ name: 'all', domains: ['*'], routes: [route] }] },
  }
  const filters = [{ name: 'envoy.filters.network.http_connection_manager', typed_config: manager }]
  const endpoints = [{ lb_endpoints: [{ endpoint: { address: at(origin) } }] }]
  return JSON.stringify({
    static_resources: {
      listeners: [{ address: at(port), filter_chains: [{ filters }] }],
      clusters: [
        {
          name: 'origin',
          type: 'STATIC',
          connect_timeout: '20s',
          // A connection for each request: none is used again just as it ends.
          max_requests_per_connection: 1,
          load_assignment: { cluster_name: 'origin', endpoints },
        },
      ],
    },
  })
}
