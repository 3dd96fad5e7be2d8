import type { Duplex } from 'node:stream'
import { Readable } from 'node:stream'
import { ReadableStream } from 'node:stream/web'
import type { RequestBody } from '../../../types/index.ts'
import { Gate } from './gate.ts'

/** `whole`: a few pieces, and the end. `held`: more than the peer takes unread, or a source that never gives more. */
export type Extent = 'whole' | 'held'

/** One body of one call. */
export interface Source {
  /** The `body` option; null where there is none, and for `pipeline()`. */
  readonly body: RequestBody
  /** The bytes that the server reads of a whole body. */
  readonly expected: string | RegExp
  /** Writes the body of a `pipeline()`. */
  pour(duplex: Duplex): void
  /** Settles once the source is released: it has ended, was destroyed, cancelled or returned, or it never began. */
  letGo(): Promise<void>
}

/** A kind of body. */
export interface BodyKind {
  readonly name: string
  /** The APIs that take it. */
  readonly of: 'options' | 'pipeline'
  /** Whether it can be `held`. */
  readonly isEmpty: boolean
  /** Whether code of the caller's runs while it is read. */
  readonly hasCode: boolean
  readonly isReplayable: boolean
  /** @param onPull called by the body's own code, before it gives its second piece */
  make(extent: Extent, onPull: () => void): Source
}

const PIECES = ['one ', 'two ', 'three']
const WHOLE = PIECES.join('')
/** More than node's server takes of an unread stream: its window is 65,535 bytes. */
const HELD = 'x'.repeat(200_000)
const HELD_PIECE = HELD.slice(0, 16_384)

function toText(extent: Extent): string {
  return extent === 'whole' ? WHOLE : HELD
}

function pourNothing(): void {}

/** A source that is only data. */
function toSource(body: RequestBody, expected: string | RegExp = WHOLE): Source {
  return { body, expected, pour: pourNothing, letGo: () => Promise.resolve() }
}

function makeFormData(extent: Extent): Source {
  const form = new FormData()
  form.append('field', WHOLE)
  if (extent === 'held') form.append('file', new Blob([HELD]), 'held.txt')
  return toSource(form, new RegExp(`name="field"\r\n\r\n${WHOLE}\r\n`))
}

/** A Readable that was not made yet has nothing to release. */
async function toClosed(readable: Readable | null): Promise<void> {
  if (readable === null || readable.closed) return
  await new Promise<void>((resolve) => readable.once('close', resolve))
}

function makeReadable(extent: Extent, onPull: () => void): Readable {
  let pulls = 0
  return new Readable({
    read() {
      pulls++
      if (pulls === 2) onPull()
      if (extent === 'whole') this.push(PIECES[pulls - 1] ?? null)
      else if (pulls === 1) this.push(HELD_PIECE)
    },
  })
}

function makeWebStream(extent: Extent, onPull: () => void): Source {
  let pulls = 0
  const done = new Gate()
  const stream = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        pulls++
        if (pulls === 2) pullSafely(onPull, done)
        if (extent === 'held' && pulls > 1) return new Promise<void>(() => {})
        const piece = extent === 'whole' ? PIECES[pulls - 1] : HELD_PIECE
        if (piece !== undefined) {
          controller.enqueue(Buffer.from(piece))
        } else {
          done.open()
          controller.close()
        }
        return undefined
      },
      cancel() {
        done.open()
      },
    },
    { highWaterMark: 0 },
  )
  return { body: stream, expected: WHOLE, pour: pourNothing, letGo: () => done.opened }
}

/** A web stream whose `pull` throws is errored: its `cancel` isn't called. */
function pullSafely(onPull: () => void, done: Gate): void {
  try {
    onPull()
  } catch (thrown) {
    done.open()
    throw thrown
  }
}

function makeIterable(extent: Extent, onPull: () => void): Source {
  let hasBegun = false
  const done = new Gate()
  function* generate(): Generator<string> {
    hasBegun = true
    try {
      for (let pulls = 1; ; pulls++) {
        if (pulls === 2) onPull()
        const piece = extent === 'whole' ? PIECES[pulls - 1] : HELD_PIECE
        if (piece === undefined) return
        yield piece
      }
    } finally {
      done.open()
    }
  }
  const letGo = () => (hasBegun ? done.opened : Promise.resolve())
  return { body: generate(), expected: WHOLE, pour: pourNothing, letGo }
}

