// Streaming from and to files.
import { createReadStream, createWriteStream, readFileSync, writeFileSync } from 'node:fs'
import { pipeline as flow } from 'node:stream/promises'
import { Agent, Client, pipeline, request, stream } from 'undici'

const { ORIGIN, CA } = process.env
const agent = new Agent({ connect: { ca: CA } })
const show = (file) => {
  const text = readFileSync(file, 'utf8')
  console.log(text.length, text.slice(0, 20))
}

await stream(
  `${ORIGIN}/big`,
  { method: 'GET', opaque: 'big.txt', dispatcher: agent },
  ({ statusCode, headers, opaque }) => {
    console.log(statusCode, headers['content-type'])
    return createWriteStream(opaque)
  },
)
show('big.txt')

const { body, headers } = await request(`${ORIGIN}/echo`, {
  method: 'POST',
  headers: { 'content-type': 'text/plain' },
  body: createReadStream('big.txt'),
  dispatcher: agent,
})
await flow(body, createWriteStream('echoed.txt'))
console.log(headers['x-type'])
show('echoed.txt')

writeFileSync('small.txt', 'small')
await flow(
  createReadStream('small.txt'),
  pipeline(`${ORIGIN}/echo`, { method: 'PUT', dispatcher: agent }, ({ statusCode, body: echoed }) => {
    console.log(statusCode)
    return echoed
  }),
  createWriteStream('piped.txt'),
)
show('piped.txt')

const client = new Client(ORIGIN, { connect: { ca: CA } })
const data = await client.request({ path: '/echo', method: 'POST', body: 'as text' })
const chunks = []
for await (const chunk of data.body) chunks.push(chunk)
console.log(String(Buffer.concat(chunks)), data.body.bodyUsed)
await client.close()
await agent.close()
