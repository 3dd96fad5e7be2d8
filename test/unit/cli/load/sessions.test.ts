import { createServer } from 'node:net'
import { expect, it } from 'vitest'
// Sessions load it when they are opened: here it counts as an import, not as time of the test.
import '../../../../src/index.ts'
import { Sessions } from '../../../../src/cli/load/sessions.ts'
import { listen } from '../../../support/servers/listen.ts'

it('sessions are not opened when that was given up before', async () => {
  const { port, sockets } = await listen(createServer())
  const path = '/'
  const job = {
    origin: `http://127.0.0.1:${port}`,
    paths: [path],
    address: null,
    method: 'GET',
    headers: [],
    body: null,
    trust: {},
    timeout: 3_600_000,
    sessions: 2,
    streams: 1,
    requests: null,
    duration: null,
    warmUp: 0,
    pace: null,
  }
  const opening = Sessions.open(job, [{ path: '/', method: 'GET' }], AbortSignal.abort())
  await expect(opening).rejects.toThrow('This operation was aborted')
  expect(sockets).toEqual([])
})
