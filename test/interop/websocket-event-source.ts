/** A client's end of an EventSource, of any implementation. */

import type { Agent } from '../../src/index.ts'

interface ServerSentEvent {
  readonly type: string
  readonly data?: unknown
  readonly lastEventId?: string
}

interface Source {
  readonly readyState: number
  close(): void
  addEventListener(type: string, listener: (event: ServerSentEvent) => void): void
}

interface SourceOptions {
  readonly dispatcher?: Agent
  /** The name that undici 8 has for it. */
  readonly node?: { readonly dispatcher?: Agent }
}

export type EventSourceClass = new (url: string, options: SourceOptions) => Source

const CLOSED = 2

/**
 * So many events, in their order; or fewer, when it has failed for good.
 *
 * @param agent null for the global one
 */
export async function listenTo(
  sourceClass: EventSourceClass,
  url: string,
  agent: Agent | null,
  count: number,
): Promise<unknown[]> {
  const source = new sourceClass(
    url,
    agent === null ? {} : { dispatcher: agent, node: { dispatcher: agent } },
  )
  const heard: unknown[] = []
  await new Promise<void>((resolve) => {
    const onEvent = ({ type, data, lastEventId }: ServerSentEvent): void => {
      heard.push({ type, data, lastEventId })
      if (heard.length === count) resolve()
    }
    source.addEventListener('message', onEvent)
    source.addEventListener('named', onEvent)
    source.addEventListener('error', ({ type }) => {
      if (source.readyState !== CLOSED) return
      heard.push({ type, readyState: source.readyState })
      resolve()
    })
  })
  source.close()
  return heard
}
