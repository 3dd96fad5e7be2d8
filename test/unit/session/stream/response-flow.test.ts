import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { StreamError } from '../../../../src/errors/errors.ts'
import type { FlowSide } from '../../../../src/session/stream/response-flow.ts'
import { ResponseFlow } from '../../../../src/session/stream/response-flow.ts'
import type { Tunnel, TunnelSide } from '../../../../src/session/stream/tunnel.ts'
import type { DispatchController } from '../../../../types/handler.ts'
import type { IncomingHttpHeaders } from '../../../../types/headers.ts'
import type { DispatchOptions } from '../../../../types/request.ts'
import { Scene, TestAttempt, TestHandler } from '../../call/call-scene.ts'

const NO_TUNNEL_SIDE: TunnelSide = {
  socket: null,
  readTunnel() {},
  writeTunnel: (_chunk, callback) => callback(),
  endTunnel: (callback) => callback(),
  closeTunnel() {},
  refTunnel() {},
  resetTunnel() {},
}

/** Records the calls to the call's handler and to the engine's stream, in one list. */
class FlowScene extends TestHandler implements FlowSide {
  readonly told: string[] = []
  readonly streamId = 1
  isClosed = false
  readonly flow: ResponseFlow
  readonly #scene: Scene
  tunnel: Tunnel | null = null
  /** What the handler does with each piece of data. */
  onPiece: (text: string, controller: DispatchController) => void = () => {}

  constructor(options: Partial<DispatchOptions> = {}) {
    super()
    this.#scene = new Scene(options, this)
    this.flow = new ResponseFlow(this, this.#scene.call)
    this.#scene.to('queued')
    this.#scene.call.begin(new FlowAttempt(this.flow))
  }

  get call() {
    return this.#scene.call
  }

  /** The events since the last call. */
  says(): string[] {
    return this.told.splice(0)
  }

  respond(status = 200, headers: Record<string, string> = {}): void {
    this.flow.respond(status, headers, Object.entries(headers).flat())
  }

  /** What an engine does with a piece that comes. 3,000 of a letter are told as one: smaller held pieces are joined. */
  push(text: string): void {
    // Memory of its own: pieces of Node's pool would be parts of one chunk.
    const piece = Buffer.alloc(text.length, text)
    if (this.flow.isFlowing) this.flow.data(piece)
    else this.flow.hold(piece)
  }

  override onResponseStart(_controller: DispatchController, status: number): void {
    this.told.push(`status ${status}`)
  }

  override onResponseData(controller: DispatchController, chunk: Buffer): void {
    const text = String(chunk).replace(/(.)\1{2999}/g, '$1')
    this.told.push(`data ${text}`)
    this.onPiece(text, controller)
  }

  override onResponseEnd(_controller: DispatchController, trailers: IncomingHttpHeaders): void {
    this.told.push(`end ${JSON.stringify(trailers)}`)
  }

  override onResponseError(_controller: DispatchController, error: Error): void {
    this.told.push(`error ${error.message}`)
  }

  onRequestUpgrade(
    _controller: DispatchController,
    status: number,
    _headers: unknown,
    tunnel: unknown,
  ): void {
    this.told.push(`tunnel ${status}`)
    this.tunnel = tunnel as Tunnel
  }

  proceed(): void {
    this.told.push('proceed')
  }

  onTaken(bytes: number): void {
    this.told.push(`taken ${bytes}`)
  }

  toTunnelSide(): TunnelSide | null {
    return NO_TUNNEL_SIDE
  }

  onComplete(): void {
    this.told.push('complete')
  }

  onOver(): void {
    this.told.push('over')
  }
}

class FlowAttempt extends TestAttempt {
  override readonly meter: ResponseFlow

  constructor(flow: ResponseFlow) {
    super()
    this.meter = flow
  }

  override resume(): void {
    this.meter.handOn()
  }

