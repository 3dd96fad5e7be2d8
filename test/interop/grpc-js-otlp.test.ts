/** OpenTelemetry's exporter of traces over OTLP/gRPC, as it is, over grpc-js' own channels and over those of dodici/grpc-js. */

import { createRequire } from 'node:module'
import type { handleUnaryCall } from '@grpc/grpc-js'
import { status } from '@grpc/grpc-js'
import { afterEach, describe, expect, it, onTestFinished } from 'vitest'
import { exportByDodici } from '../../examples/integrations/otlp.mjs'
import { lacksPackages, loadPackage } from '../support/clients/packages.ts'
import { countConnections, loadGrpc, startServices } from './grpc-clients-rig.ts'
import type { Transport } from './grpc-js-rig.ts'
import { TRANSPORTS } from './grpc-js-rig.ts'

/** What is used of `@opentelemetry/exporter-trace-otlp-grpc`, and of `@opentelemetry/sdk-trace-base`. */
interface Otlp {
  OTLPTraceExporter: new (options: object) => object
}

interface Tracing {
  BasicTracerProvider: new (
    options: object,
  ) => {
    getTracer(name: string): { startSpan(name: string): { end(): void } }
    forceFlush(): Promise<void>
    shutdown(): Promise<void>
  }
  SimpleSpanProcessor: new (exporter: object) => object
}

const LACKING = lacksPackages('grpc-clients')
const PATH = '/opentelemetry.proto.collector.trace.v1.TraceService/Export'
const there = createRequire(new URL('grpc-clients/package.json', import.meta.url))
const { cache } = there
const same = (bytes: Buffer): Buffer => bytes

/** What the folder has loaded, so that each transport has grpc-js and an exporter as a new process has them. */
function forgetPackages(): void {
  for (const file of Object.keys(cache)) if (file.includes('grpc-clients')) delete cache[file]
}

afterEach(forgetPackages)

/** A collector of traces, and an exporter to it. */
async function start(transport: Transport, options: object = {}) {
  const seen = { names: [] as string[], encodings: [] as unknown[], agents: [] as unknown[], cancelled: 0 }
  const answers: ('waits' | number)[] = []
  const definition = {
    Export: {
      ...{ path: PATH, requestStream: false, responseStream: false },
      ...{
        requestSerialize: same,
        requestDeserialize: same,
        responseSerialize: same,
        responseDeserialize: same,
      },
    },
  }
  const services = {
    Traces: {
      Export: ((call, callback) => {
        const answer = answers.shift()
        seen.agents.push(...call.metadata.get('user-agent'))
        if (answer === 'waits') return call.on('cancelled', () => seen.cancelled++)
        if (answer !== undefined) return callback({ code: answer, details: 'not now' })
        seen.names.push(...(call.request.toString('latin1').match(/span \d+\./g) ?? []))
        callback(null, Buffer.alloc(0))
      }) satisfies handleUnaryCall<Buffer, Buffer>,
    },
  }
  const server = await startServices({ Traces: definition }, services)
  const restart = () => startServices({ Traces: definition }, services, { port: server.port })
  if (transport.isOurs) exportByDodici(there, { engine: transport.name === 'engine node' ? 'node' : 'wire' })
  const { OTLPTraceExporter } = loadPackage<Otlp>('grpc-clients', '@opentelemetry/exporter-trace-otlp-grpc')
  const exporter = new OTLPTraceExporter({ url: `http://127.0.0.1:${server.port}`, ...options })
  const tracing = loadPackage<Tracing>('grpc-clients', '@opentelemetry/sdk-trace-base')
  const provider = new tracing.BasicTracerProvider({
    spanProcessors: [new tracing.SimpleSpanProcessor(exporter)],
  })
  onTestFinished(() => provider.shutdown())
  const tracer = provider.getTracer('test')
  /** What failed: '' when the span was exported. */
  const record = (name: string): Promise<string> => {
    tracer.startSpan(name).end()
    return provider.forceFlush().then(() => '', String)
  }
  return { seen, answers, server, restart, record }
}

describe.skipIf(LACKING).each(TRANSPORTS)('an OTLP/gRPC exporter › $name', (transport) => {
  it('exports spans on one connection', async () => {
    const made = countConnections()
    const { seen, server, record } = await start(transport)
    for (let index = 0; index < 10; index++) await record(`span ${index}.`)
    expect(seen.names).toEqual(Array.from({ length: 10 }, (_, index) => `span ${index}.`))
    expect(server.peers.size).toBe(1)
    expect(made.connections).toBe(transport.isOurs ? 1 : 0)
    expect(seen.agents[0]).toMatch(/^OTel-OTLP-Exporter-JavaScript\/\S+ grpc-node-js\//)
  })

  it('exports spans with gzip', async () => {
    const { seen, record } = await start(transport, { compression: 'gzip' })
    expect(await record('span 1.')).toBe('')
    expect(seen.names).toEqual(['span 1.'])
  })

  it('tells the status of what the collector refuses, and goes on', async () => {
    const { seen, answers, record } = await start(transport)
    answers.push(status.UNAVAILABLE, status.INVALID_ARGUMENT)
    expect(await record('span 1.')).toContain('14 UNAVAILABLE: not now')
    expect(await record('span 2.')).toContain('3 INVALID_ARGUMENT: not now')
    expect(await record('span 3.')).toBe('')
    expect(seen.names).toEqual(['span 3.'])
  })

  it('ends an export by its deadline', async () => {
    const { seen, answers, record } = await start(transport, { timeoutMillis: 1_000 })
    expect(await record('span 1.')).toBe('')
    answers.push('waits')
    expect(await record('span 2.')).toContain('4 DEADLINE_EXCEEDED')
    await expect.poll(() => seen.cancelled).toBe(1)
    expect(await record('span 3.')).toBe('')
    expect(seen.names).toEqual(['span 1.', 'span 3.'])
  })

  it('goes on with a collector that has been restarted', async () => {
    const { seen, server, restart, record } = await start(transport)
    expect(await record('span 1.')).toBe('')
    server.kill()
    await restart()
    // One that meets the end of the connection may be lost: an exporter doesn't send it again.
    await expect.poll(() => record('span 2.')).toBe('')
    expect(seen.names).toContain('span 2.')
  })
})

describe.skipIf(LACKING)('exportByDodici()', () => {
  it('leaves other clients of that grpc-js, and its module, as they are', async () => {
    const grpc = loadGrpc()
    const before = { ...grpc }
    exportByDodici(there)
    expect({ ...grpc }).toEqual(before)
    expect(loadGrpc().Client).toBe(grpc.Client)
  })
})
