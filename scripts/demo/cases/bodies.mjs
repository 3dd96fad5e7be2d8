/**
 * Request bodies of every kind; the demo's own server echoes them.
 */
import { Readable } from 'node:stream'
import { differs, firstOf, readResponse, upload } from '../case.mjs'

/** @typedef {import('../case.mjs').Case} Case */

const chunks = 64

async function* generateUpload() {
  for (let index = 0; index < chunks; index++) {
    // Between two pieces the world goes on.
    await new Promise(setImmediate)
    yield upload
  }
}

/**
 * @param {string} kind
 * @param {() => import('dodici').RequestBody} toBody
 * @param {string} expected
 * @returns {Case}
 */
function textCase(kind, toBody, expected) {
  return {
    api: `request, POST, ${kind}`,
    path: '/echo',
    run: async ({ client, path }) =>
      readResponse(
        await client.request({
          path,
          method: 'POST',
          headers: { 'content-type': 'text/plain' },
          body: toBody(),
        }),
        (text, { headers }) =>
          firstOf(
            differs(expected, text),
            headers['content-type'] !== 'text/plain' && 'the content-type differs',
          ),
      ),
  }
}

/** Of one line: in a form's text, line breaks become CRLF. */
const note = 'a line of a form'

/** @type {Case} */
const formCase = {
  api: 'request, POST, FormData',
  path: '/echo',
  async run({ client, path, isOwn }) {
    const form = new FormData()
    form.append('note', note)
    form.append('file', new Blob([upload, upload], { type: 'text/plain' }), 'lines.txt')
    const { statusCode: status, headers, body } = await client.request({ path, method: 'POST', body: form })
    const bytes = await body.arrayBuffer()
    const outcome = { status, bytes: bytes.byteLength, headers, problem: null }
    if (!isOwn) return outcome
    // Node's own parser must find the same form in the echo.
    const type = String(headers['content-type'])
    const echo = await new Response(bytes, { headers: { 'content-type': type } }).formData()
    const file = echo.get('file')
    if (!(file instanceof Blob)) return { ...outcome, problem: 'the file did not come back' }
    return {
      ...outcome,
      problem: firstOf(
        differs(note, String(echo.get('note'))),
        differs(upload.repeat(2), await file.text()),
        file.type !== 'text/plain' && 'the type of the file differs',
      ),
    }
  },
}

/** @type {readonly Case[]} */
export const bodyCases = [
  textCase('string', () => upload, upload),
  textCase(
    'Readable',
    () => Readable.from(Array.from({ length: chunks }, () => Buffer.from(upload))),
    upload.repeat(chunks),
  ),
  textCase('async iterable', generateUpload, upload.repeat(chunks)),
  textCase('factory function', () => () => Readable.from([upload]), upload),
  formCase,
]
