/** What the harness measures of one client in one process. */
export interface Measurement {
  readonly version: string
  readonly requestsPerSecond: number
  readonly cpuMicros: number
  readonly p50Micros: number | null
  readonly p99Micros: number | null
  readonly allocatedBytes: number | null
  readonly gcMicros: number | null
  readonly residentBytes: number | null
}

export interface Entry {
  readonly client: string
  readonly label: string
  readonly api: string
  readonly version: string
  readonly rounds: readonly Measurement[]
}

export type Scenario = ReturnType<typeof toScenario>
export type Result = ReturnType<typeof toResult>

/** What would be markup if it were written as it is. */
export const HOSTILE = `</title><script>alert(1)</script><img src="http://127.0.0.1:9/" onerror='alert(2)'>&amp;]]>`

const LONG = 'a client whose name goes on and on, with every option that it was given spelled out'

/** Rounds around a middle: the first one is the middle, the others are 10 % below and above. */
export function toEntry(client: string, api: string, middle: number, but: Partial<Measurement> = {}): Entry {
  const rounds = [1, 0.9, 1.1].map((factor) => ({
    version: '1.2.3',
    requestsPerSecond: (1_000_000 / middle) * factor,
    cpuMicros: middle * factor,
    p50Micros: middle * 100 * factor,
    p99Micros: middle * 250 * factor,
    allocatedBytes: middle * 300 * factor,
    gcMicros: (middle / 20) * factor,
    residentBytes: 80 * 2 ** 20 * factor,
    ...but,
  }))
  return { client, label: client, api, version: '1.2.3', rounds }
}

export function toScenario(name: string, entries: readonly Entry[], tls = false) {
  return {
    name,
    apis: ['dispatch', 'request', 'stream', 'pipeline', 'fetch'],
    method: 'GET',
    bodyBytes: 0,
    responseBytes: 1024,
    inFlight: 100,
    connections: 1,
    origins: 1,
    latency: 0,
    pattern: 'steady',
    tls,
    server: null,
    warmup: 15_000,
    requests: 10_000,
    entries,
  }
}

export function toResult(...scenarios: Scenario[]) {
  return {
    schema: 1,
    date: '2026-01-02T03:04:05.678Z',
    command: 'npm run bench -- --scenario get-1k',
    machine: {
      cpu: 'Some CPU @ 2.00GHz',
      cores: 2,
      memory: 8 * 2 ** 30,
      platform: 'linux 6.1 x64',
      node: '24.21.0',
      server: 'nghttpd nghttp2/1.52.0',
      pinned: { client: 0, server: 1 },
      loadBefore: 0.25,
    },
    revision: { hash: '0123456789abcdef0123456789abcdef01234567', isDirty: true },
    rounds: 3,
    scenarios,
  }
}

/** The clients that a run has by default, all of them: more than twenty bars. */
export function toUsualEntries(): Entry[] {
  const apis = ['dispatch', 'request', 'stream', 'pipeline', 'fetch']
  const both = apis.flatMap((api, index) => [
    toEntry('dodici', api, 21 + 4 * index),
    { ...toEntry('undici', api, 33 + 7 * index), label: 'undici 8' },
  ])
  const others = ['axios', 'got', 'fetch-h2', 'connect-node', 'node-fetch'].map((client, index) =>
    toEntry(client, 'request', 60 + 11 * index),
  )
  const unknown = {
    p50Micros: null,
    p99Micros: null,
    allocatedBytes: null,
    gcMicros: null,
    residentBytes: null,
  }
  return [
    ...both,
    ...others,
    { ...toEntry('node-http2', 'session.request', 24), label: 'node:http2 (untuned reference)' },
    { ...toEntry('go', 'RoundTrip', 15, unknown), label: "Go's net/http" },
    { ...toEntry('h2load', 'h2load', 3, unknown), label: 'h2load' },
    { ...toEntry('floor', 'frames', 2), label: 'the floor' },
    { ...toEntry('dodici-wire', 'request', 6), label: 'dodici (wire)' },
    toEntry(LONG, 'request', 90),
  ]
}

/** All that is hard to draw, in one result. */
export function toHardResult(): Result {
  const tiny = toEntry('tiny', 'dispatch', 0.004)
  const wide = { ...toEntry('wide', 'request', 123_456_789), label: '宽'.repeat(40) }
  const zero = toEntry('zero', 'stream', 10, { requestsPerSecond: 0, cpuMicros: 0, allocatedBytes: 0 })
  const hostile = { ...toEntry(HOSTILE, HOSTILE, 12), label: HOSTILE, version: HOSTILE }
  return toResult(
    toScenario('get-1k', toUsualEntries()),
    toScenario('get-1k-tls', toUsualEntries().slice(3), true),
    toScenario('one', [toEntry('dodici', 'dispatch', 20)]),
    toScenario('hard', [tiny, wide, zero, hostile]),
    toScenario(HOSTILE, [hostile]),
    toScenario(HOSTILE, []),
  )
}
