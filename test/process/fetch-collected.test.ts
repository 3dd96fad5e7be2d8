import { describe, expect, it } from 'vitest'
import { bundle } from '../support/clients/bundled.ts'
import { runNode } from '../support/clients/child.ts'

/**
 * The child's report: how each stream has ended, by the path that was fetched, and the bytes that were read of kept
 * ones.
 */
interface Facts {
  readonly collected: Readonly<Record<string, string>>
  readonly left: number
  readonly read: Readonly<Record<string, string>>
  readonly running: number
  readonly length: number
  readonly connections: number
}

const TICK = 'data: tick\n\n'
const END = 'data: end\n\n'

const toChild = bundle({
  collected: new URL('./children/fetch-collected.ts', import.meta.url),
  signals: new URL('./children/fetch-signals.ts', import.meta.url),
  clone: new URL('./children/fetch-clone.ts', import.meta.url),
})

let run: Promise<Facts> | null = null

/** One run is for all tests. */
function toFacts(): Promise<Facts> {
  run ??= collect()
  return run
}

async function collect(): Promise<Facts> {
  const { code, stdout, stderr } = await runNode('--expose-gc', toChild('collected'))
  expect(stderr).toBe('')
  expect(code).toBe(0)
  return JSON.parse(stdout)
}

describe('when a Response is collected before its body was read', () => {
  it.each([
    ['a Response with a body that has begun', '/begun/response'],
    ['a Response with a large body', '/large/response'],
    ['a Response whose body sends nothing', '/silent/response'],
    ['a Response whose events were read', '/events/response'],
    ['a promise that was never awaited', '/large/promise'],
    ['a promise that was waited for', '/begun/settled'],
    ['a Response and its large stream', '/large/body'],
    ['a Response and its stream', '/begun/body'],
    ['a Response, its stream and the reader of that', '/begun/reader'],
    ['a Response and the iterator of its stream', '/begun/iterated'],
    ['a Response and its clone', '/begun/clone'],
    ['a Response whose signal stays', '/begun/signal'],
    ['a Response whose headers stay', '/begun/headers'],
    ['a Response after a redirect', '/begun/redirected'],
    ['a Response with more to decode', '/gzip/response'],
    ['a Response with more to decode, and its reader', '/gzip/body'],
  ])('%s: the stream is reset with CANCEL', async (_what, path) => {
    expect((await toFacts()).collected[path]).toBe('reset 8')
  })

  it('a Response of HTTP/1.1: the connection is closed', async () => {
    expect((await toFacts()).collected['/http1/response']).toBe('closed')
  })

  it('no stream is left in the session', async () => {
    expect((await toFacts()).left).toBe(0)
  })
})

describe('when only a part of a Response is kept', () => {
  it.each([
    ['the stream can be read', '/begun/only-body', TICK + END],
    ['the reader goes on', '/begun/only-reader', END],
    ['a pending read is fulfilled', '/silent/pending-read', END],
    ['the iterator goes on', '/begun/iterator', END],
    ['text() settles', '/begun/text', TICK + END],
    ['text() of a clone settles', '/begun/text-of-clone', TICK + END],
    ['a clone can be read without the original', '/begun/clone-alone', TICK + END],
    ['the original can be read without its clone', '/begun/original-alone', TICK + END],
    ['a pipe goes on', '/begun/piped', TICK + END],
  ])('%s', async (_what, path, text) => {
    expect((await toFacts()).read[path]).toBe(text)
  })
})

describe('when many large bodies were collected', () => {
  it('their credit was returned: the same session serves a large one', async () => {
    expect(await toFacts()).toMatchObject({ running: 0, length: 4 * 1_048_576, connections: 1 })
  })
})

describe('when a signal is fired after a collection', () => {
  it('each fetch fails, whichever object holds its signal', async () => {
    const { code, stdout, stderr } = await runNode('--expose-gc', toChild('signals'))
    expect(stderr).toBe('')
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toEqual({
      'signal /headless': 'enough',
      'signal /body': 'enough',
      'any /headless': 'enough',
      'any /body': 'enough',
      'request /headless': 'enough',
      'request /body': 'enough',
    })
  })
})

describe('when a clone is collected before its body was read', () => {
  it('holds no bytes that the other one reads', async () => {
    const { code, stdout, stderr } = await runNode('--expose-gc', toChild('clone'))
    expect(stderr).toBe('')
    expect(code).toBe(0)
    const { read, most, expected } = JSON.parse(stdout)
    expect(read).toBe(expected)
    expect(most).toBeLessThan(expected / 4)
  })
})
