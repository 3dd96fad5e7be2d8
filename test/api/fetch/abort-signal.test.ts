/** Listeners that a fetch leaves on its signal. */

import { getEventListeners, getMaxListeners, setMaxListeners } from 'node:events'
import { gzipSync } from 'node:zlib'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { FetchInit } from '../../../types/index.ts'
import { INTERNAL_ERROR } from '../../support/peers/error-codes.ts'
import type { Rig } from './body-support-rig.ts'
import { sendBytes, startRig, toReason, toStream } from './body-support-rig.ts'

const reason = new Error('enough')

function start(): Promise<Rig> {
  return startRig({
    onRequest(stream) {
      const [, kind] = stream.path.split('/')
      if (kind === 'open') {
        stream.head(200)
        stream.data('begun')
      } else if (kind === 'empty') {
        stream.head(204)
        stream.end()
      } else if (kind === 'moved') {
        stream.head(302, [['location', '/whole']])
        stream.end()
      } else if (kind === 'gzip') {
        stream.head(200, [['content-encoding', 'gzip']])
      } else if (kind === 'reset') {
        stream.reset(INTERNAL_ERROR)
      } else if (stream.method === 'HEAD') {
        stream.head(200)
        stream.end()
      } else if (kind === 'whole') {
        stream.respond()
      }
    },
  })
}

function listeners(signal: AbortSignal): number {
  return getEventListeners(signal, 'abort').length
}

/** Each ends a fetch of its own path, each in another way. */
const ends: readonly (readonly [
  string,
  string,
  FetchInit,
  (rig: Rig, response: Response) => Promise<unknown>,
])[] = [
  ['the body was read by text()', '/whole', {}, (_rig, response) => response.text()],
  [
    'the body was read by a reader',
    '/whole',
    {},
    async (_rig, response) => {
      const reader = toStream(response).getReader()
      while (!(await reader.read()).done);
    },
  ],
  ['the body was cancelled', '/open', {}, (_rig, response) => toStream(response).cancel()],
  [
    'the body broke off',
    '/open',
    {},
    async (rig, response) => {
      rig.peer.request('/open').reset(2)
      await toReason(response.text())
    },
  ],
  [
    'the body could not be decoded',
    '/gzip',
    {},
    async (rig, response) => {
      sendBytes(rig, '/gzip', Buffer.from('no gzip'))
      await toReason(response.text())
    },
  ],
  [
    'the body was decoded',
    '/gzip',
    {},
    async (rig, response) => {
      sendBytes(rig, '/gzip', gzipSync('decoded'))
      rig.peer.request('/gzip').end()
      await response.text()
    },
  ],
  [
    'two clones were read',
    '/whole',
    {},
    (_rig, response) => Promise.all([response.clone().text(), response.text()]),
  ],
  ['there was no body', '/empty', {}, async () => {}],
  ['there is none, for HEAD', '/whole', { method: 'HEAD' }, async () => {}],
  ['it was redirected, and read', '/moved', {}, (_rig, response) => response.text()],
]

/** Each makes a fetch fail. */
const failures: readonly (readonly [string, string, FetchInit])[] = [
  ['the stream was reset', '/reset', {}],
  ['a redirect was not wanted', '/moved', { redirect: 'error' }],
  ['the integrity was not right', '/whole', { integrity: 'sha256-AAAA' }],
  ['the request body failed', '/none', { method: 'POST', duplex: 'half', body: toFailing() }],
]

function toFailing(): ReadableStream<Uint8Array> {
  return new ReadableStream({ pull: () => Promise.reject(new Error('no body')) })
}

describe('when a fetch with a signal is over', () => {
  it.each(ends)('since %s: the signal has no listener', async (_why, path, init, end) => {
    const rig = await start()
    const { signal } = new AbortController()
    const response = await rig.get(path, { ...init, signal })
    await end(rig, response)
    await rig.roundTrip()
    expect(listeners(signal)).toBe(0)
    expect(rig.calls).toEqual({ running: 0, pending: 0 })
  })

  it.each(failures)('since %s: the signal has no listener', async (_why, path, init) => {
    const rig = await start()
    const { signal } = new AbortController()
    expect(await toReason(rig.get(path, { ...init, signal }))).toBeInstanceOf(TypeError)
    expect(listeners(signal)).toBe(0)
  })

  it.each([
    ['an invalid header', { headers: { 'a b': '' } }],
    ['an invalid method', { method: 'A B' }],
    ['a body of GET', { body: 'body' }],
  ])('since it was refused for %s: the signal has no listener', async (_why, init) => {
    const rig = await start()
    const { signal } = new AbortController()
    expect(await toReason(rig.get('/whole', { ...init, signal }))).toBeInstanceOf(TypeError)
    expect(listeners(signal)).toBe(0)
  })
})

describe('when a body is open', () => {
  it('the signal has one listener, over all redirects', async () => {
    const rig = await start()
    const { signal } = new AbortController()
    const response = await rig.get('/open', { signal })
    expect(listeners(signal)).toBe(1)
    await response.body?.cancel()
    expect(listeners(signal)).toBe(0)
  })
})

/** Node 20 throws where there is no limit. */
function toLimit(signal: AbortSignal): number {
  try {
    return getMaxListeners(signal)
  } catch {
    return 0
  }
}

describe('when a thousand fetches share a signal', () => {
  it('Node warns of no leak, each fetch fails, and no listener is left', async () => {
    const warnings: Error[] = []
    const onWarning = (warning: Error): void => void warnings.push(warning)
    process.on('warning', onWarning)
    onTestFinished(() => void process.off('warning', onWarning))
    const rig = await start()
    const controller = new AbortController()
    const { signal } = controller
    const paths = Array.from({ length: 1_000 }, (_, i) => `/none/${i}`)
    const reasons = paths.map((path) => toReason(rig.get(path, { signal })))
    expect(listeners(signal)).toBe(1_000)
    await rig.peer.waitFor(() => rig.peer.requests.length > 0)
    controller.abort(reason)
    expect(new Set(await Promise.all(reasons))).toEqual(new Set([reason]))
    expect(listeners(signal)).toBe(0)
    await rig.roundTrip()
    expect(rig.calls).toEqual({ running: 0, pending: 0 })
    expect(warnings).toEqual([])
    expect(await (await rig.get('/whole')).text()).toBe('GET /whole')
  })

  it.each([0, 5_000])('a limit of the caller, %i, stays as it is', async (limit) => {
    const rig = await start()
    const { signal } = new AbortController()
    setMaxListeners(limit, signal)
    await (await rig.get('/whole', { signal })).text()
    expect(toLimit(signal)).toBe(limit)
  })
})
