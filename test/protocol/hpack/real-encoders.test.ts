/** Our decoder beside that of node:http2 (nghttp2), on what two real encoders make of random lists. */

import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import type { OutgoingHttpHeaders, ServerHttp2Stream } from 'node:http2'
import http2 from 'node:http2'
import type { AddressInfo } from 'node:net'
import net from 'node:net'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import tls from 'node:tls'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { toRounds } from '../../support/clocks/sample.ts'
import { buildGo } from '../../support/servers/programs.ts'
import { lacksGo } from '../../support/servers/restarting-server.ts'
import { toCertificate } from '../../support/servers/server.ts'
import { makeFolder, startProcess } from '../../support/servers/server-process.ts'
import { Random, toFields } from './support.ts'
import { TappedConnection } from './tapped-connection.ts'

/** Interim responses; with the response itself and its trailers, 20 lists a stream. */
const INTERIM = 18
const LISTS_PER_STREAM = INTERIM + 2
const TABLE_SIZES = [4_096, 512, 65_536, 0]
const STREAMS_PER_CONNECTION = toRounds(1_250, 250)

function toHeaders(random: Random): OutgoingHttpHeaders {
  const fields = toFields(random, 8)
  const headers: OutgoingHttpHeaders = {}
  for (let at = 0; at < fields.length; at += 2) headers[fields[at] ?? ''] = fields[at + 1]
  return random.below(4) === 0 ? { ...headers, [http2.sensitiveHeaders]: fields.slice(0, 1) } : headers
}

/** A server of node:http2 whose responses have random lists. @returns its port */
async function startNodeServer(): Promise<number> {
  const random = new Random(31)
  const server = http2.createServer()
  server.on('stream', (stream: ServerHttp2Stream) => {
    for (let count = 0; count < INTERIM; count++) {
      stream.additionalHeaders({ ...toHeaders(random), ':status': 103 })
    }
    stream.respond({ ...toHeaders(random), ':status': 200 }, { waitForTrailers: true })
    stream.on('wantTrailers', () => stream.sendTrailers({ ...toHeaders(random), 'x-last': '1' }))
    stream.end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return port
}

/** A server of Go's net/http whose responses have random lists, over TLS. @returns how to open a connection */
async function startGoServer(): Promise<() => Duplex> {
  const folder = await makeFolder('hpack')
  const binary = join(folder, 'lists')
  await buildGo(binary, { file: fileURLToPath(new URL('go-lists/main.go', import.meta.url)) })
  const { private: key, cert: ca } = await toCertificate()
  await writeFile(join(folder, 'key.pem'), key)
  await writeFile(join(folder, 'certificate.pem'), ca)
  const { port } = await startProcess(async (port) => ({
    command: binary,
    args: ['-folder', folder, '-port', `${port}`, '-interim', `${INTERIM}`],
    ready: 'listening',
  }))
  return () => tls.connect({ host: '127.0.0.1', port, ca, servername: 'localhost', ALPNProtocols: ['h2'] })
}

/** Has many responses on a connection for each table size. */
async function compareAll(toServer: () => Duplex): Promise<void> {
  const paths = Array.from({ length: STREAMS_PER_CONNECTION }, (_none, at) => `/${at}`)
  for (const tableSize of TABLE_SIZES) {
    const connection = await TappedConnection.open(toServer, tableSize)
    const { same, different } = await connection.request(paths, 32)
    expect(different, `with a table of ${tableSize} bytes`).toEqual([])
    expect(same).toBe(STREAMS_PER_CONNECTION * LISTS_PER_STREAM)
  }
}

const LISTS = TABLE_SIZES.length * STREAMS_PER_CONNECTION * LISTS_PER_STREAM

describe(`the decoder agrees with node:http2's on ${LISTS} random lists`, () => {
  it('when they are encoded by nghttp2', async () => {
    const port = await startNodeServer()
    await compareAll(() => net.connect(port, '127.0.0.1'))
  })

  it.skipIf(lacksGo)("when they are encoded by Go's net/http", async () => {
    await compareAll(await startGoServer())
  })
})
