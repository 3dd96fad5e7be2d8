import assert from 'node:assert/strict'

/** A request to a server of `dodici/testing` that refuses it once. */
export async function requestRefused({ createFaultServer }, Client) {
  const server = await createFaultServer({ h2c: true })
  const client = new Client(server.origin)
  server.refuse(1)
  const { statusCode, body } = await client.request({ path: '/', method: 'GET' })
  assert.deepEqual([statusCode, await body.text()], [200, 'GET /'])
  assert.deepEqual(server.counts, { 'GET /': 2 })
  await client.close()
  await server.close()
}
