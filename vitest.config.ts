import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Plugin } from 'vitest/config'
import { defineConfig } from 'vitest/config'
import { OutcomeReporter } from './test/tools/outcome.ts'

// The tests, and the children that they start, say which engine they mean, whatever the shell of a developer says.
delete process.env.DODICI_ENGINE

// `npm cit` passes no arguments on to the test script, so CI asks for its machine-readable report by environment.
const outcome = new OutcomeReporter(process.env.TEST_REPORT)

/** What runs: as `test/support/clocks/sample.ts` reads it, too. */
const SCOPES = ['', 'full', 'line', 'sample'] as const
const scope = SCOPES.find((one) => one === (process.env.TEST_SCOPE ?? ''))
if (scope === undefined) throw new TypeError(`TEST_SCOPE is one of ${SCOPES.slice(1).join(', ')}, or not set`)

/**
 * Without TEST_SCOPE a long list of cases runs as far as its cases differ: of a product of lists each pair, and not each triple. With TEST_SCOPE=full each
 * case runs, as often as it takes to meet what is rare: `npm run test:full`.
 *
 * With TEST_SCOPE=sample there runs what a line of Node can break, and a sample of the rest: node:http2, which brings its own nghttp2; net, tls and
 * streams; fetch and undici; timers and the order of the event loop; async contexts; garbage collection. CONTRIBUTING.md has the table. `.ci/run` asks for that on
 * each line but the default one.
 */
const isSample = scope === 'sample'

/**
 * With TEST_SCOPE=line, and with `sample`, what needs no second line of Node is left out: what asks nothing of Node, how src/ is built, what bundlers
 * make of dist/, and what measures a heap to a few KB, which plays the newest line by itself. GitHub's matrix asks for `line` on the
 * newest one, and the nightly run plays the rest there once more. (Vitest's option `--exclude` doesn't reach projects that have an `exclude` of their own.)
 */
const isLine = isSample || scope === 'line'
const ONCE = [
  // Frames, HPACK, windows, policies, simulations, texts: bytes and numbers in, bytes and numbers out. Decoders are Node's.
  'test/protocol/**',
  'test/unit/!(fetch)/**',
  'test/unit/*.test.ts',
  'test/process/{build-script,faults,kept-memory}.test.ts',
  'test/interop/bundled.test.ts',
  // Of other runtimes, and of tools that run on Node 22 whatever the line.
  'test/interop/{runtimes/**,mocking-tools.test.ts}',
  'test/docs/{pages,testing-page}/**',
  // What the command line says, and as whom. Its processes, pipes and signals are the other files'.
  'test/tools/cli/{certificates,command-line,faults,inspect-!(process),like-*,load{,-histogram},newcomer,page,serve-{files,routes}}.test.ts',
  'test/tools/*.test.ts',
]
/** It takes its time, and was played on each line by `npm run conformance` and `npm run soak`. */
const PLAYED = [
  'test/process/{scenes,soak,linear}.test.ts',
  'test/interop/{bun,helidon,jetty,tomcat,undertow,xnet-2022,talkative,upstream-pool}.test.ts',
]
/**
 * Functions and classes by themselves, without a global that they would change: their files share workers, and the modules in
 * them, which is what half of their time went into. Not so where a test mocks a module, or
 * measures time or memory: others' garbage would be collected in it.
 */
const PURE = [
  'test/protocol/**/!(last-ids|rfc9113-ids|cost|hostile-blocks).test.ts',
  'test/unit/*/**/!(checks|errors|response-body|decode|headers).test.ts',
]

/**
 * What a process has once: what a file leaves there, the next file would meet. Mocks and spies, globals, events and the environment of the
 * process, channels, prototypes, async hooks, and all that measures time or memory. An undici of npm's makes itself the global dispatcher, and a fallback may be
 * made of that.
 */