function makeAsyncIterable(extent: Extent, onPull: () => void): Source {
  let hasBegun = false
  const done = new Gate()
  const held = new Gate()
  async function* generate(): AsyncGenerator<string> {
    hasBegun = true
    try {
      for (let pulls = 1; ; pulls++) {
        if (pulls === 2) onPull()
        if (pulls === 2 && extent === 'held') await held.opened
        const piece = extent === 'whole' ? PIECES[pulls - 1] : HELD_PIECE
        if (piece === undefined) return
        yield piece
      }
    } finally {
      done.open()
    }
  }
  const letGo = (): Promise<void> => {
    // It returns when its own `await` has settled.
    held.open()
    return hasBegun ? done.opened : Promise.resolve()
  }
  return { body: generate(), expected: WHOLE, pour: pourNothing, letGo }
}

function makeStreamFactory(extent: Extent, onPull: () => void): Source {
  const made: Readable[] = []
  const body = (): Readable => {
    const readable = makeReadable(extent, onPull)
    made.push(readable)
    return readable
  }
  const letGo = async (): Promise<void> => {
    await Promise.all(made.map(toClosed))
  }
  return { body, expected: WHOLE, pour: pourNothing, letGo }
}

/** Writes a piece a turn: after an early response the duplex takes and drops every piece. */
function pourForEver(duplex: Duplex): void {
  if (duplex.destroyed || duplex.writableEnded) return
  duplex.write(HELD_PIECE, () => setImmediate(pourForEver, duplex))
}

/** Pieces that are written to the duplex are dropped with the duplex. */
function toPoured(expected: string, pour: (duplex: Duplex) => void): Source {
  return { body: null, expected, pour, letGo: () => Promise.resolve() }
}

interface Traits {
  readonly isEmpty?: boolean
  readonly hasCode?: boolean
  readonly isReplayable?: boolean
}

function define(
  name: string,
  { isEmpty = false, hasCode = false, isReplayable = true }: Traits,
  make: BodyKind['make'],
): BodyKind {
  return { name, of: 'options', isEmpty, hasCode, isReplayable, make }
}

function definePoured(name: string, isEmpty: boolean, make: BodyKind['make']): BodyKind {
  return { name, of: 'pipeline', isEmpty, hasCode: false, isReplayable: false, make }
}

const CODE = { hasCode: true, isReplayable: false }

export const BODY_KINDS: readonly BodyKind[] = [
  define('none', { isEmpty: true }, () => toSource(null, '')),
  define('string', {}, (extent) => toSource(toText(extent))),
  define('Buffer', {}, (extent) => toSource(Buffer.from(toText(extent)))),
  define('typed array', {}, (extent) => toSource(new Uint8Array(Buffer.from(toText(extent))))),
  define('ArrayBuffer', {}, (extent) => toSource(new Uint8Array(Buffer.from(toText(extent))).buffer)),
  define('Blob', {}, (extent) => toSource(new Blob([toText(extent)]))),
  define('FormData', {}, makeFormData),
  define('URLSearchParams', {}, (extent) =>
    toSource(new URLSearchParams({ text: toText(extent) }), 'text=one+two+three'),
  ),
  define('Readable', CODE, (extent, onPull) => {
    const readable = makeReadable(extent, onPull)
    return { ...toSource(readable), letGo: () => toClosed(readable) }
  }),
  define('web ReadableStream', CODE, makeWebStream),
  define('iterable', CODE, makeIterable),
  define('async iterable', CODE, makeAsyncIterable),
  define('factory of bytes', { hasCode: true }, (extent, onPull) =>
    toSource(() => {
      onPull()
      return Buffer.from(toText(extent))
    }),
  ),
  define('factory of a stream', { hasCode: true }, makeStreamFactory),
  definePoured('nothing written', true, () => toPoured('', (duplex) => duplex.end())),
  definePoured('one piece written', false, (extent) =>
    toPoured(WHOLE, (duplex) => {
      if (extent === 'whole') duplex.end(WHOLE)
      else duplex.write(HELD_PIECE)
    }),
  ),
  definePoured('many pieces written', false, (extent) =>
    toPoured(WHOLE, (duplex) => {
      if (extent === 'held') return pourForEver(duplex)
      for (const piece of PIECES) duplex.write(piece)
      duplex.end()
    }),
  ),
]
