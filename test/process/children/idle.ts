/** Sends a request, and leaves its connection open. */
import { Client } from '../../../src/index.ts'
import { report } from './report.ts'

const [, , origin = '', ca = ''] = process.argv
const client = new Client(origin, { connect: ca === '' ? {} : { ca } })
const { body } = await client.request({ path: '/', method: 'GET' })
const text = await body.text()
process.on('exit', () => report({ text, connected: client.stats.connected }))
