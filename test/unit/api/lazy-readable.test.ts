import { execFileSync } from 'node:child_process'
import { EventEmitter, getEventListeners, once } from 'node:events'
import { addAbortSignal, finished, PassThrough, pipeline, Readable, Stream } from 'node:stream'
import { text } from 'node:stream/consumers'
import { finished as finishedLater } from 'node:stream/promises'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { inspect, promisify, types } from 'node:util'
import { describe, expect, it } from 'vitest'
import { LazyReadable } from '../../../src/api/lazy-readable.ts'

const SIZE = 1_000

/** A Readable of two pieces: the model. */
class Eager extends Readable {
  readonly #pieces = ['a', 'b']

  constructor() {
    super({ highWaterMark: SIZE })
  }

  override _read(): void {
    this.push(this.#pieces.shift() ?? null)
  }
}

/** The same, made on first use. */
class Lazy extends LazyReadable {
  readonly #pieces = ['a', 'b']

  constructor() {
    super(SIZE)
  }

  get isMade(): boolean {
    return this.isStream
  }

  override _read(): void {
    this.push(this.#pieces.shift() ?? null)
  }
}

/** Without a stack: it has the place of the test. */
function toError(message: string): Error {
  return Object.assign(new Error(message), { stack: message })
}

type Use = (readable: Readable) => unknown

const call = (name: string, ...given: unknown[]): Use => {
  return (readable) => {
    const method: unknown = Reflect.get(Readable.prototype, name)
    if (typeof method !== 'function') throw new Error(name)
    return Reflect.apply(method, readable, given)
  }
}

/** The first use of a Readable; what it returns is compared. */
const USES: Readonly<Record<string, Use>> = {
  ...Object.fromEntries(
    Object.entries(Object.getOwnPropertyDescriptors(Readable.prototype))
      .filter(([, { get }]) => get !== undefined)
      .map(([name]) => [`.${name}`, (readable: Readable) => Reflect.get(readable, name)]),
  ),
  'Readable.isDisturbed()': (readable) => Readable.isDisturbed(readable),
  'Readable.isErrored()': (readable) => Stream.isErrored(readable),
  'Readable.isReadable()': (readable) => Stream.isReadable(readable),
  instanceof: (readable) => readable instanceof Stream && readable instanceof EventEmitter,
  'inspect()': (readable) => inspect(readable).replace('Eager', 'Lazy'),
  'inspect() in depth': (readable) => inspect(readable, { depth: 9 }).replace('Eager', 'Lazy'),
  'inspect() as a part': (readable) => inspect({ readable }, { depth: 0 }).replace('Eager', 'Lazy'),
  'eventNames()': (readable) => readable.eventNames(),
  'getMaxListeners()': (readable) => readable.getMaxListeners(),
  'setMaxListeners()': (readable) => readable.setMaxListeners(3).getMaxListeners(),
  'setMaxListeners(), then on()': (readable) =>
    readable
      .setMaxListeners(3)
      .on('end', () => {})
      .getMaxListeners(),
  'listenerCount()': (readable) => readable.listenerCount('end'),
  'rawListeners()': (readable) => readable.rawListeners('end'),
  'getEventListeners()': (readable) => getEventListeners(readable, 'end'),
  'off()': (readable) => readable.off('end', () => {}).eventNames(),
  'removeAllListeners()': (readable) => readable.removeAllListeners().eventNames(),
  'prependListener()': (readable) => readable.prependListener('end', () => {}).listenerCount('end'),
  'emit() without a listener': (readable) => readable.emit('end'),
  'emit() of an error without a listener': (readable) => readable.emit('error', toError('emitted')),
  'Readable.prototype.read.call()': call('read'),
  'Readable.prototype.read.call() of a size': (readable) => [
    call('read', 0)(readable),
    call('read', 1)(readable),
  ],
  'Readable.prototype.pause.call()': (readable) => call('isPaused')(readable.pause()),
  'Readable.prototype.push.call()': (readable) => [call('push', 'x')(readable), readable.readableLength],
  'Readable.prototype.unshift.call()': (readable) => [
    call('unshift', 'x')(readable),
    readable.readableLength,
  ],
  'Readable.prototype.setEncoding.call()': (readable) => {
    call('setEncoding', 'latin1')(readable)
    return readable.readableEncoding
  },
  'destroy()': (readable) => {
    readable.destroy()
    return [readable.destroyed, readable.closed, readable.errored]
  },
  'destroy() with an error': async (readable) => {
    const [error] = await Promise.all([once(readable, 'error'), readable.destroy(toError('gone'))])
    return [error, readable.destroyed, readable.closed, readable.errored]
  },
  '[Symbol.asyncIterator]()': async (readable) => {
    const read: unknown[] = []
    for await (const piece of readable) read.push(piece)
    return [read, readable.readableEnded]
  },
  'iterator()': async (readable) => (await readable.iterator({ destroyOnReturn: false }).next()).value,
  'toArray()': (readable) => readable.toArray(),
  'map()': (readable) => readable.map(String).toArray(),
  "on('data')": async (readable) => {
    const read: unknown[] = []
    readable.on('data', (piece) => read.push(piece))
    await once(readable, 'close')
    return read
  },
  "on('readable')": async (readable) => {
    await once(readable, 'readable')
    return readable.read()
  },
  'pipe()': (readable) => text(readable.pipe(new PassThrough())),
  'pipe(), then unpipe()': (readable) => {
    const target = new PassThrough()
    readable.pipe(target)
    return [readable.unpipe(target).readableFlowing, readable.listenerCount('data')]
  },
  'resume()': async (readable) => {
    await once(readable.resume(), 'end')
    return readable.readableFlowing
  },
  'wrap()': (readable) => text(new Readable().wrap(readable)),
  'Readable.toWeb()': (readable) => text(Readable.toWeb(readable)),
  'Readable.from()': (readable) => text(Readable.from(readable)),
  'pipeline()': async (readable) => promisify(pipeline)(readable, new PassThrough().resume()),
  'finished()': async (readable) => {
    const ended = finishedLater(readable)
    readable.resume()
    await ended
    return readable.closed
  },
  'finished() of a destroyed one': (readable) =>
    new Promise((resolve) => {
      finished(readable, resolve)
      readable.destroy()
    }),
  'addAbortSignal()': async (readable) => {
    const aborting = new AbortController()
    const error = once(addAbortSignal(aborting.signal, readable), 'error')
    aborting.abort(new Error('aborted'))
    return [String((await error)[0]), readable.destroyed]
  },
  'a Proxy': (readable) => {
    const proxy = new Proxy(readable, {})
    return [proxy.destroyed, proxy.readable, proxy.readableLength, proxy.readableFlowing]
  },
  'its prototype': (readable) => Reflect.get(Object.getPrototypeOf(readable), 'destroyed'),
  'an assigned _events': (readable) => {
    Reflect.set(readable, '_events', {})
    return readable.eventNames()
  },
}

/** What the use returned or threw, and what the stream is then. */
async function play(readable: Readable, use: Use): Promise<unknown[]> {
  const said: unknown[] = []
  try {
    said.push(await use(readable))
  } catch (thrown) {
    said.push(String(thrown))
  }
  await nextTurn()
  said.push(inspect(readable, { depth: 1 }).replace('Eager', 'Lazy'), Object.keys(readable))
  return said.map((value) => (value === readable ? 'itself' : value))
}

describe('a Readable that is made on first use', () => {
  for (const [name, use] of Object.entries(USES)) {
    it(`when its first use is ${name} › does what a Readable does`, async () => {
      expect(await play(new Lazy(), use)).toEqual(await play(new Eager(), use))
    })
  }

  it('when it is only made › has run nothing of Readable', () => {
    const lazy = new Lazy()
    expect(lazy.isMade).toBe(false)
    expect(lazy instanceof Readable).toBe(true)
    expect(Object.getPrototypeOf(LazyReadable.prototype)).toBe(Readable.prototype)
    expect(LazyReadable.from).toBe(Readable.from)
    expect(lazy.isMade).toBe(false)
    expect(lazy.destroyed).toBe(false)
    expect(lazy.isMade).toBe(true)
  })

  it('when a piece is asked of its state › keeps one state', () => {
    const lazy = new Lazy()
    const state: unknown = Reflect.get(lazy, '_readableState')
    expect(types.isProxy(state)).toBe(false)
    expect(Reflect.get(lazy, '_readableState')).toBe(state)
    expect(lazy.readableHighWaterMark).toBe(SIZE)
  })

  it('when a listener rejects and rejections are captured › emits the error', async () => {
    EventEmitter.captureRejections = true
    try {
      const lazy = new Lazy()
      lazy.on('pause', () => Promise.reject(new Error('rejected')))
      const error = once(lazy.pause(), 'error')
      expect(String((await error)[0])).toBe('Error: rejected')
    } finally {
      EventEmitter.captureRejections = false
    }
  })

  // In a process of its own: `node:domain` changes EventEmitter for good.
  it('when node:domain is loaded › belongs to the domain in which it was made', () => {
    const module = new URL('../../../src/api/lazy-readable.ts', import.meta.url).href
    const script = `
      import domain from 'node:domain'
      import { createRequire } from 'node:module'
      const { transformSync } = createRequire(${JSON.stringify(import.meta.url)})('esbuild')
      const { readFileSync } = await import('node:fs')
      const { code } = transformSync(readFileSync(new URL(${JSON.stringify(module)}), 'utf8'), { loader: 'ts' })
      const { LazyReadable } = await import('data:text/javascript,' + encodeURIComponent(code))
      const own = domain.create()
      const lazy = own.run(() => new LazyReadable(1))
      process.stdout.write(String(lazy.domain === own))`
    const said = execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' })
    expect(said).toBe('true')
  })
})
