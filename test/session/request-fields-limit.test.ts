import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { errors } from '../../src/index.ts'
import { toFieldsSize } from '../../src/request/headers.ts'
import { Setting } from '../../src/testing/frames.ts'
import type { PoolOptions } from '../../types/index.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { ask, SERVE, startHarness, startPeer, toOutcomes } from '../support/peers/peer-rig.ts'

const LARGE = { 'x-large': 'l'.repeat(500) }

/** RFC 9113 §6.5.2: SETTINGS_MAX_HEADER_LIST_SIZE counts 32 bytes for each field beside its name and value. */
describe.each(ENGINES)('a server that limits the fields of a request, on engine %s', (engine) => {
  /** A connection whose SETTINGS have come. */
  async function start(limit: number | null, given: PoolOptions = {}) {
    const settings = limit === null ? [] : [[Setting.MAX_HEADER_LIST_SIZE, limit] as const]
    const peer = await startPeer({ ...SERVE, settings })
    const harness = startHarness(peer, { engine, connections: 1, ...given })
    await toOutcomes([ask(harness, 'GET /first')])
    await peer.connection(0).ping()
    return { peer, harness }
  }

  /** What a request of this kind takes. */
  async function measure(): Promise<number> {
    const { peer, harness } = await start(null)
    await toOutcomes([ask(harness, 'GET /large', { headers: LARGE })])
    return toFieldsSize(peer.request('/large').fields.flat())
  }

  it.each([
    ['as many bytes as it has', 0, true],
    ['one byte less', -1, false],
    ['half as much', -300, false],
  ] as const)('to %s', async (_what, change, isSent) => {
    const size = await measure()
    const { peer, harness } = await start(size + change)
    const call = ask(harness, 'GET /large', { headers: LARGE })
    const [outcome] = await toOutcomes([call])
    expect(peer.counts['GET /large']).toBe(isSent ? 1 : undefined)
    if (isSent) {
      expect(outcome).toBe('GET /large')
      return
    }
    expect(call.error).toBeInstanceOf(errors.RequestHeadersOverflowError)
    expect(call.error).toMatchObject({
      code: 'DODICI_ERR_REQUEST_HEADERS_OVERFLOW',
      processed: 'no',
      attempts: 0,
    })
    const limit = `${size} bytes, more than the server's SETTINGS_MAX_HEADER_LIST_SIZE of ${size + change}`
    expect(call.error.message).toContain(limit)
    expect(call.error.message).toContain('enforceMaxHeaderListSize')
  })

  it('nothing is sent, and the other calls of its connection go on', async () => {
    const { peer, harness } = await start(400)
    const what = ['GET /0', 'POST /1', 'GET /2']
    const calls = what.map((each, i) => ask(harness, each, i === 1 ? { headers: LARGE } : {}))
    expect(await toOutcomes(calls)).toEqual([
      'GET /0',
      'RequestHeadersOverflowError no code=null attempts=0 stream=null',
      'GET /2',
    ])
    expect(peer.connections).toHaveLength(1)
    expect(peer.connection(0).of('RST_STREAM')).toEqual([])
    expect(peer.connection(0).streams.map(({ id }) => id)).toEqual([1, 3, 5])
  })

  it('is told in later SETTINGS, lower or higher', async () => {
    const { peer, harness } = await start(null)
    const ask500 = async (path: string): Promise<string | undefined> =>
      (await toOutcomes([ask(harness, `GET ${path}`, { headers: LARGE })]))[0]
    expect(await ask500('/0')).toBe('GET /0')
    await peer.connection(0).settings([Setting.MAX_HEADER_LIST_SIZE, 400])
    await peer.connection(0).ping()
    expect(await ask500('/1')).toContain('RequestHeadersOverflowError')
    await peer.connection(0).settings([Setting.MAX_HEADER_LIST_SIZE, 4_000])
    await peer.connection(0).ping()
    expect(await ask500('/2')).toBe('GET /2')
  })

  it('to nothing at all', async () => {
    const { harness } = await start(0)
    const [outcome] = await toOutcomes([ask(harness, 'GET /')])
    expect(outcome).toContain('RequestHeadersOverflowError no')
  })

  it('before its SETTINGS have come, isn’t known: the request is sent', async () => {
    const peer = await startPeer({ ...SERVE, settings: [[Setting.MAX_HEADER_LIST_SIZE, 400]] })
    const harness = startHarness(peer, { engine })
    expect(await toOutcomes([ask(harness, 'GET /', { headers: LARGE })])).toEqual(['GET /'])
  })

  it('with enforceMaxHeaderListSize: false, gets the request all the same', async () => {
    const { harness } = await start(400, { enforceMaxHeaderListSize: false })
    expect(await toOutcomes([ask(harness, 'GET /', { headers: LARGE })])).toEqual(['GET /'])
  })

  it('the body of a request that isn’t sent is destroyed', async () => {
    const { harness } = await start(400)
    const body = Readable.from(['never sent'])
    const call = ask(harness, 'POST /', { headers: LARGE, body })
    expect(await toOutcomes([call])).toEqual([
      'RequestHeadersOverflowError no code=null attempts=0 stream=null',
    ])
    expect(body.destroyed).toBe(true)
  })

  it('trailers that are too large end their call, and no other', async () => {
    const { peer, harness } = await start(400)
    const call = ask(harness, 'POST /', { body: 'body', trailers: LARGE })
    expect(await toOutcomes([call])).toEqual([
      'RequestHeadersOverflowError maybe code=null attempts=1 stream=3',
    ])
    await peer.waitFor(() => peer.connection(0).streams[1]?.isReset === true)
    expect(peer.connection(0).streams[1]?.isComplete).toBe(false)
    expect(await toOutcomes([ask(harness, 'GET /next')])).toEqual(['GET /next'])
    expect(peer.connections).toHaveLength(1)
  })
})
