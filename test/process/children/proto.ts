/** Sends and gets fields named `__proto__`, by each API, on both engines, and reports what came on either side. */
import { once } from 'node:events'
import type { ServerHttp2Stream } from 'node:http2'
import { createServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { Writable } from 'node:stream'
import { Client, fetch } from '../../../src/index.ts'
import type { RequestHeaders } from '../../../types/index.ts'
import { report } from './report.ts'

/** An own property, as `JSON.parse()` makes one. */
const toFields = (value: string): Record<string, string> => JSON.parse(`{"__proto__":"${value}"}`)

const NAME = '__proto__'
const toValue = (fields: object): unknown => Object.getOwnPropertyDescriptor(fields, NAME)?.value
/** The first field: node's server adds a date. */
const toRaw = (fields: readonly unknown[] | null): string => (fields ?? []).slice(0, 2).join()

/** The fields that the server got with each request: of the header section, and of the trailers. */
const got: string[][] = []

function onStream(stream: ServerHttp2Stream, _headers: object, _flags: number, raw: readonly string[]): void {
  const seen = [raw[raw.indexOf(NAME) + 1] ?? '']
  got.push(seen)
  stream.on('trailers', (_trailers, _trailerFlags, ...rest: unknown[]) => seen.push([rest[0]].flat().join()))
  stream.resume().on('end', () => {
    const header = Object.defineProperty({ ':status': 200 }, NAME, { value: 'header', enumerable: true })
    stream.respond(header, { waitForTrailers: true })
    stream.on('wantTrailers', () => stream.sendTrailers(toFields('trailer')))
    stream.end('body')
  })
}

const server = createServer().on('stream', onStream).listen(0, '127.0.0.1')
await once(server, 'listening')
const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

const sink = (): Writable => new Writable({ write: (_chunk, _encoding, callback) => callback() })

async function run(engine: 'node' | 'wire', trailers: RequestHeaders | (() => RequestHeaders)) {
  const client = new Client(origin, { engine })
  const sensitiveHeaders = [NAME]
  const request = { path: '/', method: 'POST', headers: toFields('asked'), trailers, sensitiveHeaders }
  const seen: unknown[] = []
  const data = await client.request({ ...request, body: 'b' })
  await data.body.text()
  seen.push([toValue(data.headers), toValue(data.trailers)])
  const raw = await client.request({ ...request, body: 'b', responseHeaders: 'raw' })
  await raw.body.text()
  seen.push([toRaw([raw.headers].flat()), toRaw([raw.trailers].flat())])
  let header: object = {}
  const streamed = await client.stream({ ...request, body: 'b' }, ({ headers }) => {
    header = headers
    return sink()
  })
  seen.push([toValue(header), toValue(streamed.trailers)])
  const duplex = client.pipeline(request, ({ headers, body }) => {
    header = headers
    return body
  })
  await once(duplex.resume().end('b'), 'end')
  seen.push([toValue(header)])
  const response = await fetch(origin, {
    method: 'POST',
    body: 'b',
    headers: toFields('asked'),
    dispatcher: client,
  })
  await response.text()
  seen.push([response.headers.get(NAME)])
  const legacy: string[] = []
  await new Promise<void>((resolve, reject) => {
    client.dispatch(
      { ...request, body: 'b' },
      {
        onConnect: () => {},
        onHeaders: (_status: number, fields: Buffer[]) => legacy.push(toRaw(fields)) > 0,
        onData: () => true,
        onComplete: (fields) => {
          legacy.push(toRaw(fields))
          resolve()
        },
        onError: reject,
      },
    )
  })
  seen.push(legacy)
  await client.close()
  return seen
}

const seen = {
  node: await run('node', toFields('sum')),
  wire: await run('wire', () => toFields('sum')),
}
server.close()
report({ seen, got })
