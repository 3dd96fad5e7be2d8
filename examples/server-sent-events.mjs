/**
 * Reads server-sent events without an EventSource. (After `install()`, Node's and undici's `EventSource` use HTTP/2, too.)
 *
 *     npx dodici serve
 *     node examples/server-sent-events.mjs
 */

// @ts-check

import { Client } from 'dodici'

// Events may be rare, so there is no limit between them. PINGs detect a dead connection.
const client = new Client(process.argv[2] ?? 'http://localhost:12080', { pingInterval: 15_000 })

/** The events of a stream, by https://html.spec.whatwg.org/multipage/server-sent-events.html. @param {string} path */
async function* listen(path) {
  const { statusCode, body } = await client.request({
    path,
    method: 'GET',
    headers: { accept: 'text/event-stream' },
    bodyTimeout: 0,
  })
  if (statusCode !== 200) throw new Error(`The server responded with ${statusCode}`)
  let event = { type: 'message', data: '', id: '' }
  let rest = ''
  // If you leave the loop over the events, this loop ends, too: that cancels the stream, and the connection stays open.
  for await (const text of body.setEncoding('utf8')) {
    const lines = `${rest}${text}`.split(/\r?\n/)
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const [field = '', value = ''] = line.split(/: ?(.*)/s)
      if (line === '') {
        if (event.data !== '') yield { ...event, data: event.data.slice(0, -1) }
        event = { type: 'message', data: '', id: event.id }
      } else if (field === 'data') event.data += `${value}\n`
      else if (field === 'event') event.type = value
      else if (field === 'id') event.id = value
    }
  }
}

let count = 0
// Without the break, the loop would run for ever.
for await (const { type, data } of listen('/sse?count=0&interval=10')) {
  console.log(type, JSON.parse(data).id)
  if (++count === 3) break
}
await client.close()
