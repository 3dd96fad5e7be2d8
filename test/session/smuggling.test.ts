import { describe, expect, it } from 'vitest'
import { Flag, frames } from '../../src/testing/frames.ts'
import type { Field } from '../../src/testing/hpack.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { ask, startHarness, startPeer } from '../support/peers/peer-rig.ts'

const STATUS: Field = [':status', '200']

/** Header sections that HTTP/1.1 code behind the handler could read as something else (RFC 9113 §10.3). */
const SECTIONS: readonly (readonly [name: string, fields: readonly Field[]])[] = [
  ['a field within a value', [STATUS, ['x', 'a\r\nset-cookie: stolen=1']]],
  ['a response within a value', [STATUS, ['x', 'a\r\n\r\nHTTP/1.1 200 OK\r\n\r\n']]],
  ['a line feed in a value', [STATUS, ['x', 'a\nset-cookie: stolen=1']]],
  ['NUL in a value', [STATUS, ['x', 'a\0b']]],
  ['a field within a name', [STATUS, ['x: 1\r\nset-cookie', 'stolen=1']]],
  ['a colon in a name', [STATUS, ['x:y', '1']]],
  ['a name in upper case', [STATUS, ['Content-Length', '0']]],
  ['an empty name', [STATUS, ['', '1']]],
  ['transfer-encoding', [STATUS, ['transfer-encoding', 'chunked']]],
  ['connection', [STATUS, ['connection', 'keep-alive, content-length']]],
  ['upgrade', [STATUS, ['upgrade', 'websocket']]],
  ['two content-lengths', [STATUS, ['content-length', '4'], ['content-length', '0']]],
  ['a content-length that is a list', [STATUS, ['content-length', '4, 0']]],
  ['a content-length with a sign', [STATUS, ['content-length', '+4']]],
  ['a content-length in hexadecimal', [STATUS, ['content-length', '0x4']]],
  ['two statuses', [STATUS, [':status', '404']]],
  ['a status behind a field', [['x', '1'], STATUS]],
  ['a pseudo-header field of requests', [STATUS, [':authority', 'other.example']]],
]

/** A name that is a token in lower case, and values of one line. */
const NAME = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/
const LINE = /^[^\r\n\0]*$/
const FRAMING = ['transfer-encoding', 'connection', 'upgrade']

describe.each(ENGINES)('a malformed response, on engine %s', (engine) => {
  it.each(
    SECTIONS,
  )('with %s › fails, or comes without what is malformed; a sibling gets its response', async (_name, fields) => {
    const peer = await startPeer({
      onRequest: (stream, connection) => {
        if (stream.id === 3)
          connection.write(frames.headers(1, fields), frames.data(1, 'text', Flag.END_STREAM))
        if (stream.id === 3) stream.respond('sibling')
      },
    })
    const harness = startHarness(peer, { engine, connections: 1 })
    const [call, sibling] = [ask(harness, 'GET /1'), ask(harness, 'GET /3')]
    await Promise.all([call.settled, sibling.settled])
    expect(sibling.text).toBe('sibling')
    for (const [name, value] of Object.entries(call.headers ?? {})) {
      expect(name).toMatch(NAME)
      expect(FRAMING).not.toContain(name)
      for (const line of [value].flat()) expect(line).toMatch(LINE)
    }
    expect(call.headers?.['set-cookie']).toBeUndefined()
    // What wire refuses, it refuses whole. nghttp2 drops some fields, and no status and no length is among them.
    const isDropped = call.errors.length === 0
    if (engine === 'wire') expect(isDropped).toBe(false)
    if (isDropped) expect([call.statuses, call.headers?.['content-length']]).toEqual([[200], undefined])
  })
})

describe.each(ENGINES)('a malformed trailer section, on engine %s', (engine) => {
  it.each([
    ['a status', [':status', '200']],
    ['a field within a value', ['x', 'a\r\nset-cookie: stolen=1']],
  ] as const)('with %s › fails, or comes without what is malformed', async (_name, field) => {
    const peer = await startPeer({
      onRequest: ({ id }, connection) =>
        connection.write(
          frames.response(id),
          frames.data(id, 'text'),
          frames.headers(id, [field], Flag.END_STREAM),
        ),
    })
    const call = ask(startHarness(peer, { engine, connections: 1 }), 'GET /')
    await call.settled
    expect(Object.keys(call.trailers ?? {})).toEqual([])
  })
})
