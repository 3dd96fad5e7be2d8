/**
 * The parts around a body: trailers of both sides, informational responses.
 */
import { createHash } from 'node:crypto'
import { differs, firstOf, readResponse, upload } from '../case.mjs'

/** @typedef {import('../case.mjs').Case} Case */

/** @type {readonly Case[]} */
export const extraCases = [
  {
    api: 'request, response trailers',
    path: '/trailers',
    elsewhere: 'left out',
    run: async ({ client, path }) =>
      readResponse(await client.request({ path, method: 'GET' }), (text, { trailers }) =>
        firstOf(
          differs('the checksum follows\n', text),
          trailers['x-checksum'] !== 'a1b2c3' && 'the trailers differ',
        ),
      ),
  },
  {
    api: 'request, request trailers',
    path: '/echo-with-trailers',
    elsewhere: 'left out',
    async run({ client, path }) {
      const hash = createHash('sha256')
      async function* body() {
        for (const line of [upload, upload]) {
          hash.update(line)
          yield line
        }
      }
      const checksum = createHash('sha256').update(upload.repeat(2)).digest('hex')
      const response = await client.request({
        path,
        method: 'POST',
        body: body(),
        // Called when all of the body has been read: only then there is a checksum.
        trailers: () => ({ 'x-checksum': hash.digest('hex') }),
      })
      return readResponse(response, (text, { trailers }) =>
        firstOf(
          differs(upload.repeat(2), text),
          trailers['x-checksum'] !== checksum && `the server got the trailer: ${trailers['x-checksum']}`,
        ),
      )
    },
  },
  {
    api: 'request, 103 to onInfo',
    path: '/hints',
    elsewhere: 'left out',
    async run({ client, path }) {
      /** @type {string[]} */
      const infos = []
      const response = await client.request({
        path,
        method: 'GET',
        onInfo: ({ statusCode, headers }) => infos.push(`${statusCode} ${headers.link}`),
      })
      return readResponse(response, (text) =>
        firstOf(
          differs('103 </style.css>; rel=preload', infos.join()),
          differs('the style is on its way\n', text),
        ),
      )
    },
  },
  {
    api: 'request, expectContinue',
    path: '/continue',
    elsewhere: 'left out',
    async run({ client, path }) {
      /** @type {string[]} */
      const order = []
      async function* body() {
        order.push('body')
        yield upload
      }
      const response = await client.request({
        path,
        method: 'POST',
        body: body(),
        expectContinue: true,
        onInfo: ({ statusCode }) => order.push(`${statusCode}`),
      })
      return readResponse(response, (text) =>
        firstOf(differs('100,body', order.join()), differs(upload, text)),
      )
    },
  },
]
