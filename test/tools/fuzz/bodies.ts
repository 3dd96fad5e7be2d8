/** The bodies that requests send. */

import { Readable } from 'node:stream'
import type { RequestBody } from '../../../types/index.ts'
import type { BodyPlan } from './plan-calls.ts'
import type { VirtualTime } from './virtual-time.ts'
import type { CallWatch } from './watch.ts'

/** The error of a body's source. */
class SourceError extends Error {
  override readonly name = 'SourceError'
}

/** The parameters of a source. */
interface Needs {
  readonly time: VirtualTime
  readonly watch: CallWatch
}

async function* generate(plan: BodyPlan, needs: Needs): AsyncGenerator<Buffer> {
  needs.watch.sources++
  try {
    yield* generateChunks(plan, needs.time)
  } finally {
    needs.watch.sources--
  }
}

async function* generateChunks(plan: BodyPlan, time: VirtualTime): AsyncGenerator<Buffer> {
  for (let count = 0; count < plan.chunks; count++) {
    if (plan.gap > 0) await time.sleep(plan.gap)
    yield Buffer.alloc(plan.size, `${count}`)
  }
  if (plan.end === 'fails') throw new SourceError('The source has failed')
  // For as long as its reader is patient.
  if (plan.end === 'never') await time.sleep(1_000)
}

function toWeb(plan: BodyPlan, needs: Needs): ReadableStream<Uint8Array> {
  const source = generate(plan, needs)
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await source.next()
        if (done === true) controller.close()
        else controller.enqueue(value)
      },
      async cancel() {
        await source.return(undefined)
      },
    },
    // An unread source hasn't begun.
    { highWaterMark: 0 },
  )
}

function toForm({ size }: BodyPlan): FormData {
  const form = new FormData()
  form.append('name', 'value')
  form.append('file', new Blob([new Uint8Array(size)]), 'a.bin')
  return form
}

/** The body of a plan: a new one with each call. */
export function toBody(plan: BodyPlan, needs: Needs): RequestBody {
  switch (plan.kind) {
    case 'none':
      return null
    case 'string':
      return 's'.repeat(plan.size)
    case 'bytes':
      return Buffer.alloc(plan.size)
    case 'readable':
      return Readable.from(generate(plan, needs), { objectMode: false })
    case 'generator':
      return generate(plan, needs)
    case 'web':
      return toWeb(plan, needs)
    case 'factory':
      return () => generate(plan, needs)
    case 'blob':
      return new Blob([new Uint8Array(plan.size)])
    case 'form':
      return toForm(plan)
    case 'search':
      return new URLSearchParams({ a: 'x'.repeat(Math.min(plan.size, 1_000)) })
  }
}
