import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { hasWholeBody } from '../../../src/call/response-limits.ts'
import {
  ConnectTimeoutError,
  HeadersCountError,
  HeadersOverflowError,
  QueueTimeoutError,
  RequestTimeoutError,
  ResponseContentLengthMismatchError,
  ResponseExceededMaxSizeError,
  StreamError,
  UploadTimeoutError,
} from '../../../src/errors/errors.ts'
import type { IncomingHttpHeaders } from '../../../types/headers.ts'
import { MARGIN, Scene, TestHandler } from './call-scene.ts'

/** A handler that accepts a tunnel. */
class TunnelHandler extends TestHandler {
  readonly tunnels: unknown[] = []
  onUpgrade: () => void = () => {}

  onRequestUpgrade(...given: unknown[]): void {
    this.tunnels.push(given)
    this.onUpgrade()
  }
}

/** The response's header, with a content-length. */
function announce(scene: Scene, length: string): void {
  scene.call.respond(200, { 'content-length': length }, ['content-length', length])
}

describe('Call', () => {
  describe('when it waits for a stream', () => {
    it('fails after queueTimeout, and reports that nothing was sent', () => {
      const scene = new Scene({ queueTimeout: 500 }).to('queued')
      scene.call.wait()
      scene.clock.advance(499)
      expect(scene.call.state).toBe('queued')
      scene.clock.advance(MARGIN)
      expect(scene.handler.errors).toEqual([expect.any(QueueTimeoutError)])
      expect(scene.handler.errors[0]).toMatchObject({
        message: 'No stream within queueTimeout (500 ms)',
        processed: 'no',
        attempts: 0,
        streamId: null,
      })
      expect(scene.owner.settled).toEqual(['queued'])
    })

    it('starts queueTimeout anew when it is queued again, and names its last stream', () => {
      const scene = new Scene({ queueTimeout: 500 }).to('running')
      scene.owner.replays = true
      scene.call.attemptFailed(new StreamError('Refused'))
      scene.clock.advance(500 + MARGIN)
      expect(scene.handler.errors).toEqual([expect.any(QueueTimeoutError)])
      expect(scene.handler.errors[0]).toMatchObject({ processed: 'no', attempts: 1, streamId: 1 })
    })

    it('fails after its own connectTimeout while there is no connection', () => {
      const scene = new Scene({ connectTimeout: 500 }).to('queued')
      scene.owner.connecting = true
      scene.call.wait()
      scene.clock.advance(500 + MARGIN)
      expect(scene.handler.errors).toEqual([expect.any(ConnectTimeoutError)])
      expect(scene.handler.errors[0]).toMatchObject({
        message: 'No connection within connectTimeout (500 ms)',
      })
    })

    it('fails after a shorter headersTimeout when no queueTimeout was given, and names it', () => {
      const scene = new Scene({ headersTimeout: 500 }).to('queued')
      scene.call.wait()
      scene.clock.advance(500 + MARGIN)
      expect(scene.handler.errors).toEqual([expect.any(QueueTimeoutError)])
      expect(scene.handler.errors[0]).toMatchObject({
        message: 'No stream within headersTimeout (500 ms), and queueTimeout is not set',
        processed: 'no',
      })
    })

    it('does not count the time in which it waits for a connection against headersTimeout', () => {
      const scene = new Scene({ headersTimeout: 500 }).to('queued')
      scene.owner.connecting = true
      scene.call.wait()
      scene.clock.advance(5_000)
      expect(scene.call.state).toBe('queued')
      scene.owner.connecting = false
      scene.clock.advance(500 + MARGIN)
      expect(scene.handler.errors).toEqual([expect.any(QueueTimeoutError)])
    })

    it('continues to wait when a connection in progress will have room for it', () => {
      const scene = new Scene({ connectTimeout: 500, queueTimeout: 5_000 }).to('queued')
      scene.call.wait()
      scene.clock.advance(4_000)
      expect(scene.call.state).toBe('queued')
      scene.clock.advance(1_000 + MARGIN)
      expect(scene.handler.errors).toEqual([expect.any(QueueTimeoutError)])
    })
  })

  describe('when its body stalls', () => {
    it('fails after uploadTimeout, and resets the stream', () => {
      const scene = new Scene({ method: 'POST', body: 'abc', uploadTimeout: 500 }).to('running')
      for (let i = 0; i < 3; i++) {
        scene.clock.advance(499)
        if (i === 0) scene.call.sent(Buffer.from('a'))
        else scene.call.sent(null)
      }
      expect(scene.call.state).toBe('running')
      scene.clock.advance(500 + MARGIN)
      expect(scene.handler.errors).toEqual([expect.any(UploadTimeoutError)])
      expect(scene.handler.errors[0]).toMatchObject({ processed: 'maybe', attempts: 1, streamId: 1 })
      expect(scene.attempt.told).toEqual(['cancel'])
    })
  })

  describe('when the whole call takes too long', () => {
    it.each(['queued', 'running', 'receiving'] as const)('fails after requestTimeout: %s', (state) => {
      const scene = new Scene({ requestTimeout: 500 }).to(state)
      scene.clock.advance(500 + MARGIN)
      expect(scene.handler.errors).toEqual([expect.any(RequestTimeoutError)])
      expect(scene.owner.settled).toEqual([state])
    })
  })

  describe('when the response exceeds a limit', () => {
    it.each<[string, object, (scene: Scene) => void]>([
      ['bytes of the header', HeadersOverflowError, (scene) => scene.respond(200, ['x-a', 'a'.repeat(100)])],
      ['fields of the header', HeadersCountError, (scene) => scene.respond(200, ['a', '', 'b', '', 'c', ''])],
      ['bytes of a 103', HeadersOverflowError, (scene) => scene.respond(103, ['x-a', 'a'.repeat(100)])],
      ['an announced length', ResponseExceededMaxSizeError, (scene) => announce(scene, '6')],
    ])('fails before its handler receives the excess: %s', (_what, type, respond) => {
      const scene = new Scene({ maxHeaderSize: 100, maxHeadersCount: 2, maxResponseSize: 5 }).to('running')
      respond(scene)
      expect(scene.handler.heard).toEqual(['onRequestStart', 'onResponseError'])
      expect(scene.handler.errors[0]?.constructor).toBe(type)
      expect(scene.handler.errors[0]).toMatchObject({ processed: 'yes', attempts: 1, streamId: 1 })
      expect(scene.attempt.told).toEqual(['cancel'])
    })

    it('fails at the piece of the body that exceeds maxResponseSize', () => {
      const scene = new Scene({ maxResponseSize: 5 }).to('receiving')
      scene.data()
      scene.data()
      expect(scene.handler.heard.slice(2)).toEqual(['onResponseData', 'onResponseError'])
      expect(scene.handler.errors).toEqual([expect.any(ResponseExceededMaxSizeError)])
      expect(scene.attempt.told).toEqual(['cancel'])
    })

    it.each<[string, string[], object]>([
      ['bytes', ['x-a', 'a'.repeat(100)], HeadersOverflowError],
      ['fields', ['a', '', 'b', '', 'c', ''], HeadersCountError],
    ])('fails when the trailers exceed a limit: %s', (_what, raw, type) => {
      const scene = new Scene({ maxHeaderSize: 100, maxHeadersCount: 2 }).to('receiving')
      scene.complete(raw)
      expect(scene.handler.heard.slice(2)).toEqual(['onResponseError'])
      expect(scene.handler.errors[0]?.constructor).toBe(type)
      expect(scene.handler.errors[0]).toMatchObject({ processed: 'yes' })
    })
  })

  describe('when the body length differs from content-length', () => {
    it('fails at the end when the body is shorter', () => {
      const scene = new Scene().to('running')
      announce(scene, '4')
      scene.data()
      expect(hasWholeBody(scene.attempt.meter, 0)).toBe(false)
      scene.complete()
      expect(scene.handler.errors).toEqual([expect.any(ResponseContentLengthMismatchError)])
      expect(scene.handler.heard).not.toContain('onResponseEnd')
    })

    it('fails at the piece that exceeds it when the body is longer', () => {
      const scene = new Scene().to('running')
      announce(scene, '3')
      scene.data()
      expect(hasWholeBody(scene.attempt.meter, 0)).toBe(true)
      scene.data()
      expect(scene.handler.errors).toEqual([expect.any(ResponseContentLengthMismatchError)])
    })
  })

  describe('when a tunnel is established', () => {
    const headers: IncomingHttpHeaders = { 'x-a': '1' }
    const raw = [':status', '200', 'x-a', '1']

    function toTunnel(onUpgrade: () => void = () => {}) {
      const handler = new TunnelHandler()
      handler.onUpgrade = onUpgrade
      const scene = new Scene({ method: 'CONNECT', path: 'a.example:443', requestTimeout: 500 }, handler)
      const tunnel = new PassThrough()
      return { handler, scene: scene.to('running'), tunnel }
    }

    it('hands the tunnel over, and has settled', () => {
      const { handler, scene, tunnel } = toTunnel()
      scene.call.upgrade(200, headers, raw, tunnel)
      expect(handler.tunnels).toEqual([[scene.call.controller, 200, headers, tunnel]])
      expect(scene.call.rawHeaders).toEqual(['x-a', '1'])
      expect(scene.owner.settled).toEqual(['receiving'])
      expect(scene.attempt.told).toEqual([])
    })

    it('no longer affects the tunnel, except that an abort destroys it', () => {
      const { handler, scene, tunnel } = toTunnel()
      scene.call.upgrade(200, headers, raw, tunnel)
      scene.clock.advance(1_000_000)
      expect(tunnel.destroyed).toBe(false)
      scene.call.abort()
      expect(tunnel.destroyed).toBe(true)
      expect(scene.attempt.told).toEqual([])
      expect(handler.errors).toEqual([])
      expect(scene.owner.deadlines.size).toBe(0)
    })

    it('destroys the tunnel when the handler throws, and reports the error to the handler', () => {
      const error = new Error('The handler is broken')
      const { handler, scene, tunnel } = toTunnel(() => {
        throw error
      })
      scene.call.upgrade(200, headers, raw, tunnel)
      expect(tunnel.destroyed).toBe(true)
      expect(handler.errors).toEqual([error])
      expect(scene.owner.settled).toHaveLength(1)
    })

    it('accepts no tunnel once it has settled', () => {
      const { handler, scene, tunnel } = toTunnel()
      scene.call.abort()
      scene.call.upgrade(200, headers, raw, tunnel)
      expect(handler.tunnels).toEqual([])
    })
  })
})
