import { constants } from 'node:buffer'
import { Agent as Agent7 } from 'undici'
import { Agent as Agent6 } from 'undici-6'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  Agent,
  Client,
  EnvHttpProxyAgent,
  errors,
  Pool,
  ProxyAgent,
  UpstreamPool,
} from '../../../src/index.ts'
import type { ClientOptions, Dispatcher } from '../../../types/index.ts'

const ORIGIN = 'http://localhost:1'

const CLASSES: readonly [string, (options?: ClientOptions) => Limited][] = [
  ['Client', (options) => new Client(ORIGIN, options)],
  ['Pool', (options) => new Pool(ORIGIN, options)],
  ['Agent', (options) => new Agent(options)],
  ['UpstreamPool', (options) => new UpstreamPool(ORIGIN, options)],
  ['ProxyAgent', (options) => new ProxyAgent({ uri: ORIGIN, ...toProxied(options) })],
  ['EnvHttpProxyAgent', (options) => new EnvHttpProxyAgent({ httpProxy: ORIGIN, ...toProxied(options) })],
  [
    'compose()',
    (options) => new Agent(options).compose((dispatch) => (request, handler) => dispatch(request, handler)),
  ],
]

type Limited = Dispatcher & Pick<Agent, 'webSocketOptions' | 'eventSourceOptions'>

function toProxied({ webSocket, eventSource }: ClientOptions = {}) {
  return { webSocket, eventSource }
}

function toLimits(dispatcher: Pick<Agent, 'webSocketOptions' | 'eventSourceOptions'>) {
  return { ...dispatcher.webSocketOptions, ...dispatcher.eventSourceOptions }
}

const OPTIONS = [
  undefined,
  { webSocket: { maxPayloadSize: 5 } },
  { webSocket: { maxFragments: 7, maxPayloadSize: 0 } },
]

describe.each(
  CLASSES,
)('what WebSockets and EventSources may receive over a dispatcher: %s', (_name, make) => {
  function start(options?: ClientOptions) {
    const dispatcher = make(options)
    onTestFinished(() => dispatcher.destroy())
    return dispatcher
  }

  it.each(OPTIONS)("is what undici's Agent has with the options %j", (options) => {
    const limits = toLimits(start(options))
    // Their types lack the two properties.
    for (const theirs of [new Agent6(options), new Agent7(options)])
      expect(limits).toEqual(toLimits(theirs as unknown as Agent))
  })

  it('is undici 8’s default without options, and as given otherwise', () => {
    expect(toLimits(start())).toEqual({
      maxFragments: 131_072,
      maxPayloadSize: 134_217_728,
      maxEventSize: constants.MAX_STRING_LENGTH,
    })
    expect(toLimits(start({ webSocket: { maxPayloadSize: 1 }, eventSource: { maxEventSize: 2 } }))).toEqual({
      maxFragments: 131_072,
      maxPayloadSize: 1,
      maxEventSize: 2,
    })
    // Infinity has no place in undici's sums.
    const any = Number.POSITIVE_INFINITY
    expect(
      toLimits(
        start({ webSocket: { maxPayloadSize: any, maxFragments: any }, eventSource: { maxEventSize: any } }),
      ),
    ).toEqual({ maxFragments: 0, maxPayloadSize: 0, maxEventSize: 0 })
  })

  it.each([
    [{ webSocket: { maxPayloadSize: -1 } }, 'webSocket.maxPayloadSize'],
    [{ webSocket: { maxFragments: 1.5 } }, 'webSocket.maxFragments'],
    [{ eventSource: { maxEventSize: '1' } }, 'eventSource.maxEventSize'],
    [{ webSocket: 1 }, 'webSocket'],
    [{ eventSource: [] }, 'eventSource'],
  ])('is refused as %j', (options, name) => {
    const thrown = expect(() => make(options as ClientOptions))
    thrown.toThrow(errors.InvalidArgumentError)
    thrown.toThrow(name)
  })
})