const ONE_A_PROCESS =
  /vi\.(mock|doMock|resetModules|stub\w+|spyOn|useFakeTimers)|watchHeaderObjects|fake-timers|setGlobalDispatcher|\binstall\(|globalThis|Symbol\.for|process\.(on|once|env|emit|exit\w*|\w+Usage|getActive\w+)\b|diagnostics_channel|async_hooks|perf_hooks|performance|hrtime|\bgc\b|WeakRef|\.prototype\b|await import\(|worker_threads|child_process|clients\/(child|cli-here|node-streams|bundled|fallback-child|uncaught)|^import (?!type).* from 'undici/m

const FILES = readdirSync(new URL('test/', import.meta.url), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.test.ts') && !name.includes('node_modules'))
  .map((name) => `test/${name.replaceAll('\\', '/')}`)
  .sort()
/**
 * A test with the helpers of its own folder, which its imports name.
 *
 * @param file from the project's root
 */
function readWithHelpers(file: string, seen = new Set<string>()): string {
  if (seen.has(file)) return ''
  seen.add(file)
  const text = readFileSync(new URL(file, import.meta.url), 'utf8')
  const helpers = [...text.matchAll(/ from '\.\/([^']+\.ts)'/g)]
  const folder = file.slice(0, file.lastIndexOf('/') + 1)
  return [text, ...helpers.map(([, name]) => readWithHelpers(`${folder}${name}`, seen))].join('\n')
}

/**
 * Tests of sessions and of the API whose files share workers, too, since neither their text nor a helper beside them has any of
 * that: 0.75 s of CPU time less for each file, most of which is a process and src/.
 */
const SHARED = FILES.filter(
  (file) =>
    /^test\/(session|api|api\/fetch)\/[^/]+$/.test(file) && !ONE_A_PROCESS.test(readWithHelpers(file)),
)
const ALONE = FILES.filter((file) => !SHARED.includes(file))

/** Ours alone, on top of what a line of Node brings: schedulers, pools, proxies, command line, documents. */
const OURS = [
  'test/unit/**',
  'test/api/{agent-origins,agent,http1-connections,upstream-*,stats,error-texts}.test.ts',
  'test/session/{mixed-fleet,proxy-*,recovery-{crowded,storm,growth,cold,replay,window},wire-*,code-units,differential}.test.ts',
  'test/interop/{grpc-{calls,connect,ends,protocol,streams,js-{balancing,cases,pubsub,firestore,nestjs,otlp}},proxies,proxies-load,retiring,rolling-restart,round-bodies,migrating}.test.ts',
  'test/interop/{connect-table,demo,fault-server,fetch-{apache,go,nginx},websocket-{echo,limits},wire-go-upload}.test.ts',
  'test/process/{allocations,bombs,chaos,default-engine,memory,only-proxy,proxied,secrets}.test.ts',
  'test/tools/cli/{inspect-process,load-process,verbose-back-pressure}.test.ts',
  'test/tools/fuzz/clients.test.ts',
]
/** What engine `wire` needs of a line: sockets, and the streams of bodies. */
const WIRE_SAMPLE = ['test/api/{bodies,pipeline,request,stream,tunnel,upload}.test.ts']
const AROUND_WIRE_SAMPLE = ['test/interop/{fetch-node,nghttpd}.test.ts']

/** What each line of Node has of its own, whatever else runs there: its fetch and its WebSocket, its streams, and its nghttp2. */
const OF_A_LINE =
  /^test\/(api\/(endings|matrix)\/|interop\/(fetch-(node|installed)|websocket-builtin|eventsource)\.|process\/(fallback-found|fetch-collected)\.|session\/(attacks|body-builtin-fetch)\.)/
const SHARE = /^([1-9])\/([1-9])$/.exec(process.env.TEST_SHARE ?? '1/1')
if (SHARE === null) throw new TypeError('TEST_SHARE is such as 1/3, or not set')
const [turn, turns] = [Number(SHARE[1]), Number(SHARE[2])]
/**
 * With TEST_SHARE=1/3 the first third of the files runs, and what each line has of its own: three lines, side by side, run each file of the
 * sample.
 */
const SHARED_OUT = FILES.filter((file) => !OF_A_LINE.test(file)).filter((_, at) => at % turns !== turn - 1)

/**
 * What is around the client: documents, what others wrote, whole processes, tools. They need servers and packages, start programs, and take as
 * long as all else: `npm test` leaves them to `npm run test:all`.
 */
const AROUND = ['test/{docs,interop,process,tools}/**/*.test.ts']
/** Tests of the benchmarks and of the types: they need no particular line of Node. */
const BENCH = ['test/tools/bench/**/*.test.ts']
const TYPES = ['test/api/types/**/*.test.ts']
/** What `npm run site` has built, in Chromium: `npm run site:check`. */
const SITE = ['test/docs/site/**/*.test.ts']

/** What other projects run, other lines, or other runs. */
const ELSEWHERE = [
  ...['**/node_modules/**', ...BENCH, ...TYPES, ...SITE, ...SHARED_OUT],
  ...(isLine ? [...ONCE, ...PLAYED] : []),
  ...(isSample ? OURS : []),
]

/** Where it stands which engine a client has that names none. */
const OPTIONS = fileURLToPath(new URL('src/options/options.ts', import.meta.url))
const DEFAULT_ENGINE = /^(export const DEFAULT_ENGINE: EngineName = )'node'$/m

/**
 * Makes another engine the default, in the source that the tests import: hundreds of tests need not name one.
 * DODICI_ENGINE isn't the way: tests go by `DEFAULT_ENGINE`, which it leaves as it is, and the children that they start
 * would have it, too.
 */
function withDefaultEngine(engine: 'wire'): Plugin {
  return {
    name: `default-engine-${engine}`,
    enforce: 'pre',
    transform(code, id) {
      if (id.split('?')[0] !== OPTIONS) return null
      // Otherwise the tests of this engine would go on, and pass, on the other one.
      if (!DEFAULT_ENGINE.test(code)) throw new Error(`${OPTIONS} doesn't match ${DEFAULT_ENGINE}`)
      return { code: code.replace(DEFAULT_ENGINE, `$1'${engine}'`), map: null }
    },
  }
}

/**
 * What runs on engine `wire` once more: all of the API, and of what others wrote, servers and clients.
 *
 * The files of test/session that aren't here name each engine themselves, by `ENGINES`, or are about node:http2 alone. Those of
 * test/api/fetch that aren't ask no session, or one of HTTP/1.1. Most scenes of websocket-echo are HTTP/1.1, too: the streams that
 * sockets have over HTTP/2 are in websocket-ways.
 */
const ON_WIRE = [
  'test/api/*.test.ts',
  'test/session/{fallback-races,http1-required,misdirected}.test.ts',
  'test/api/fetch/abort-{races,signal,stages}.test.ts',
  'test/api/fetch/body-*.test.ts',
  'test/api/fetch/{redirect-uploads,request-dispatchers,request-streams,response-clone,settles}.test.ts',
]

/** The same, of what is around the client. */
const AROUND_ON_WIRE = [
  'test/interop/{nghttpd,retiring,rolling-restart,libraries,interceptors-*}.test.ts',
  'test/interop/{websocket-ways,fetch-*}.test.ts',
]

/** HTTP/1.1 alone, or choices between clients: there is no engine in what they test. */
const ABOVE_ENGINES = ['test/api/{http1-connections,http1-events,http1-options,upstream-failures}.test.ts']

/** Each of their clients names its engine, by `ENGINES`: they would run twice. */
const ON_BOTH = [
  'test/api/{handler-arguments,proxies,upstream-hedge}.test.ts',
  'test/interop/fetch-refused.test.ts',
]

/** Their clients, or those that take their time, live in children with a build of src/, or with dist/: nothing is replaced there. */
const IN_CHILDREN = [
  'test/api/{agent-origins,fallback-process}.test.ts',
  'test/interop/fetch-installed.test.ts',
]

export default defineConfig({
  test: {
    environment: 'node',
    // A process per file: a leaked socket, a global or a crash of node:http2 stays in the file that caused it.
    pool: 'forks',
    isolate: true,
    fileParallelism: true,
    // One more than the two cores of CI: children, servers and timers leave time over. Of all projects together.
    maxWorkers: 3,
    // Bounds on a test that hangs, and on nothing else: a busy machine, on which all takes ten times as long, reaches none of them.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    // What is transformed once is so for each run and for each line of Node.
    experimental: { fsModuleCache: true },
    expect: { poll: { interval: 10, timeout: 60_000 } },
    // An unhandled rejection or 'error' event is a bug of ours, whichever test was running.
    dangerouslyIgnoreUnhandledErrors: false,
    passWithNoTests: false,
    reporters: ['default', outcome],
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts'],
      reporter: ['text', 'html', 'lcov'],
    },
    projects: [
      {
        extends: true,
        test: {
          name: 'node',
          include: ['test/**/*.test.ts'],
          exclude: [...ELSEWHERE, ...AROUND, ...PURE, ...SHARED],
        },
      },
      { extends: true, test: { name: 'around', include: AROUND, exclude: ELSEWHERE } },
      {
        extends: true,
        plugins: [withDefaultEngine('wire')],
        test: {
          name: 'wire',
          include: isLine ? WIRE_SAMPLE : ON_WIRE,
          exclude: [...IN_CHILDREN, ...ABOVE_ENGINES, ...ON_BOTH, ...SHARED, ...SHARED_OUT],
        },
      },
      {
        extends: true,
        plugins: [withDefaultEngine('wire')],
        test: {
          name: 'around-wire',
          include: isLine ? AROUND_WIRE_SAMPLE : AROUND_ON_WIRE,
          exclude: [...IN_CHILDREN, ...ON_BOTH, ...SHARED_OUT],
        },
      },
      {
        extends: true,
        plugins: [withDefaultEngine('wire')],
        test: {
          name: 'wire-pure',
          include: isLine ? WIRE_SAMPLE : ON_WIRE,
          exclude: [...IN_CHILDREN, ...ABOVE_ENGINES, ...ON_BOTH, ...ALONE, ...SHARED_OUT],
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          name: 'pure',
          include: [...PURE, ...SHARED],
          exclude: ELSEWHERE,
          isolate: false,
        },
      },
      { extends: true, test: { name: 'bench', include: BENCH } },
      { extends: true, test: { name: 'types', include: TYPES } },
      { extends: true, test: { name: 'site', include: SITE } },
    ],
  },
})
