import assert from 'node:assert/strict'

/** One request to the server of the package check. */
export async function request(Client, url) {
  const client = new Client(url)
  const { statusCode, body } = await client.request({ path: '/', method: 'GET' })
  assert.equal(statusCode, 200)
  assert.equal(await body.text(), 'hello')
  await client.close()
}
