/** Only a request keeps the process alive. */
import { Client } from '../../../src/index.ts'
import { report } from './report.ts'

const [, , origin = '', ca = ''] = process.argv
const client = new Client(origin, { connect: ca === '' ? {} : { ca } })

// The second time, the connection was idle before.
for (let time = 0; time < 2; time++) {
  const { statusCode, body } = await client.request({ path: '/', method: 'GET' })
  report({ statusCode })
  report({ text: await body.text() })
  await new Promise((resolve) => setImmediate(resolve))
}
