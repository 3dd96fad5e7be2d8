import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import {
  InvalidReturnValueError,
  RequestAbortedError,
  RequestContentLengthMismatchError,
  StreamError,
} from '../../../src/errors/errors.ts'
import type { SendableBody } from '../../../src/request/body-source.ts'
import type { WireHeaders } from '../../../src/request/wire-headers.ts'
import { toFields } from '../../support/clients/fields.ts'
import { MARGIN, Scene, TestAttempt, TestHandler } from './call-scene.ts'

/** A handler that also implements the methods about the request body. */
class UploadHandler extends TestHandler {
  readonly sent: Buffer[] = []
  requestsSent = 0

  onBodySent(chunk: Buffer): void {
    this.sent.push(chunk)
  }

  onRequestSent(): void {
    this.requestsSent++
  }
}

/** Begins an attempt and returns what it is given to send; throws when the call gives it nothing. */
function begin(
  { call }: Scene,
  attempt: TestAttempt,
): { readonly body: SendableBody; readonly wire: WireHeaders } {
  const wire = call.begin(attempt)
  if (wire === null) throw new Error('There is nothing to send')
  return { body: call.body, wire }
}

function toText(body: SendableBody): string {
  if (body.kind !== 'bytes') throw new Error(`It is a body of kind ${body.kind}`)
  return Buffer.from(body.bytes).toString()
}

