/** A Response and its clones. */

import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { tapped, toNoise } from './body-support.ts'
import type { Rig } from './body-support-rig.ts'
import { startRig, toStream } from './body-support-rig.ts'

const NOISE = toNoise(300_000)
const JSON_TEXT = '{"twelve":12}'

function start(): Promise<Rig> {
  return startRig(
    tapped((stream, tap) => {
      if (stream.path === '/gzip') tap.pour(stream, gzipSync(NOISE), [['content-encoding', 'gzip']])
      else tap.pour(stream, stream.path === '/json' ? Buffer.from(JSON_TEXT) : NOISE)
    }),
  )
}

/** All ways to read a body; each gives it as a hexadecimal string. */
const readers: Readonly<Record<string, (response: Response) => Promise<string>>> = {
  text: async (response) => Buffer.from(await response.text()).toString('hex'),
  json: async (response) => Buffer.from(JSON.stringify(await response.json())).toString('hex'),
  arrayBuffer: async (response) => Buffer.from(await response.arrayBuffer()).toString('hex'),
  blob: async (response) => Buffer.from(await (await response.blob()).arrayBuffer()).toString('hex'),
  stream: async (response) => {
    const pieces: Uint8Array[] = []
    for await (const piece of toStream(response)) pieces.push(piece)
    return Buffer.concat(pieces).toString('hex')
  },
  byob: async (response) => {
    const reader = toStream(response).getReader({ mode: 'byob' })
    const pieces: Buffer[] = []
    for (;;) {
      const { done, value } = await reader.read(new Uint8Array(7))
      if (done) return Buffer.concat(pieces).toString('hex')
      pieces.push(Buffer.from(value))
    }
  },
}

const ways = Object.keys(readers)

describe('when a Response is cloned', () => {
  it.each(
    ways.flatMap((one) => ways.map((other) => [one, other])),
  )('%s of the original and %s of the clone give the same', async (one, other) => {
    const response = await (await start()).get('/json')
    const copy = response.clone()
    const read = [readers[one ?? '']?.(response), readers[other ?? '']?.(copy)]
    const hex = Buffer.from(JSON_TEXT).toString('hex')
    expect(await Promise.all(read)).toEqual([hex, hex])
    expect([response.bodyUsed, copy.bodyUsed]).toEqual([true, true])
  })

  it.each(['/noise', '/gzip'])('all of %s comes twice, one after the other', async (path) => {
    const response = await (await start()).get(path)
    const copy = response.clone()
    const first = Buffer.from(await copy.arrayBuffer())
    const second = Buffer.from(await response.arrayBuffer())
    expect([first.equals(NOISE), second.equals(NOISE)]).toEqual([true, true])
  })

  it('the stream that was there before is locked', async () => {
    const response = await (await start()).get('/json')
    const { body } = response
    const copy = response.clone()
    expect(body?.locked).toBe(true)
    expect(response.body).not.toBe(body)
    expect(await Promise.all([copy.text(), response.text()])).toEqual([JSON_TEXT, JSON_TEXT])
  })
})
