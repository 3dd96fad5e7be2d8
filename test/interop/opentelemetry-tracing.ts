/** OpenTelemetry as an application sets it up, and what it has made of the requests. */

import type { Span as ApiSpan, Context } from '@opentelemetry/api'
import { context, propagation, trace } from '@opentelemetry/api'
import type { UndiciInstrumentationConfig } from '@opentelemetry/instrumentation-undici'
import { UndiciInstrumentation } from '@opentelemetry/instrumentation-undici'
import type { ReadableSpan, Span, SpanProcessor } from '@opentelemetry/sdk-trace-node'
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node'
import { onTestFinished } from 'vitest'

/** Spans that never end aren't exported: this one sees them all. */
class StartedSpans implements SpanProcessor {
  readonly spans: Span[] = []

  onStart(span: Span, _parent: Context): void {
    this.spans.push(span)
  }

  onEnd(): void {}

  async forceFlush(): Promise<void> {}

  async shutdown(): Promise<void> {}
}

/** The spans of one test. */
export class Tracing {
  readonly instrumentation: UndiciInstrumentation
  readonly #provider: NodeTracerProvider
  readonly #exporter = new InMemorySpanExporter()
  readonly #started = new StartedSpans()

  constructor(config: UndiciInstrumentationConfig) {
    this.#provider = new NodeTracerProvider({
      spanProcessors: [this.#started, new SimpleSpanProcessor(this.#exporter)],
    })
    // With the context manager of AsyncLocalStorage, and W3C's trace context.
    this.#provider.register()
    this.instrumentation = new UndiciInstrumentation(config)
    this.instrumentation.setTracerProvider(this.#provider)
  }

  /** Runs something within a span of the caller's. */
  async within<T>(name: string, run: (span: ApiSpan) => Promise<T>): Promise<T> {
    return this.#provider.getTracer('caller').startActiveSpan(name, async (span) => {
      try {
        return await run(span)
      } finally {
        span.end()
      }
    })
  }

  /** Those of requests, in the order in which they have ended. @throws Error where one hasn't, or has twice */
  async requests(): Promise<ReadableSpan[]> {
    await this.#provider.forceFlush()
    const started = this.#started.spans.map(toId).sort()
    const ended = this.#exporter.getFinishedSpans().map(toId).sort()
    if (`${started}` !== `${ended}`) throw new Error(`Started were ${started}, exported ${ended}`)
    return this.#exporter.getFinishedSpans().filter((span) => span.instrumentationScope.name !== 'caller')
  }

  /** The only one. @throws Error where there are more, or none */
  async request(): Promise<ReadableSpan> {
    const [span, ...more] = await this.requests()
    if (span === undefined || more.length > 0) throw new Error(`There are ${more.length + 1} spans, or none`)
    return span
  }

  async stop(): Promise<void> {
    this.instrumentation.disable()
    await this.#provider.shutdown()
    trace.disable()
    context.disable()
    propagation.disable()
  }
}

/** Traces all requests of the process until the test ends. */
export function startTracing(config: UndiciInstrumentationConfig = {}): Tracing {
  const tracing = new Tracing(config)
  onTestFinished(() => tracing.stop())
  return tracing
}

/** What a server gets of a span that is sampled: W3C's `traceparent`. */
export function toTraceparent(span: ReadableSpan): string {
  const { traceId, spanId } = span.spanContext()
  return `00-${traceId}-${spanId}-01`
}

function toId(span: ReadableSpan): string {
  return `${span.name} ${span.spanContext().spanId}`
}
