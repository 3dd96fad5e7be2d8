/** A capture can be decrypted: Node's own switch writes the keys of each engine's connections. */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { expect, it, onTestFinished } from 'vitest'
import { Client } from '../../src/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { bundle } from '../support/clients/bundled.ts'
import { runNodeWith } from '../support/clients/child.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { startServer, toCertificate } from '../support/servers/server.ts'
import type { Plan } from './children/incident.ts'

const toChild = bundle({ incident: new URL('children/incident.ts', import.meta.url) })

it.each(ENGINES)("a connect function hears 'keylog' of a session of engine %s", async (engine) => {
  const { origin } = await startServer((stream) => stream.end('hello'), { tls: true })
  const { cert: ca } = await toCertificate()
  const lines: string[] = []
  const client = new Client(origin, {
    engine,
    connect(options, callback) {
      const { hostname, port, servername, ALPNProtocols } = options
      const socket = connect({ host: hostname, port: Number(port), servername, ALPNProtocols, ca })
      socket.on('keylog', (line: Buffer) => lines.push(line.toString()))
      socket
        .once('secureConnect', () => callback(null, socket))
        .once('error', (error) => callback(error, null))
    },
  })
  destroyWithTest(client)
  const { body } = await client.request({ path: '/', method: 'GET' })
  expect(await body.text()).toBe('hello')
  expect(lines.join('')).toMatch(/^CLIENT_TRAFFIC_SECRET_0 [0-9a-f]{64} [0-9a-f]+$/m)
})

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
