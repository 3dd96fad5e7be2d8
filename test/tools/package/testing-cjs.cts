// Type-checked against the declarations for `require`; never run.
import testing = require('dodici/testing')

export async function use(): Promise<string> {
  const server: testing.FaultServer = await testing.createFaultServer({ h2c: true })
  server.onRequest('/', (stream, connection) => connection.badFrame('PING of 7 octets', stream.id))
  const { text } = await server.waitFor('/')
  await server.close()
  return text
}

// @ts-expect-error a declaration that lost its types would let it pass
void ((server: testing.FaultServer) => server.onRequest('/', (stream) => stream.headerBomb('small')))
