import { connect } from 'node:http2'
import { expect, it, onTestFinished } from 'vitest'
import { toSessionHandle } from '../../../../src/session/node/session-handle.ts'
import { startServer } from '../../../support/servers/server.ts'

// Without the handle a legal response can abort the process: a line of Node that has none must be noticed.
it('a session of node:http2 › has the handle of its native half, and each session one of its own', async () => {
  const { origin } = await startServer((stream) => stream.respond({ ':status': 200 }, { endStream: true }))
  const sessions = [connect(origin), connect(origin)]
  onTestFinished(() => {
    for (const session of sessions) session.destroy()
  })
  await Promise.all(sessions.map((session) => new Promise((resolve) => session.once('connect', resolve))))
  const [one, two] = sessions.map(toSessionHandle)
  expect(one?.constructor.name).toBe('Http2Session')
  expect(two?.constructor.name).toBe('Http2Session')
  expect(one).not.toBe(two)
})
