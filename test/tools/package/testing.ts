// Type-checked against the declarations for `import`; never run.
import type { FaultServer, FaultStream, Preset } from 'dodici/testing'
import { BAD_FRAMES, BAD_HEADERS, createFaultServer, FLOODS, frames, presets } from 'dodici/testing'

const own: Preset = (server) => server.refuse(1)

export async function use(): Promise<FaultServer> {
  const server = await createFaultServer({ h2c: true, settings: { maxConcurrentStreams: 1 } })
  server.use(own).use(presets.nginxThatRetires({ requests: 1 }))
  server.onRequest('POST /', async (stream, connection) => {
    for await (const chunk of stream) connection.write(chunk, frames.ping())
    const sent: number = await connection.flood('PING', { count: 1 })
    await stream.respond({
      headers: [['x-sent', String(sent)]],
      body: Buffer.from('x'),
      trailers: { a: 'b' },
    })
  })
  server.onConnection('*', { onFrame: ({ name, payload }) => `${name} ${payload.length}` })
  server.onSocket(0, (socket) => socket.alert('handshake_failure'))
  const stream: FaultStream = await server.waitFor('POST /')
  const goaway: { code: number } | undefined = await server.waitFor(() => server.goaways[0])
  const octets: Buffer[] = [
    BAD_FRAMES['PING of 7 octets'](1),
    BAD_HEADERS['no :status'](1),
    FLOODS.PING.round(1),
    stream.body,
  ]
  return octets.length + Number(goaway?.code) > 0 ? server : createFaultServer({ h2c: true })
}

// @ts-expect-error a declaration that lost its types would let it pass
void ((server: FaultServer) => server.onRequest('/', (stream) => stream.headerBomb('small')))
