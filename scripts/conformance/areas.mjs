/**
 * What docs/conformance.md has, besides the rules of RFC 9113 and RFC 7541: areas, and the tests of each.
 */

/**
 * @typedef {object} Part tests of an area that have a row of their own: a test is in the first part that has it
 * @property {string} key by which the record has its count
 * @property {string} what
 * @property {RegExp} titles of the tests around it and its own, joined by ` › `
 * @property {boolean} [isDeviation] its tests assert an outcome other than the standard’s, so that passing is no ✓
 *
 * @typedef {object} Area
 * @property {string} what one plain sentence, without its full stop
 * @property {readonly string[]} files of tests; `*` stands for any part of a name
 * @property {readonly Part[]} [parts] what is counted apart
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
        what: '100,000 random lists, encoded by Go and by nghttp2: our decoder and that of node:http2 read the same',
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
        what: 'RFC 8441: extended CONNECT, and WebSockets of Node and of undici over HTTP/2, with servers of node:http2 and `ws`, and with a scripted peer',
        files: [
          'test/interop/websocket-*.test.ts',
          'test/api/tunnel*.test.ts',
          'test/session/tunnel-*.test.ts',
        ],
        parts: [
          {
            key: 'http1',
            what: 'the same WebSockets where the server speaks HTTP/1.1, or HTTP/2 without extended CONNECT: by the fallback, or refused without one',
            titles: /when the server speaks '?HTTP\/(1\.1|2 without)|fails with a server that speaks/,
          },
        ],
      },
      {
        what: 'RFC 9218: the field `priority`, PRIORITY_UPDATE, SETTINGS_NO_RFC7540_PRIORITIES',
        files: ['test/session/wire-priority.test.ts', 'test/unit/request/priority.test.ts'],
      },
      {
        what: 'RFC 9113 §8.5: tunnels by CONNECT through a proxy of HTTP/2',
        files: ['test/session/proxy-*.test.ts', 'test/api/proxies.test.ts'],
        parts: [
          {
            key: 'http1',
            what: 'RFC 9110 §9.3.6: tunnels by CONNECT through a proxy of HTTP/1.1',
            titles: /\bproxy of HTTP\/1\.1/,
          },
          { key: 'socks5', what: 'RFC 1928: tunnels through a proxy of SOCKS5', titles: /SOCKS5/ },
          {
            key: 'others',
            what: 'requests that a proxy forwards without a tunnel, proxies that the environment names, and what names no kind of proxy',
            titles: /^(?!.*proxy of HTTP\/2)/,
          },
        ],
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
      {
        what: 'Known attacks of a server, and what they cost; bytes that bring nothing',
        files: ['test/session/{attacks,useless-bytes}.test.ts'],
      },
    ],
  },
  {
    title: 'The protocol core of engine `wire`, without a socket',
    text: 'What goes beyond the rules below.',
    onAllLines: false,
    areas: [
      {
        what: 'Frames that are read in any pieces, and written',
        files: ['test/protocol/{frame-reader,frame-writer,output,last-words}.test.ts'],
      },
      {
        what: 'Flow control: windows that grow and shrink, credit, peers that go on only at a WINDOW_UPDATE',
        files: [
          'test/protocol/{bandwidth,flow-control,measuring,overcommit,receive-window,window-growth,window-shrink}.test.ts',
        ],
      },
      {
        what: 'Uploads: DATA within both windows, in turn, or one after the other; servers with few threads',
        files: ['test/protocol/upload-{frames,queue,threads}.test.ts'],
      },
      {
        what: 'Stream ids, and ACKs of SETTINGS and PING',
        files: ['test/protocol/{last-ids,stream-table,sent-pings,sent-settings}.test.ts'],
      },
      {
        what: 'Floods (RFC 9113 §10.5): the budget of frames that bring nothing, and what they cost',
        files: ['test/protocol/{budget,cost,kept,limits}.test.ts'],
      },
      {
        what: 'Arbitrary and mutated bytes: whole connections, and header blocks',
        files: ['test/protocol/{fuzz,hpack/hostile-blocks}.test.ts'],
      },
    ],
  },
  {
    title: 'Peers that are hostile, and connections that fail',
    text: 'Over connections, with a scripted peer; most of it on both engines.',
    onAllLines: false,
    areas: [
      {
        what: 'Engine `wire` and peers that break rules: frames, header sections, floods',
        files: ['test/session/wire-hostile-*.test.ts'],
      },
      {
        what: 'GOAWAY (RFC 9113 §6.8): what is retried, what goes on, what fails',
        files: [
          'test/session/{recovery-goaway,goaway-errors,contradicted-refusals,resets-with-goaway,request-fields-limit}.test.ts',
        ],
      },
      {
        what: 'RST_STREAM and REFUSED_STREAM, retries (RFC 9113 §8.7), bodies that can be sent once',
        files: [
          'test/session/recovery-{reset,refusals,replay,storm}.test.ts',
          'test/session/{replay-races,one-shot-bodies,kept-bodies,retiring-early,stream-error-processed}.test.ts',
        ],
      },
      {
        what: 'SETTINGS that change, stream limits, new sessions',
        files: [
          'test/session/recovery-{settings,crowded,growth,cold,closing}.test.ts',
          'test/session/{admission,late-engine,many-calls,wait-for-settings}.test.ts',
        ],
      },
      {
        what: 'Connections that die or go silent, keepalive by PING, and limits of time in a busy process',
        files: [
          'test/session/recovery-{keepalive,liveness,loss}.test.ts',
          'test/session/{busy-process,deaths,disconnect-errors,first-settings,killed-origin,lost-silently,silent-streams,slow-drip}.test.ts',
        ],
      },
      {
        what: 'Flow control over connections',
        files: [
          'test/session/{connection-window,recovery-window,window-shrink,window-updates}.test.ts',
          'test/session/wire-{credit,overcommit,kept-memory,tunnel-credit}.test.ts',
        ],
      },
      {
        what: 'Uploads, their ends and their clocks',
        files: [
          'test/session/{empty-bodies,expectations,sent-after-end,small-credit,upload-clock,upload-threads}.test.ts',
          'test/session/wire-{batches,upload-frames,uploads}.test.ts',
        ],
      },
      {
        what: 'Responses: truncated, early, held back by their readers; events of node:http2',
        files: [
          'test/session/{bare-responses,early-bytes,early-responses,held-responses,node-stream-events,node-stream-events-2,outcomes,truncated,wire-endings}.test.ts',
        ],
      },
      {
        what: 'Aborts and other events at the same moment',
        files: ['test/session/{late-races,races,recovery-aborts,recovery-reentrance,reset-places}.test.ts'],
      },
      {
        what: 'Tunnels of engine `wire` (RFC 9113 §8.5)',
        files: ['test/session/wire-tunnels.test.ts'],
      },
      {
        what: '421 and HTTP_1_1_REQUIRED (RFC 9110 §15.5.20, RFC 9113 §7)',
        files: ['test/session/{fallback-races,http1-required,misdirected,misdirected-http1}.test.ts'],
      },
      {
        what: 'TLS: the server’s name and certificate, client certificates, ALPN',
        files: ['test/session/{connector,half-open-sockets,mixed-fleet,tls-identity,tls-rotation}.test.ts'],
      },
    ],
  },
  {
    title: 'Fetch',
    text: 'Each case of the table says what the standard asks for, and is played over HTTP/2 and over HTTP/1.1, by the fallback. Where the outcome is known to be another, the test asserts that it is. The built-in fetch of the same line of Node plays the cases, too; [fetch.md](fetch.md#what-differs-from-nodes) has each case that only one of the two passes.',
    onAllLines: true,
    areas: [
      {
        what: 'The table of the Fetch standard over HTTP/2: requests, responses, redirects, streams, schemes, codings, aborts',
        files: ['test/fetch/standard.test.ts'],
        parts: [
          {
            key: 'known',
            what: 'its cases with an outcome other than the standard’s, over either protocol: `KNOWN` in that file has the reasons',
            titles: / › otherwise, since /,
            isDeviation: true,
          },
          { key: 'http1', what: 'its cases over HTTP/1.1', titles: /^when our fetch speaks HTTP\/1\.1 › / },
          {
            key: 'table',
            what: 'the table itself, and the comparison with the built-in fetch',
            titles: /^when (the cases are listed|it is compared)/,
          },
        ],
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
        files: ['test/interop/fetch-{installed,refused,own-agents,own-interceptors,own-libraries}.test.ts'],
      },
    ],
  },
  {
    title: 'Real servers',
    text: 'Each is started by its test, and asked over its own HTTP/2 unless the row says otherwise.',
    onAllLines: true,
    areas: [
      {
        what: 'nghttpd: requests, uploads, trailers, many streams, fetch',
        files: ['test/interop/{nghttpd,fetch-nghttpd}.test.ts'],
      },
      { what: 'nginx: fetch, redirects, codings, aborts', files: ['test/interop/fetch-nginx.test.ts'] },
      { what: 'Apache: fetch, redirects, codings, aborts', files: ['test/interop/fetch-apache.test.ts'] },
      {
        what: 'Go’s net/http: fetch, uploads that it reads slowly',
        files: ['test/interop/{fetch-go,wire-go-upload}.test.ts'],
      },
      {
        what: 'Node’s own servers: fetch, bodies in rounds',
        files: ['test/interop/{fetch-node,round-bodies}.test.ts'],
      },
      {
        what: 'Undertow, which has a thread for each request: requests, bodies of 5 MB, early responses, many uploads at once',
        files: ['test/interop/undertow.test.ts'],
      },
      {
        what: 'Helidon: the same requests, and POSTs while it stops',
        files: ['test/interop/helidon.test.ts'],
      },
      { what: 'Jetty: requests, bodies of 5 MB, early responses', files: ['test/interop/jetty.test.ts'] },
      { what: 'Tomcat: requests, bodies of 5 MB, early responses', files: ['test/interop/tomcat.test.ts'] },
      { what: 'Bun: the same, and bodies of 10 MB', files: ['test/interop/bun.test.ts'] },
      {
        what: 'Go’s x/net of 2022, which returns credit for each read: the same, and an upload that it reads slowly',
        files: ['test/interop/xnet-2022.test.ts'],
      },
      {
        what: 'Unix sockets of nginx and of Node, and paths at which no server is',
        files: ['test/interop/unix-sockets.test.ts'],
        parts: [
          {
            key: 'http1',
            what: 'a Unix socket for which nginx is told to speak HTTP/1.1 alone',
            titles: /when the server speaks HTTP\/1\.1 alone/,
          },
        ],
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
        what: 'Proxies, also under load, and killed: nghttpx and Envoy by streams of HTTP/2, squid by CONNECT over HTTP/1.1, with and without TLS, and microsocks by SOCKS5, in front of origins of HTTP/2 and HTTP/1.1',
        files: ['test/interop/{proxies,proxies-load}.test.ts'],
      },
      {
        what: 'Node, Go, nginx, Apache, nghttpd, Envoy and grpc-go at their most talkative: frames of a byte, PINGs, SETTINGS, small credit; none is cut off',
        files: ['test/interop/talkative.test.ts'],
      },
      {
        what: 'Server-sent events from Node’s servers',
        files: ['test/interop/eventsource.test.ts'],
        parts: [
          { key: 'http1', what: 'the same over HTTP/1.1', titles: /when the server speaks '?HTTP\/1\.1/ },
        ],
      },
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
  'test/protocol/rfc9113-table.test.ts': 'holds test/protocol/README.md to the tests',
  'test/session/recovery-peer.test.ts': 'the scripted peer of the tests itself',
  'test/session/scripted-peer.test.ts': 'the scripted peer of the tests itself',
  'test/interop/elastic-transport.test.ts': 'a library over a Pool',
  'test/interop/mocking-tools.test.ts': 'tools that replace sockets',
  'test/interop/reply-from.test.ts': 'what becomes of a proxy’s own client',
  'test/session/body-owners.test.ts': 'what becomes of the source of a body',
  'test/session/engine-by-socket.test.ts': 'which engine runs over what a connect function yields',
  'test/session/local-address.test.ts': 'an option of sockets',
  'test/session/socket-options.test.ts': 'options of sockets',
}

/** What doesn't conform, or isn't there. @type {readonly string[]} */
export const LACKING = [
  'Server push isn’t accepted: both engines send SETTINGS_ENABLE_PUSH = 0 ([engines.md](engines.md#which-one)).',
  'PRIORITY frames and weights of RFC 7540, which RFC 9113 deprecates, are never sent. They are read and ignored ([engines.md](engines.md#priorities)).',
  'PRIORITY_UPDATE (RFC 9218 §7.1) is sent by engine `wire` alone: node:http2 has no such frame ([engines.md](engines.md#priorities)).',
  'Frames are never padded. Padding of the server is read ([test/protocol/README.md](../test/protocol/README.md), §6.1).',
  'ALTSVC (RFC 7838) is ignored, as an unknown frame is. So is ORIGIN (RFC 8336) on engine `wire`; on engine `node` more than 128 origins end the session ([SECURITY.md](../SECURITY.md#every-limit)). A connection serves the one origin that it was made for.',
  'Where node:http2 leaves no choice, engine `node` does what it does: fields that aren’t permitted are dropped silently, for one ([engines.md](engines.md#what-differs), [differences.md](differences.md#what-nodehttp2-forces-on-the-engine-node)).',
  'HPACK tables of more than 4,096 bytes, which a server may offer for requests, aren’t used ([engines.md](engines.md#what-a-peer-may-not-do-to-engine-wire)).',
  'Some cases of the Fetch standard have another outcome than the standard’s: [test/fetch/standard.test.ts](../test/fetch/standard.test.ts) lists them with their reasons (`KNOWN`).',
]
