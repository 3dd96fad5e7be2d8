/** The bodies of the differential test's requests. */

import { Readable } from 'node:stream'
import type { DispatchOptions } from '../../../types/index.ts'
import type { CallPlan } from './plan.ts'

/** Null for a body that isn't pushed to by the scene. */
export interface PlannedBody {
  readonly body: DispatchOptions['body']
  readonly source: Readable | null
}

async function* generate(pieces: readonly Buffer[]): AsyncGenerator<Buffer> {
  for (const piece of pieces) yield piece
}

function toForm(pieces: readonly Buffer[]): FormData {
  const form = new FormData()
  for (const [i, piece] of pieces.entries()) form.append(`field${i}`, piece.toString('hex'))
  return form
}

function toWebStream(pieces: readonly Buffer[]): ReadableStream<Uint8Array> {
  const left = [...pieces]
  return new ReadableStream({
    pull: (controller) => {
      const piece = left.shift()
      if (piece === undefined) controller.close()
      else controller.enqueue(new Uint8Array(piece))
    },
  })
}

export function toBody({ body, pieces }: CallPlan): PlannedBody {
  const whole = Buffer.concat(pieces)
  switch (body) {
    case 'none':
      return { body: null, source: null }
    case 'text':
      return { body: whole.toString('hex'), source: null }
    case 'bytes':
      return { body: whole, source: null }
    case 'readable':
      return { body: Readable.from(pieces, { objectMode: false }), source: null }
    case 'generator':
      return { body: generate(pieces), source: null }
    case 'web':
      return { body: toWebStream(pieces), source: null }
    case 'blob':
      return { body: new Blob(pieces.map((piece) => new Uint8Array(piece))), source: null }
    case 'form':
      return { body: toForm(pieces), source: null }
    case 'factory':
      return { body: () => generate(pieces), source: null }
    case 'steps': {
      const source = new Readable({ read() {} })
      // The caller that destroys it has told the reason.
      source.on('error', () => {})
      return { body: source, source }
    }
  }
}

/** The number of bytes; null when it isn't known beforehand. */
export function toLength({ body, pieces, hasLength }: CallPlan): number | null {
  if (!hasLength || body === 'none' || body === 'form' || body === 'text') return null
  return pieces.reduce((sum, piece) => sum + piece.length, 0)
}
