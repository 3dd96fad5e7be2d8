/**
 * A body becomes a stream on first use. When that is must not matter: each body is played twice, and one of the two is
 * a stream from the start.
 */

import { finished, PassThrough, Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { BodyReadable } from '../../src/api/body-readable.ts'
import type { DispatchController } from '../../types/index.ts'

class Controller implements DispatchController {
  readonly aborted = false
  readonly reason = null
  readonly paused = false
  readonly rawHeaders = null
  readonly rawTrailers = null
  readonly said: string[] = []

  abort(reason?: unknown): void {
    this.said.push(`abort: ${String(reason)}`)
  }

  pause(): void {
    this.said.push('pause')
  }

  resume(): void {
    this.said.push('resume')
  }
}

type Step = (body: BodyReadable, said: unknown[]) => unknown

const part = Buffer.from('{"a":')
const rest = Buffer.from('1}')

const fail: Step = (body) => body.fail(new Error('lost'))

/** What happens to the body before its first use. */
const BEFORE: Readonly<Record<string, Step>> = {
  'nothing has come': () => {},
  'a part has come': (body, said) => said.push(body.receive(part)),
  'too much has come': (body, said) => said.push(body.receive(Buffer.alloc(100)), body.receive(part)),
  'all has come': (body, said) => {
    said.push(body.receive(part), body.receive(rest), body.hasUnread)
    body.finish()
  },
  'it is empty': (body, said) => {
    body.finish()
    said.push(body.hasUnread)
  },
  'it was read by text()': async (body, said) => {
    body.receive(part)
    body.finish()
    said.push(await body.text(), body.hasUnread)
  },
  'text() waits for the rest': (body, said) => {
    body.receive(part)
    body.text().then(
      (read) => said.push(read),
      (error) => said.push(String(error)),
    )
  },
  'text() got the rest': async (body, said) => {
    const read = body.text()
    said.push(body.receive(part), body.receive(rest))
    body.finish()
    said.push(await read)
  },
  'it failed at once': fail,
  'it failed unread': (body, said) => {
    body.receive(part)
    fail(body, said)
  },
  'it failed unread long ago': async (body, said) => {
    body.receive(part)
    fail(body, said)
    await nextTurn()
    await nextTurn()
  },
  'it was aborted': (body) => body.abort(new Error('aborted')),
  'it was aborted after all had come': (body) => {
    body.receive(part)
    body.finish()
    body.abort(new Error('aborted'))
  },
}

/** The first use. */
const USES: Readonly<Record<string, Step>> = {
  'no use': () => {},
  'text()': (body) => body.text(),
  'text() twice': (body) => Promise.all([body.text(), body.text().catch(String)]),
  'json()': (body) => body.json(),
  'bytes()': (body) => body.bytes(),
  'arrayBuffer()': async (body) => (await body.arrayBuffer()).byteLength,
  'blob()': async (body) => (await body.blob()).size,
  'dump()': (body) => body.dump(),
  'dump() with a limit': (body) => body.dump({ limit: 1 }),
  bodyUsed: (body) => body.bodyUsed,
  state: (body) => [
    body.destroyed,
    body.closed,
    body.readableEnded,
    body.readableAborted,
    body.readableDidRead,
  ],
  'destroy()': (body) => body.on('error', () => {}).destroy(),
  'destroy() with an error': (body) => body.on('error', () => {}).destroy(new Error('own')),
  'finished()': (body, said) => {
    finished(body, (error) => said.push(`finished: ${String(error)}`))
    body.resume()
  },
  'pipeline()': (body) => pipeline(body, new PassThrough().resume()),
  iteration: async (body) => {
    const read: unknown[] = []
    for await (const piece of body) read.push(String(piece))
    return read
  },
  'a web stream': (body) => text(body.body),
  'read()': (body) => String(body.read()),
  'Readable.prototype.read.call()': (body) => String(Readable.prototype.read.call(body)),
  'setEncoding() and text()': (body) => body.setEncoding('utf8').text(),
}

function watch(body: BodyReadable, said: unknown[]): void {
  for (const event of ['end', 'close', 'error'] as const) {
    body.on(event, (...given: unknown[]) => said.push([event, ...given.map(String)]))
  }
}

/** Everything that the reader and the call can see. */
async function play(before: Step, use: Step, isEarly: boolean): Promise<unknown[]> {
  const said: unknown[] = []
  const controller = new Controller()
  const body = new BodyReadable(controller, {}, 16, { isHead: false, target: '/', statusCode: 200 })
  if (isEarly) expect(body.destroyed).toBe(false)
  await before(body, said)
  const used = Promise.resolve(use(body, said)).then(
    (value) => said.push(inspect(value === body ? 'itself' : value)),
    (error) => said.push(String(error)),
  )
  await nextTurn()
  watch(body, said)
  await nextTurn()
  // What comes after it, if anything does.
  said.push(body.receive(part))
  await nextTurn()
  body.finish()
  body.resume()
  await nextTurn()
  await nextTurn()
  await Promise.race([used, nextTurn()])
  said.push(
    body.destroyed,
    body.closed,
    body.readableEnded,
    String(body.errored),
    body.bodyUsed,
    body.eventNames(),
  )
  return [...said, ...controller.said]
}

describe.each(Object.entries(BEFORE))('a body, when %s', (_name, before) => {
  for (const [name, use] of Object.entries(USES)) {
    it(`and its first use is ${name} › does as a stream from the start`, async () => {
      expect(await play(before, use, false)).toEqual(await play(before, use, true))
    })
  }
})
