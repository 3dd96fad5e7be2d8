/**
 * Creates a span for each request, and sends `traceparent`. Needs `npm install @opentelemetry/api@1.9
 * @opentelemetry/sdk-trace-node@2.12 @opentelemetry/instrumentation-undici@0.33`; these versions are tested together.
 *
 *     npx dodici serve
 *     node examples/opentelemetry.mjs
 */

// @ts-check

import { trace } from '@opentelemetry/api'
import { UndiciInstrumentation } from '@opentelemetry/instrumentation-undici'
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node'
import { Client } from 'dodici'

const exporter = new InMemorySpanExporter()
const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
provider.register()
// The instrumentation listens to undici's diagnostics channels, on which Dodici publishes, too.
const instrumentation = new UndiciInstrumentation()
instrumentation.setTracerProvider(provider)

const client = new Client(process.argv[2] ?? 'http://localhost:12080')

await trace.getTracer('example').startActiveSpan('checkout', async (span) => {
  const { body } = await client.request({ path: '/headers', method: 'GET' })
  const { headers } = /** @type {{ headers: Record<string, string> }} */ (await body.json())
  const { traceId } = span.spanContext()
  console.log(`the server knows the trace: ${headers.traceparent?.includes(traceId)}`)
  span.end()
})

for (const { name, attributes } of exporter.getFinishedSpans())
  console.log(name, attributes['http.response.status_code'] ?? 'has no status')
await client.close()
await provider.shutdown()
