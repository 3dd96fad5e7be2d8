import { expect, it, onTestFinished } from 'vitest'
import { Agent, fetch } from '../../src/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { startServer } from '../support/servers/server.ts'

it('many calls share one signal, without a warning of a leak', async () => {
  const warnings: string[] = []
  const onWarning = ({ name }: Error): number => warnings.push(name)
  process.on('warning', onWarning)
  onTestFinished(() => void process.off('warning', onWarning))
  const held: (() => void)[] = []
  const { origin } = await startServer((stream) => {
    stream.respond({ ':status': 200 })
    held.push(() => stream.end('body'))
    if (held.length === 60) for (const end of held) end()
  })
  const agent = destroyWithTest(new Agent({ h2c: true }))
  const { signal } = new AbortController()
  const GET = { origin, path: '/', method: 'GET', signal } as const
  const calls = Array.from({ length: 30 }, async () => (await agent.request(GET)).body.text())
  const fetches = Array.from({ length: 30 }, async () =>
    (await fetch(origin, { signal, dispatcher: agent })).text(),
  )
  expect(new Set(await Promise.all([...calls, ...fetches]))).toEqual(new Set(['body']))
  // Node warns a tick later.
  await new Promise((resolve) => setImmediate(resolve))
  expect(warnings).toEqual([])
})