  override cancel(): void {
    this.meter.cancel()
  }
}

describe('ResponseFlow', () => {
  describe('when a response comes in order', () => {
    it('passes on the header, the data, and the end', () => {
      const scene = new FlowScene()
      scene.isClosed = true
      scene.respond()
      scene.push('a')
      scene.push('b')
      scene.flow.endData('whole')
      expect(scene.says()).toEqual([
        'status 200',
        'proceed',
        'data a',
        'data b',
        'complete',
        'over',
        'end {}',
      ])
      expect(scene.flow.isDone).toBe(true)
    })

    it('tells the session once the peer no longer counts the stream', () => {
      const scene = new FlowScene()
      scene.respond()
      scene.flow.endData('whole')
      expect(scene.says()).not.toContain('over')
      scene.isClosed = true
      scene.flow.tellOver()
      expect(scene.says()).toEqual(['over'])
    })

    it.each([
      [100, ['status 100', 'proceed']],
      [103, ['status 103']],
      [204, ['status 204', 'proceed']],
      [404, ['status 404']],
    ])('starts the request body when the server permits it: status %i', (status, told) => {
      const scene = new FlowScene()
      scene.respond(status)
      expect(scene.says()).toEqual(told)
      expect(scene.flow.isOpen).toBe(status < 200)
    })

    it('does not start the request body when the response has ended already', () => {
      const scene = new FlowScene()
      scene.flow.endData('due')
      scene.respond()
      expect(scene.says()).toEqual(['status 200'])
    })
  })

  describe('when data comes before the header is passed on', () => {
    it('passes it on after the header', () => {
      const scene = new FlowScene()
      scene.push('a')
      scene.push('bc')
      expect(scene.says()).toEqual([])
      scene.respond()
      expect(scene.says()).toEqual(['status 200', 'proceed', 'taken 1', 'data a', 'taken 2', 'data bc'])
    })
  })

  describe('when END_STREAM is known before the trailers in front of it', () => {
    it('waits for them', () => {
      const scene = new FlowScene()
      scene.respond()
      scene.flow.endData('due')
      scene.flow.onTrailers({ sum: '1' }, ['sum', '1'])
      scene.says()
      scene.flow.endData('whole')
      expect(scene.says()).toEqual(['complete', 'end {"sum":"1"}'])
    })
  })

  describe('when its reader holds the response back', () => {
    it('buffers the data, and the end, until the reader resumes', () => {
      const scene = new FlowScene()
      scene.respond()
      scene.call.pause()
      scene.push('a')
      scene.push('b')
      scene.flow.endData('whole')
      expect(scene.flow.isWhole).toBe(true)
      scene.says()
      scene.call.resume()
      expect(scene.says()).toEqual(['taken 1', 'data a', 'taken 1', 'data b', 'complete', 'end {}'])
    })

    it('stops when the reader pauses within a callback, and continues from there', () => {
      const scene = new FlowScene()
      scene.respond()
      scene.call.pause()
      for (const text of 'abc') scene.push(text.repeat(3_000))
      scene.flow.endData('whole')
      scene.onPiece = (_text, controller) => controller.pause()
      for (const told of [['data a'], ['data b'], ['data c'], ['end {}']]) {
        scene.says()
        scene.call.resume()
        expect(scene.says().filter((line) => /^(data|end)/.test(line))).toEqual(told)
      }
    })

    it('passes each piece on once when the reader pauses and resumes within a callback', () => {
      const scene = new FlowScene()
      scene.respond()
      scene.call.pause()
      for (const text of 'abc') scene.push(text.repeat(3_000))
      scene.flow.endData('whole')
      scene.onPiece = (_text, controller) => {
        controller.pause()
        controller.resume()
      }
      scene.says()
      scene.call.resume()
      expect(scene.says().filter((line) => !line.startsWith('taken'))).toEqual([
        'data a',
        'data b',
        'data c',
        'complete',
        'end {}',
      ])
    })

    it('passes on everything when the connection is lost meanwhile', () => {
      const scene = new FlowScene()
      scene.respond()
      scene.call.pause()
      scene.push('a')
      scene.flow.endData('whole')
      scene.says()
      scene.flow.complete()
      expect(scene.says()).toEqual(['taken 1', 'data a', 'complete', 'end {}'])
    })

    it('passes on each piece once, and then the end, when the connection is lost during a piece', () => {
      const scene = new FlowScene()
      scene.respond()
      scene.call.pause()
      scene.push('a')
      scene.push('b')
      scene.flow.endData('whole')
      scene.onPiece = () => scene.flow.complete()
      scene.says()
      scene.call.resume()
      expect(scene.says()).toEqual(['taken 1', 'data a', 'taken 1', 'data b', 'complete', 'end {}'])
    })
  })

  describe('when the stream fails', () => {
    it('passes on the data that came before, and the error', () => {
      const scene = new FlowScene()
      scene.respond()
      scene.call.pause()
      scene.push('a')
      scene.says()
      scene.flow.fail(new StreamError('It is lost'))
      expect(scene.says()).toEqual(['taken 1', 'data a', 'error It is lost'])
      scene.flow.fail(new StreamError('Again'))
      expect(scene.says()).toEqual([])
    })

    it('drops data when its header was not passed on', () => {
      const scene = new FlowScene()
      scene.push('abc')
      scene.flow.fail(new StreamError('It is lost'))
      expect(scene.says()).toEqual(['taken 3', 'error It is lost'])
    })
  })

  describe('when the peer closes the stream early, without an error', () => {
    it.each([
      ['3', true],
      ['4', false],
    ])('is complete when all announced bytes have come: 3 bytes of %s', (length, isComplete) => {
      const scene = new FlowScene()
      scene.respond(200, { 'content-length': length })
      scene.push('a')
      scene.call.pause()
      scene.push('bc')
      scene.flow.endData('closed')
      scene.says()
      expect(scene.flow.completeByLength()).toBe(isComplete)
      expect(scene.says()).toEqual(isComplete ? ['taken 2', 'data bc', 'complete', 'end {}'] : [])
    })

    it('is not complete when no length was announced, or no header has come', () => {
      const scene = new FlowScene()
      expect(scene.flow.completeByLength()).toBe(false)
      scene.respond()
      expect(scene.flow.completeByLength()).toBe(false)
    })
  })

  describe('when the call ends', () => {
    it('passes on nothing more', () => {
      const scene = new FlowScene()
      scene.respond()
      scene.call.pause()
      scene.push('a')
      scene.says()
      scene.call.abort(new Error('enough'))
      expect(scene.says()).toEqual(['error enough'])
      scene.flow.handOn()
      scene.flow.endData('whole')
      scene.flow.complete()
      scene.flow.fail(new StreamError('It is lost'))
      expect(scene.says()).toEqual([])
    })

    it('passes on no further piece when its reader ends the call during one', () => {
      const scene = new FlowScene()
      scene.respond()
      scene.call.pause()
      scene.push('a')
      scene.push('b')
      scene.onPiece = (_text, controller) => controller.abort(new Error('enough'))
      scene.says()
      scene.call.resume()
      expect(scene.says()).toEqual(['taken 1', 'data a', 'error enough'])
    })
  })

  describe('when a tunnel was requested', () => {
    const CONNECT = { method: 'CONNECT', path: 'a.example:443' }

    function open(prepare: (scene: FlowScene) => void = () => {}): {
      scene: FlowScene
      tunnel: Tunnel
      errors: Error[]
    } {
      const scene = new FlowScene(CONNECT)
      prepare(scene)
      scene.respond()
      const errors: Error[] = []
      const { tunnel } = scene
      if (tunnel === null) throw new Error('There is no tunnel')
      expect(scene.says()).toEqual(['tunnel 200'])
      tunnel.on('error', (error) => errors.push(error))
      return { scene, tunnel, errors }
    }

    it('contains the data that came before', async () => {
      const { tunnel } = open((scene) => {
        scene.push('ab')
        scene.flow.endData('due')
      })
      const chunks = await tunnel.toArray()
      expect(Buffer.concat(chunks).toString()).toBe('ab')
    })

    it('is refused by any other status', () => {
      const scene = new FlowScene(CONNECT)
      scene.respond(407)
      expect(scene.says()).toEqual(['status 407'])
      expect(scene.flow.tunnel).toBeNull()
    })

    it('ends without an error once both sides have ended', async () => {
      const { scene, tunnel, errors } = open()
      expect(scene.flow.endTunnel(true)).toBe(false)
      tunnel.end()
      scene.flow.endData('whole')
      expect(scene.flow.endTunnel(true)).toBe(true)
      expect(scene.flow.isDone).toBe(true)
      await tunnel.toArray()
      expect(errors).toEqual([])
    })

    it('fails with the error of the stream', async () => {
      const { scene, tunnel, errors } = open()
      expect(scene.flow.endTunnel(false)).toBe(false)
      scene.flow.fail(new StreamError('It is lost'))
      await setImmediate()
      await setImmediate()
      expect(errors).toMatchObject([{ message: 'It is lost', processed: 'yes', streamId: 1 }])
      expect([tunnel.destroyed, scene.flow.tunnel]).toEqual([true, null])
    })

    it('fails on trailers, which a tunnel cannot have', async () => {
      const { scene, errors } = open()
      scene.flow.onTrailers({}, [])
      await setImmediate()
      await setImmediate()
      expect(errors).toMatchObject([{ message: 'HEADERS arrived inside a tunnel (RFC 9113 §8.5)' }])
    })
  })
})
