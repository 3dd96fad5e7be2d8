import { execFile } from 'node:child_process'
import { once } from 'node:events'
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2'
import { createServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { promisify } from 'node:util'
import zlib from 'node:zlib'
import { describe, expect, it, onTestFinished } from 'vitest'
import { bundle } from '../support/clients/bundled.ts'

const { BROTLI_PARAM_LGWIN, BROTLI_PARAM_QUALITY } = zlib.constants
const COUNT = 50
/** What is decoded ahead of each reader at most. */
const MAX_AHEAD = 262_144
/** For the code of the process, and what its collector leaves until later. 9 MiB were measured for both together. */
const SPARE = 32 * 2 ** 20

const ENCODERS: Record<string, (bytes: Buffer) => Buffer> = {
  gzip: (bytes) => zlib.gzipSync(bytes, { level: 9 }),
  br: (bytes) =>
    zlib.brotliCompressSync(bytes, { params: { [BROTLI_PARAM_LGWIN]: 24, [BROTLI_PARAM_QUALITY]: 9 } }),
}

const toPath = bundle({ bombs: new URL('./children/bombs.ts', import.meta.url) })

async function serve(bomb: Buffer, coding: string): Promise<string> {
  const server = createServer()
  server.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    stream.on('error', () => {})
    const isBomb = headers[':path'] === '/bomb'
    stream.respond({ ':status': 200, ...(isBomb && { 'content-encoding': coding }) })
    stream.end(isBomb ? bomb : 'plain')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

describe(`${COUNT} decompression bombs, layers deep, that nothing reads`, () => {
  it.each([
    [['br']],
    [['br', 'br', 'br']],
    [['br', 'br', 'br', 'br', 'br']],
    [['gzip', 'gzip', 'gzip', 'gzip', 'gzip']],
    [['br', 'gzip', 'br', 'gzip', 'br']],
  ])('take no more memory than what is decoded ahead: %j', async (codings) => {
    const bomb = codings.reduce<Buffer>(
      (bytes, coding) => ENCODERS[coding]?.(bytes) ?? bytes,
      Buffer.alloc(2 ** 26),
    )
    expect(bomb.length).toBeLessThan(400)
    const origin = await serve(bomb, codings.join(', '))
    const { stdout } = await promisify(execFile)(process.execPath, [toPath('bombs'), origin, String(COUNT)], {
      env: { ...process.env, NODE_OPTIONS: '' },
      timeout: 180_000,
    })
    const facts: { grown: number; arrayBuffers: number; unread: number } = JSON.parse(stdout)
    expect(facts.unread).toBe(COUNT)
    expect(facts.grown).toBeLessThan(COUNT * MAX_AHEAD + SPARE)
    expect(facts.arrayBuffers).toBeLessThan(COUNT * MAX_AHEAD)
  })
})
