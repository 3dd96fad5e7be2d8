/** Dispatchers that throw or end too early, or act without a request. */

import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { fetch } from '../../../src/index.ts'
import type { DispatchController, DispatchHandler, DispatchOptions } from '../../../types/index.ts'
import { INERT } from '../../support/clients/inert-controller.ts'

const ANYWHERE = 'http://a.test/'

describe('when a dispatcher throws or ends too early', () => {
  type Play = (handler: DispatchHandler) => void

  /** A dispatcher that plays the response within dispatch(). */
  function toDispatcher(play: Play) {
    return {
      dispatch(_options: DispatchOptions, handler: DispatchHandler) {
        play(handler)
        return true
      },
    }
  }

  const controller = INERT

  it('fails a body whose dispatcher throws after the header', async () => {
    const error = new Error('halfway')
    const dispatcher = toDispatcher((handler) => {
      handler.onRequestStart?.(controller, null)
      handler.onResponseStart?.(controller, 200, {}, '')
      throw error
    })
    const response = await fetch(ANYWHERE, { dispatcher })
    await expect(response.text()).rejects.toThrow(new TypeError('terminated'))
  })

  it('rejects when the end comes without a header section', async () => {
    const dispatcher = toDispatcher((handler) => {
      handler.onRequestStart?.(controller, null)
      handler.onResponseEnd?.(controller, {})
    })
    await expect(fetch(ANYWHERE, { dispatcher })).rejects.toThrow(new TypeError('fetch failed'))
  })
})

describe('when a dispatcher acts without a request', () => {
  /** Records what fetch does with the call. */
  function toCall(play: (handler: DispatchHandler, controller: DispatchController) => void) {
    const aborted: unknown[] = []
    let dispatched = 0
    const controller = {
      ...INERT,
      rawHeaders: null as string[] | null,
      abort: (reason?: Error) => void aborted.push(reason),
      pause() {},
      resume() {},
    }
    const dispatcher = {
      dispatch(_options: DispatchOptions, handler: DispatchHandler) {
        dispatched++
        play(handler, controller)
        return true
      },
    }
    return { dispatcher, aborted, controller, toCount: () => dispatched }
  }

  it('rejects when it opens a tunnel, and destroys the tunnel', async () => {
    const tunnel = new PassThrough()
    const { dispatcher } = toCall((handler, controller) => {
      handler.onRequestStart?.(controller, null)
      handler.onRequestUpgrade?.(controller, 101, {}, tunnel)
    })
    await expect(fetch(ANYWHERE, { dispatcher })).rejects.toThrow(new TypeError('fetch failed'))
    expect(tunnel.destroyed).toBe(true)
  })

  it('ends a response that comes after the abort, by a controller that it never gave', async () => {
    let respond = (): void => {}
    const { dispatcher, aborted } = toCall((handler, controller) => {
      respond = () => handler.onResponseStart?.(controller, 200, {}, '')
    })
    const abort = new AbortController()
    const response = fetch(ANYWHERE, { dispatcher, signal: abort.signal })
    abort.abort('over')
    await expect(response).rejects.toBe('over')
    respond()
    expect(aborted).toHaveLength(1)
  })

  it('keeps a complete body when it reports an error later', async () => {
    const { dispatcher } = toCall((handler, controller) => {
      handler.onRequestStart?.(controller, null)
      handler.onResponseStart?.(controller, 200, {}, '')
      handler.onResponseData?.(controller, Buffer.from('all'))
      handler.onResponseEnd?.(controller, {})
      handler.onResponseError?.(controller, new Error('too late'))
    })
    expect(await (await fetch(ANYWHERE, { dispatcher })).text()).toBe('all')
  })

  it('keeps the headers of the response, whatever its controller has later', async () => {
    const { dispatcher, controller } = toCall((handler, call) => {
      handler.onRequestStart?.(call, null)
      controller.rawHeaders = ['x-a', 'first']
      handler.onResponseStart?.(call, 200, { 'x-a': 'first' }, '')
      handler.onResponseEnd?.(call, {})
    })
    const response = await fetch(ANYWHERE, { dispatcher })
    controller.rawHeaders = ['x-a', 'second']
    expect(response.headers.get('x-a')).toBe('first')
  })

  it('asks a controller that keeps the fields for them when the headers are read, and not before', async () => {
    let reads = 0
    const { dispatcher } = toCall((handler, call) => {
      const keeping = Object.defineProperty({ ...call, hasLastingRawHeaders: true }, 'rawHeaders', {
        get: () => {
          reads++
          return ['x-a', '1', 'x-a', '2']
        },
      })
      handler.onRequestStart?.(keeping, null)
      handler.onResponseStart?.(keeping, 200, { 'x-a': '1' }, '')
      handler.onResponseEnd?.(keeping, {})
    })
    const response = await fetch(ANYWHERE, { dispatcher })
    expect(reads).toBe(0)
    expect(response.headers.get('x-a')).toBe('1, 2')
    expect(reads).toBe(1)
  })

  it('sends nothing of a Request that is aborted while its body is examined', async () => {
    for (const body of ['pay me', new Blob(['a', 'b']), new ReadableStream()]) {
      const { dispatcher, toCount } = toCall(() => {})
      const abort = new AbortController()
      const request = new Request(ANYWHERE, { method: 'POST', body, duplex: 'half' })
      const response = fetch(request, { dispatcher, signal: abort.signal })
      abort.abort('over')
      await expect(response).rejects.toBe('over')
      // A later one's turn has come by then, and with it this one's.
      const later = toCall((handler, controller) => {
        handler.onRequestStart?.(controller, null)
        handler.onResponseStart?.(controller, 204, {}, '')
        handler.onResponseEnd?.(controller, {})
      })
      await fetch(new Request(ANYWHERE, { method: 'POST', body: 'x' }), { dispatcher: later.dispatcher })
      expect(toCount()).toBe(0)
    }
  })
})
