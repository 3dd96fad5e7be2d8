/** Fetches decompression bombs, reads none of them, and reports by how many bytes the process has grown. */
import { Agent, fetch } from '../../../src/index.ts'
import { report } from './report.ts'

const [, , url = '', count = '0'] = process.argv
const dispatcher = new Agent({ h2c: true })
const init = { dispatcher }

async function get(path: string): Promise<Response> {
  const response = await fetch(`${url}${path}`, init)
  if (!response.ok) throw new Error(`The server has responded with ${response.status}`)
  return response
}

// Code and buffers that a first request needs are loaded by then.
await (await get('/plain')).text()
const before = process.memoryUsage.rss()
const responses = await Promise.all(Array.from({ length: Number(count) }, () => get('/bomb')))
// Comes after the bombs; a decoder would be at work by then.
for (let i = 0; i < 50; i++) await (await get('/plain')).text()
const grown = process.resourceUsage().maxRSS * 1_024 - before
const { arrayBuffers } = process.memoryUsage()
report({ grown, arrayBuffers, unread: responses.filter(({ bodyUsed }) => !bodyUsed).length })
process.exit()
