/** The ways to use a tunnel. */

import type { Duplex } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Reading } from './readers.ts'
import { readByEvents, SlowWritable } from './readers.ts'

/** Uses a tunnel in the way of its call's plan. */
export function useTunnel(tunnel: Duplex, reading: Reading): void {
  const { watch } = reading
  // A tunnel without a listener for `error` ends the process, as any stream does: who takes one listens.
  if (tunnel.closed) watch.miss('the tunnel')
  watch.listen('the tunnel', tunnel)
  watch.follow(`the tunnel, by ${watch.plan.reader}`, use(tunnel, reading))
}

async function use(tunnel: Duplex, reading: Reading): Promise<void> {
  const { watch, time, pace } = reading
  const { reader, body } = watch.plan
  const giveUp = (error?: Error): void => {
    for (const endings of watch.endings) endings.isGivenUp = true
    tunnel.destroy(error)
  }
  const writing = write(tunnel, reading)
  switch (reader) {
    case 'events':
      await readByEvents(tunnel, reading)
      break
    case 'echo':
      tunnel.pipe(tunnel)
      break
    case 'iterate':
      for await (const _chunk of tunnel);
      break
    case 'pipe slowly':
      await pipeline(tunnel, new SlowWritable(time, pace))
      break
    case 'pause':
      tunnel.on('data', () => {
        tunnel.pause()
        time.after(pace, () => tunnel.resume())
      })
      break
    case 'destroy':
      await time.sleep(pace)
      giveUp()
      break
    case 'destroy with an error':
      await time.sleep(pace)
      giveUp(new Error('The owner has failed'))
      break
    case 'end at once':
      tunnel.end()
      tunnel.resume()
      break
  }
  // A tunnel has no limits: how it goes on is its owner's affair, and a peer may say nothing more.
  watch.isPassive = true
  if (body.end === 'well') await writing
}

/** Writes the body of the plan, also if the tunnel is closed. */
async function write(tunnel: Duplex, { watch, time }: Reading): Promise<void> {
  const { chunks, size, gap, end } = watch.plan.body
  for (let count = 0; count < chunks; count++) {
    if (gap > 0) await time.sleep(gap)
    tunnel.write(Buffer.alloc(Math.min(size, 20_000)))
  }
  if (end === 'well') tunnel.end()
}
