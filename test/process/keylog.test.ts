/** A capture can be decrypted: Node's own switch writes the keys of each engine's connections. */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { bundle } from '../support/clients/bundled.ts'
import { runNodeWith } from '../support/clients/child.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { startServer } from '../support/servers/server.ts'
import type { Plan } from './children/incident.ts'

const toChild = bundle({ incident: new URL('children/incident.ts', import.meta.url) })

it.each(ENGINES)('--tls-keylog writes the secrets of a session of engine %s', async (engine) => {
  const folder = mkdtempSync(join(tmpdir(), 'dodici-keylog-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'keys')
  const { origin } = await startServer((stream) => stream.end('hello'), { tls: true })
  const asked = [{ url: `${origin}/`, method: 'GET' as const }]
  const plan: Plan = { engine, by: 'request', h2c: [], proxy: '', asked }
  const { code } = await runNodeWith([`--tls-keylog=${file}`], toChild('incident'), JSON.stringify(plan))
  expect(code).toBe(0)
  expect(readFileSync(file, 'utf8')).toMatch(/^CLIENT_TRAFFIC_SECRET_0 [0-9a-f]{64} [0-9a-f]+$/m)
})
