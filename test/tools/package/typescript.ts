// Type-checked against the declarations for `import`, then run as: node typescript.ts URL
import assert from 'node:assert/strict'
import { Client } from 'dodici'

const url: string | undefined = process.argv[2]
assert(url)

const client = new Client(url)
const { statusCode, body } = await client.request({ path: '/', method: 'GET' })
const status: number = statusCode
const text: string = await body.text()
await client.close()

assert.equal(status, 200)
assert.equal(text, 'hello')

// @ts-expect-error an origin is no number: a declaration that lost its types would let it pass
void (() => new Client(1))
