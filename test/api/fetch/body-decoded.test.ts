/** Bodies in a content coding (RFC 9110 §8.4), as fetch gives them. */

import { createServer } from 'node:http'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { fetch } from '../../../src/index.ts'
import type { Field } from '../../../src/testing/hpack.ts'
import type { AgentOptions } from '../../../types/index.ts'
import { toAgent } from '../../support/clients/agents.ts'
import { CANCEL } from '../../support/peers/error-codes.ts'
import { listen } from '../../support/servers/listen.ts'
import { tapped, toNoise } from './body-support.ts'
import { startRig, toReason, toStream } from './body-support-rig.ts'

const TEXT = 'twelve '.repeat(1_000)
const MIB = 1_048_576
const LIMIT = MIB

/** 64 MiB coded as 64 KiB, followed by more than any window holds. */
const BOMB = Buffer.concat([gzipSync(Buffer.alloc(64 * MIB)), toNoise(LIMIT / 2)])

interface Served {
  get(method?: string): Promise<Response>
  /**
   * Settles when the client has reset the response or closed its connection: with the code of the reset, over HTTP/2.
   */
  dropped(): Promise<number | null>
}

interface ResponseScript {
  readonly status?: number
  readonly fields: readonly Field[]
  readonly body: Buffer
}

async function serveHttp2(
  { status = 200, fields, body }: ResponseScript,
  options: AgentOptions,
): Promise<Served> {
  const rig = await startRig(
    tapped((stream, tap) => {
      if (status === 200 && stream.method !== 'HEAD') {
        tap.pour(stream, body, fields)
      } else {
        stream.head(status, fields)
        stream.end()
      }
    }),
    { initialWindowSize: 131_072, ...options },
  )
  return { get: (method = 'GET') => rig.get('/', { method }), dropped: () => rig.resetOf('/') }
}

async function serveHttp1(
  { status = 200, fields, body }: ResponseScript,
  options: AgentOptions,
): Promise<Served> {
  let drop = (): void => {}
  const dropped = new Promise<void>((resolve) => {
    drop = resolve
  })
  const server = createServer((_request, response) => {
    for (const [name, value] of fields) response.appendHeader(name, value)
    response.writeHead(status)
    response.on('close', drop)
    // Without its end: a client that drops it does so in the middle.
    if (body === BOMB) response.write(body)
    else response.end(body)
  })
  const { port } = await listen(server)
  const agent = toAgent({ ...options, h2c: false })
  return {
    get: (method = 'GET') => fetch(`http://127.0.0.1:${port}/`, { method, dispatcher: agent }),
    dropped: () => dropped.then(() => null),
  }
}

const PROTOCOLS = [
  ['HTTP/2', serveHttp2],
  ['HTTP/1.1', serveHttp1],
] as const

function coded(...codings: string[]): Field[] {
  return codings.map((coding) => ['content-encoding', coding])
}

describe.each(
  PROTOCOLS,
)('when a body that comes by %s decodes to more than maxResponseSize', (protocol, serve) => {
  const script: ResponseScript = { fields: coded('gzip'), body: BOMB }
  const tooLarge = {
    name: 'TypeError',
    message: 'terminated',
    cause: { name: 'ResponseExceededMaxSizeError', code: 'UND_ERR_RES_EXCEEDED_MAX_SIZE' },
  }

  it('text() fails, and the response is dropped', async () => {
    const served = await serve(script, { maxResponseSize: LIMIT })
    expect(await toReason((await served.get()).text())).toMatchObject(tooLarge)
    const code = await served.dropped()
    if (protocol === 'HTTP/2') expect(code).toBe(CANCEL)
  })

  it('a reader gets no more than the limit, and then the error', async () => {
    const served = await serve(script, { maxResponseSize: LIMIT })
    const reader = toStream(await served.get()).getReader()
    let size = 0
    const reading = (async () => {
      for (;;) size += (await reader.read()).value?.byteLength ?? 0
    })()
    expect(await toReason(reading)).toMatchObject(tooLarge)
    expect(size).toBeLessThanOrEqual(LIMIT)
    await served.dropped()
  })

  it('a body of just the limit is read', async () => {
    const body = gzipSync(Buffer.alloc(LIMIT))
    const served = await serve({ fields: coded('gzip'), body }, { maxResponseSize: LIMIT })
    expect((await (await served.get()).arrayBuffer()).byteLength).toBe(LIMIT)
  })

  it('without a limit all of it can be read', async () => {
    const body = gzipSync(Buffer.alloc(4 * MIB))
    const served = await serve({ fields: coded('gzip'), body }, {})
    expect((await (await served.get()).arrayBuffer()).byteLength).toBe(4 * MIB)
  })
})

describe.each(PROTOCOLS)('when a body comes by %s in a coding', (_protocol, serve) => {
  const gzipped = gzipSync(TEXT)

  it.each([
    ['two, in two fields', coded('gzip', 'br'), brotliCompressSync(gzipped)],
    ['the same one twice', coded('gzip', 'gzip'), gzipSync(gzipped)],
    ['gzip with something behind', coded('gzip'), Buffer.concat([gzipped, Buffer.alloc(100)])],
  ])('%s is decoded', async (_what, fields, body) => {
    const served = await serve({ fields, body }, {})
    const response = await served.get()
    expect(await response.text()).toBe(TEXT)
    expect(response.headers.get('content-encoding')).toBe(fields.map(([, value]) => value).join(', '))
  })

  it('a large body gives the same bytes by a stream', async () => {
    const noise = toNoise(MIB)
    const served = await serve({ fields: coded('gzip'), body: gzipSync(noise) }, {})
    const pieces: Uint8Array[] = []
    for await (const piece of toStream(await served.get())) pieces.push(piece)
    expect(Buffer.concat(pieces).equals(noise)).toBe(true)
  })

  it('a body that is not coded so fails', async () => {
    const served = await serve({ fields: coded('gzip'), body: Buffer.from(TEXT) }, {})
    const reason = await toReason((await served.get()).text())
    expect(reason).toMatchObject({
      name: 'TypeError',
      message: 'terminated',
      cause: { code: 'Z_DATA_ERROR' },
    })
  })

  it('six codings are refused, and the response is dropped', async () => {
    const fields = coded('gzip, gzip, gzip', 'gzip, gzip, gzip')
    const served = await serve({ fields, body: BOMB }, {})
    expect(await toReason(served.get())).toMatchObject({ name: 'TypeError', message: 'fetch failed' })
    await served.dropped()
  })
})
