/** A Response and its clones. */

import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { tapped, toNoise } from './body-support.ts'
import type { Rig } from './body-support-rig.ts'
import { startRig, toReason, toStream } from './body-support-rig.ts'

const NOISE = toNoise(300_000)
const JSON_TEXT = '{"twelve":12}'

function start(): Promise<Rig> {
  return startRig(
    tapped((stream, tap) => {
      if (stream.path === '/empty') {
        stream.head(204, [['x-field', 'a']])
        stream.end()
      } else if (stream.path === '/gzip') {
        tap.pour(stream, gzipSync(NOISE), [['content-encoding', 'gzip']])
      } else if (stream.path === '/open') {
        stream.head(200)
      } else if (stream.path === '/json') {
        tap.pour(stream, Buffer.from(JSON_TEXT), [['content-type', 'application/json']])
      } else {
        tap.pour(stream, NOISE)
      }
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

  it('a clone of a clone has all of it, too', async () => {
    const response = await (await start()).get('/noise')
    const copies = [response, response.clone()]
    copies.push(...copies.map((one) => one.clone()))
    const all = await Promise.all(copies.map(async (one) => Buffer.from(await one.arrayBuffer())))
    expect(all.map((bytes) => bytes.equals(NOISE))).toEqual([true, true, true, true])
  })

  it('it has the same properties, and is another object', async () => {
    const rig = await start()
    const response = await rig.get('/json')
    const copy = response.clone()
    for (const name of ['type', 'url', 'redirected', 'status', 'ok', 'statusText'] as const) {
      expect(copy[name]).toBe(response[name])
    }
    expect(copy).toBeInstanceOf(Response)
    expect(copy).not.toBe(response)
    expect(copy.headers).not.toBe(response.headers)
    expect([...copy.headers]).toEqual([...response.headers])
    expect(() => copy.headers.set('a', 'b')).toThrow(TypeError)
    expect(copy.body).not.toBe(response.body)
    expect([copy.body?.locked, response.body?.locked]).toEqual([false, false])
    await Promise.all([copy.text(), response.text()])
  })

  it('reading one leaves the other unused', async () => {
    const response = await (await start()).get('/json')
    const copy = response.clone()
    await copy.json()
    expect([copy.bodyUsed, response.bodyUsed]).toEqual([true, false])
    expect(await toReason(copy.text())).toBeInstanceOf(TypeError)
    expect(() => copy.clone()).toThrow(TypeError)
    expect(await response.clone().json()).toEqual({ twelve: 12 })
  })

  it('the stream that was there before is locked', async () => {
    const response = await (await start()).get('/json')
    const { body } = response
    const copy = response.clone()
    expect(body?.locked).toBe(true)
    expect(response.body).not.toBe(body)
    expect(await Promise.all([copy.text(), response.text()])).toEqual([JSON_TEXT, JSON_TEXT])
  })

  it('a clone of a Response without a body has none either', async () => {
    const response = await (await start()).get('/empty')
    const copy = response.clone()
    expect([copy.status, copy.body, copy.headers.get('x-field')]).toEqual([204, null, 'a'])
    expect(await copy.text()).toBe('')
    expect(await response.text()).toBe('')
  })

  it('both fail with the body', async () => {
    const rig = await start()
    const response = await rig.get('/open')
    const texts = [response.clone(), response].map((one) => toReason(one.text()))
    rig.peer.request('/open').reset(2)
    for (const text of texts) expect(await text).toMatchObject({ name: 'TypeError', message: 'terminated' })
  })

  it('a body that has failed already gives two that fail', async () => {
    const rig = await start()
    const controller = new AbortController()
    const response = await rig.get('/open', { signal: controller.signal })
    controller.abort('enough')
    const copy = response.clone()
    expect(await Promise.all([response, copy].map((one) => toReason(one.text())))).toEqual([
      'enough',
      'enough',
    ])
  })

  it.each([
    'text',
    'arrayBuffer',
    'blob',
    'json',
    'formData',
  ] as const)('after %s() it is refused', async (method) => {
    const response = await (await start()).get('/json')
    const read = response[method]().catch((error: unknown) => error)
    expect(() => response.clone()).toThrow(TypeError)
    await read
  })
})
