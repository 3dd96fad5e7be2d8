/**
 * What docs/conformance.md has, besides the rules of RFC 9113 and RFC 7541: areas, and the tests of each.
 */

/**
 * @typedef {object} Area
 * @property {string} what one plain sentence, without its full stop
 * @property {readonly string[]} files of tests; `*` stands for any part of a name
 *
 * @typedef {object} Group
 * @property {string} title
 * @property {string} text
 * @property {boolean} onAllLines on each line of Node, or on the newest alone
 * @property {readonly Area[]} areas
 */

/** @type {readonly Group[]} */
export const GROUPS = [
  {
    title: 'Vectors, and encoders of others',
    text: 'What others wrote, or what the RFCs print, byte by byte.',
    onAllLines: false,
    areas: [
      { what: 'RFC 7541, Appendix C, in both directions', files: ['test/protocol/hpack/appendix-c.test.ts'] },
      {
        what: 'Header blocks of Go, of nghttp2 and of Python’s `hpack`, and the published ones of the HTTP/2 Japan Community, decoded and encoded',
        files: ['test/protocol/hpack/vectors.test.ts'],
      },
      {
        what: 'Single frames, good and bad, ours and the published ones',
        files: ['test/protocol/frame-vectors.test.ts'],
      },
      {
        what: 'Blocks of our encoder, read by Go’s decoder and by nghttp2’s',
        files: ['test/protocol/hpack/real-encoders.test.ts'],
      },
      {
        what: 'Encoder and decoder against each other, any octets, tables of any size',
        files: ['test/protocol/hpack/{round-trip,wide-characters,plain-literals,kept-lists,encoder}.test.ts'],
      },
    ],
  },
  {
    title: 'Other RFCs of HTTP/2',
    text: '',
    onAllLines: true,
    areas: [
      {
        what: 'RFC 8441: extended CONNECT, WebSockets over HTTP/2, from Node’s and others’ servers',
        files: [
          'test/interop/websocket-*.test.ts',
          'test/api/tunnel*.test.ts',
          'test/session/tunnel-*.test.ts',
        ],
      },
      {
        what: 'RFC 9218: the field `priority`, PRIORITY_UPDATE, SETTINGS_NO_RFC7540_PRIORITIES',
        files: ['test/session/wire-priority.test.ts', 'test/unit/core/priority.test.ts'],
      },
      {
        what: 'RFC 9110 §9.3.6 and RFC 9113 §8.5: tunnels by CONNECT through proxies',
        files: ['test/session/proxy-*.test.ts', 'test/api/proxies.test.ts'],
      },
    ],
  },
  {
    title: 'Engine beside engine',
    text: '',
    onAllLines: true,
    areas: [
      {
        what: 'The same scenes, frame by frame, on both engines: what the server, the handler and the caller saw is compared',
        files: ['test/session/differential.test.ts'],
      },
      {
        what: 'Every behaviour of the fault server, on both engines, with class, code and `processed` of each error',
        files: ['test/session/{faults,named-faults,fault-presets,fault-streams}.test.ts'],
      },
      {
        what: 'Code units: each character of a name and of a value arrives as it was sent, or is refused before',
        files: ['test/session/{code-units,unencodable,smuggling}.test.ts'],
      },
      { what: 'Known attacks of a server, and what they cost', files: ['test/session/attacks.test.ts'] },
    ],
  },
  {
    title: 'Fetch',
    text: 'The built-in fetch of the same line of Node judges ours: where both do the same, that is the expectation.',
    onAllLines: true,
    areas: [
      {
        what: 'The table of the Fetch standard: requests, responses, redirects, streams, schemes, codings, aborts',
        files: ['test/fetch/standard.test.ts'],
      },
      {
        what: 'Bodies, redirects, aborts, clones, and responses of other realms',
        files: [
          'test/fetch/{abort,body,redirect,request,response}-*.test.ts',
          'test/fetch/{settles,misbehaving-dispatchers}.test.ts',
        ],
      },
      {
        what: 'Built-in fetch, undici’s and ours over Dodici',
        files: ['test/interop/fetch-{installed,own-agents,own-interceptors,own-libraries}.test.ts'],
      },
    ],
  },
  {
    title: 'Real servers',
    text: 'Each is started by its test, and asked over its own HTTP/2.',
    onAllLines: true,
    areas: [
      {
        what: 'nghttpd: requests, uploads, trailers, many streams, padding, fetch',
        files: ['test/interop/{nghttpd,fetch-nghttpd}.test.ts'],
      },
      { what: 'nginx: fetch, redirects, codings, aborts', files: ['test/interop/fetch-nginx.test.ts'] },
      { what: 'Apache: fetch, redirects, codings, aborts', files: ['test/interop/fetch-apache.test.ts'] },
      {
        what: 'Go’s net/http: fetch, uploads that it reads slowly',
        files: ['test/interop/{fetch-go,wire-go-upload}.test.ts'],
      },
      {
        what: 'Node’s own servers: fetch, Unix sockets, bodies in rounds',
        files: ['test/interop/{fetch-node,unix-sockets,round-bodies}.test.ts'],
      },
      {
        what: 'nginx, Apache and Go that retire a connection while requests come',
        files: ['test/interop/retiring.test.ts'],
      },
      {
        what: 'Two generations of a service, Go’s and Node’s, one restarted after the other under load',
        files: ['test/interop/rolling-restart.test.ts'],
      },
      {
        what: 'Four upstreams, of which one is slow, and one is killed again and again',
        files: ['test/interop/upstream-pool.test.ts'],
      },
      {
        what: 'squid, nghttpx, Envoy and microsocks as proxies, also under load, and killed',
        files: ['test/interop/{proxies,proxies-load}.test.ts'],
      },
      {
        what: 'Node, Go, Envoy and grpc-go at their most talkative: frames of a byte, PINGs, SETTINGS, small credit; none is cut off',
        files: ['test/interop/talkative.test.ts'],
      },
      { what: 'Server-sent events', files: ['test/interop/eventsource.test.ts'] },
    ],
  },
  {
    title: 'gRPC and Connect',
    text: '',
    onAllLines: true,
    areas: [
      {
        what: 'grpc-go and grpc-js as servers: unary, client, server and two-way streams, statuses, deadlines',
        files: ['test/interop/grpc-{calls,ends,protocol,servers,streams}.test.ts'],
      },
      {
        what: 'PINGs that a gRPC server permits',
        files: ['test/interop/grpc-pings.test.ts', 'test/session/grpc-pings.test.ts'],
      },
      { what: 'Dodici as the transport of connect-es', files: ['test/interop/grpc-connect.test.ts'] },
    ],
  },
  {
    title: 'Libraries of others over Dodici',
    text: '',
    onAllLines: true,
    areas: [
      {
        what: 'undici’s interceptors: cache, decompress, dns, redirect, retry, and composed',
        files: ['test/interop/interceptors-*.test.ts'],
      },
      {
        what: 'MockAgent, OpenTelemetry, SDKs and HTTP clients that stand on fetch or undici',
        files: ['test/interop/{mock-agent,libraries,opentelemetry-*}.test.ts'],
      },
      {
        what: 'Programs before and after they moved to Dodici, the examples of docs/migrating.md',
        files: ['test/interop/migrating.test.ts'],
      },
      { what: 'Clients of others with the fault server', files: ['test/interop/fault-server.test.ts'] },
    ],
  },
]

/** Tests of these folders that belong to no area, and why. @type {Readonly<Record<string, string>>} */
export const ELSEWHERE = {
  'test/interop/demo.test.ts': 'the demo of this repository',
  'test/fetch/request-cost.test.ts': 'what a request costs',
}

/** What doesn't conform, or isn't there. @type {readonly string[]} */
export const LACKING = [
  'Server push isn’t accepted: both engines send SETTINGS_ENABLE_PUSH = 0 ([engines.md](engines.md)).',
  'PRIORITY frames and weights of RFC 7540, which RFC 9113 deprecates, are never sent. They are read and ignored.',
  'Frames are never padded. Padding of the server is read.',
  'ALTSVC (RFC 7838) and ORIGIN (RFC 8336) frames are ignored, as unknown frames are: a connection serves the one origin that it was made for.',
  'Where node:http2 leaves no choice, engine `node` does what it does: fields that aren’t permitted are dropped silently, for one ([engines.md](engines.md#what-differs)).',
]