describe('Call', () => {
  describe('when an attempt begins', () => {
    it("gives it the request's body and header, untouched", () => {
      const scene = new Scene({ method: 'POST', body: 'abc' }).to('queued')
      const outgoing = begin(scene, scene.attempt)
      expect(outgoing.body).toBe(scene.call.request.body)
      expect(outgoing.wire).toBe(scene.call.request.wire)
    })

    it('gives each attempt the body that its function made for it', () => {
      let calls = 0
      const scene = new Scene({ method: 'POST', body: () => 'a'.repeat(++calls) }).to('queued')
      scene.owner.replays = true
      const first = begin(scene, scene.attempt)
      scene.call.attemptFailed(new StreamError('Refused'))
      const second = begin(scene, new TestAttempt(3))
      expect([toText(first.body), toText(second.body)]).toEqual(['a', 'aa'])
      expect([toFields(first.wire)['content-length'], toFields(second.wire)['content-length']]).toEqual([
        '1',
        '2',
      ])
    })
  })

  describe('when the body function fails', () => {
    const error = new Error('No such file')
    it.each<[string, () => never, object]>([
      [
        'it throws',
        () => {
          throw error
        },
        error,
      ],
      ['it makes no body', () => 1 as never, expect.any(InvalidReturnValueError)],
    ])('fails with that error, and destroys the attempt: %s', (_how, body, expected) => {
      const scene = new Scene({ method: 'POST', body }).to('queued')
      expect(scene.call.begin(scene.attempt)).toBeNull()
      expect(scene.handler.errors).toEqual([expected])
      expect(scene.attempt.told).toEqual(['cancel'])
      expect(scene.owner.settled).toEqual(['running'])
      expect(scene.owner.deadlines.size).toBe(0)
    })

    it('fails with a wrong content-length, and destroys the body that was made', () => {
      const made: string[] = []
      const body = () => {
        made.push('made')
        return 'abcd'
      }
      const scene = new Scene({ method: 'POST', body, headers: { 'content-length': 3 } }).to('queued')
      expect(scene.call.begin(scene.attempt)).toBeNull()
      expect(scene.handler.errors).toEqual([expect.any(RequestContentLengthMismatchError)])
      expect(made).toEqual(['made'])
    })
  })

  describe('when the body function aborts the call', () => {
    it('sends nothing, and destroys the body that was made', () => {
      const made: Readable[] = []
      const reason = new Error('enough')
      const scene: Scene = new Scene({
        method: 'POST',
        body: () => {
          scene.call.abort(reason)
          const readable = new Readable({ read() {} })
          made.push(readable)
          return readable
        },
      })
      scene.to('queued')
      expect(scene.call.begin(scene.attempt)).toBeNull()
      expect(scene.handler.errors).toEqual([reason])
      expect(scene.attempt.told).toEqual(['cancel'])
      expect(made.map(({ destroyed }) => destroyed)).toEqual([true])
      expect(scene.owner.deadlines.size).toBe(0)
    })
  })

  describe('when its body fails', () => {
    const error = new Error('The file is gone')

    it.each(['queued', 'running', 'receiving'] as const)('fails with that error: %s', async (state) => {
      const body = new Readable({ read() {} })
      const scene = new Scene({ method: 'POST', body }).to(state)
      body.destroy(error)
      await setImmediate()
      expect(scene.handler.errors).toEqual([error])
      expect(scene.owner.settled).toEqual([state])
    })

    it('fails with the error of a body that a function made, too', async () => {
      const made: Readable[] = []
      const body = () => {
        const readable = new Readable({ read() {} })
        made.push(readable)
        return readable
      }
      const scene = new Scene({ method: 'POST', body }).to('running')
      made[0]?.destroy()
      await setImmediate()
      expect(scene.handler.errors).toEqual([expect.any(RequestAbortedError)])
      expect(scene.attempt.told).toEqual(['cancel'])
    })

    it('does not fail with a body error of an attempt that is over', async () => {
      const made: Readable[] = []
      const body = () => {
        const readable = new Readable({ read() {} })
        made.push(readable)
        return readable
      }
      const scene = new Scene({ method: 'POST', body }).to('running')
      scene.owner.replays = true
      scene.call.attemptFailed(new StreamError('Refused'))
      await setImmediate()
      expect(made.map(({ destroyed }) => destroyed)).toEqual([true])
      expect(scene.call.state).toBe('queued')
      expect(scene.handler.errors).toEqual([])
    })
  })

  describe('when no attempt will read its body', () => {
    it('cancels a web stream that was never opened', async () => {
      const cancelled: unknown[] = []
      const body = new ReadableStream({ cancel: (reason) => void cancelled.push(reason) })
      const scene = new Scene({ method: 'POST', body }).to('queued')
      const reason = new Error('enough')
      scene.call.abort(reason)
      expect(cancelled).toEqual([reason])
      expect(scene.handler.errors).toEqual([reason])
    })
  })

  describe('when the body is sent', () => {
    it('tells the handler of each piece, and of the end', () => {
      const handler = new UploadHandler()
      const scene = new Scene({ method: 'POST', body: 'abcd' }, handler).to('running')
      const memory = Buffer.from('abcd')
      scene.call.sent(memory.subarray(0, 2))
      scene.call.sent(new Uint8Array(memory.buffer, memory.byteOffset + 2, 2))
      expect(handler.sent).toEqual([Buffer.from('ab'), Buffer.from('cd')])
      expect(handler.sent.every((chunk) => Buffer.isBuffer(chunk))).toBe(true)
      expect(handler.requestsSent).toBe(0)
      scene.call.uploaded()
      expect(handler.requestsSent).toBe(1)
    })

    it.each(['queued', 'settled'] as const)('tells it nothing when it is %s', (state) => {
      const handler = new UploadHandler()
      const scene = new Scene({ method: 'POST', body: 'ab' }, handler).to(state)
      scene.call.sent(Buffer.from('ab'))
      scene.call.sent(null)
      scene.call.uploaded()
      expect([handler.sent.length, handler.requestsSent]).toEqual([0, 0])
    })

    it.each([
      'onBodySent',
      'onRequestSent',
    ] as const)('fails with what the handler throws in %s', (method) => {
      const handler = new UploadHandler()
      const error = new Error('The handler is broken')
      handler[method] = () => {
        throw error
      }
      const scene = new Scene({ method: 'POST', body: 'ab' }, handler).to('running')
      scene.call.sent(Buffer.from('ab'))
      scene.call.uploaded()
      expect(handler.errors).toEqual([error])
      expect(scene.attempt.told).toEqual(['cancel'])
    })
  })

  describe('when the body waits for 100 Continue', () => {
    it('sends the body after one second, and not later', () => {
      const scene = new Scene({ method: 'POST', body: 'ab', expectContinue: true }).to('running')
      scene.clock.advance(999)
      expect(scene.attempt.told).toEqual([])
      scene.clock.advance(MARGIN)
      expect(scene.attempt.told).toEqual(['proceed'])
      expect(scene.call.state).toBe('running')
    })
  })

  describe('when its trailers are requested', () => {
    it('gives the trailers of the request', () => {
      const scene = new Scene({ method: 'POST', body: 'a', trailers: () => ({ 'X-A': 1 }) }).to('running')
      expect(scene.call.toTrailers()).toEqual(['x-a', '1'])
    })

    it('fails with what the trailers function throws', () => {
      const error = new Error('No checksum')
      const trailers = () => {
        throw error
      }
      const scene = new Scene({ method: 'POST', body: 'a', trailers }).to('running')
      expect(scene.call.toTrailers()).toBeNull()
      expect(scene.handler.errors).toEqual([error])
      expect(scene.attempt.told).toEqual(['cancel'])
    })

    it('gives nothing when the trailers function has aborted its own call', () => {
      const reason = new Error('enough')
      const scene: Scene = new Scene({
        method: 'POST',
        body: 'a',
        trailers: () => {
          scene.call.abort(reason)
          return { 'x-a': '1' }
        },
      })
      scene.to('running')
      expect(scene.call.toTrailers()).toBeNull()
      expect(scene.handler.errors).toEqual([reason])
    })
  })
})
