import { createServer } from 'node:http'
import { request } from 'dodici'

/** A small service: it passes each request on to a stock server, over HTTP/2. A failure becomes a 502. */
export function createShop(stockOrigin, dispatcher) {
  return createServer(async (incoming, response) => {
    try {
      const { statusCode, body } = await request(`${stockOrigin}${incoming.url}`, {
        dispatcher,
        method: incoming.method,
        // Each reservation has an id, so the stock server may get it twice.
        idempotent: true,
      })
      response.writeHead(statusCode).end(await body.text())
    } catch (error) {
      response.writeHead(502).end(error.message)
    }
  })
}
