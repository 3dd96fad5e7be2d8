/** Each kind of server, as a user at a terminal sees it. Without a terminal: the other tests of `dodici URL`. */

import { createServer } from 'node:http'
import { generate } from 'selfsigned'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createFaultServer } from '../../../src/testing/index.ts'
import { Cleaner } from '../../interop/fetch-servers.ts'
import { GRPC_SERVERS, GRPC_START_LIMIT, startGrpcServer } from '../../interop/grpc-servers.ts'
import { program, runInTerminal } from '../../support/clients/pseudo-terminal.ts'
import { listenRaw } from '../../support/peers/raw-server.ts'
import { lacksApache, startApache } from '../../support/servers/apache.ts'
import { findFreePort } from '../../support/servers/free-port.ts'
import { listen } from '../../support/servers/listen.ts'
import { lacksNghttpd, startNghttpd } from '../../support/servers/nghttpd.ts'
import { lacksNginx, startNginx } from '../../support/servers/nginx.ts'
import { lacks } from '../../support/servers/programs.ts'

const DAY = 86_400_000

/** The origin of a TLS server whose certificate, its own issuer, ends in so many days. */
async function startSelfSigned(days: number): Promise<string> {
  const { private: key, cert } = await generate([{ name: 'commonName', value: '127.0.0.1' }], {
    keyType: 'ec',
    notBeforeDate: new Date(Date.now() - 9 * DAY),
    notAfterDate: new Date(Date.now() + days * DAY),
  })
  const server = await createFaultServer({ key, cert })
  onTestFinished(() => server.close())
  return server.origin
}

interface Case {
  readonly name: string
  readonly isMissing?: boolean
  /** @returns what stands behind `dodici` */
  readonly start: () => Promise<string>
  readonly code: number
  readonly says: string
}

const CASES: readonly Case[] = [
  {
    name: 'nghttpd',
    isMissing: lacksNghttpd,
    start: async () => `${(await startNghttpd({ files: { a: 'a file' } })).origin}/a`,
    code: 0,
    says: '\u001b[1mResponse 200\u001b[0m',
  },
  {
    name: 'nginx',
    isMissing: lacksNginx,
    start: async () => {
      const { origin } = await startNginx({ tls: true, server: "location / { return 404 'none'; }" })
      return `-k --fail ${origin}/a`
    },
    code: 8,
    says: '\u001b[1mResponse 404\u001b[0m',
  },
  {
    name: 'Apache',
    isMissing: lacksApache,
    start: async () => (await startApache()).origin,
    code: 0,
    says: '\u001b[1mResponse 204\u001b[0m',
  },
  { name: 'a self-signed certificate', start: () => startSelfSigned(9), code: 5, says: 'it is self-signed' },
  { name: 'an expired certificate', start: () => startSelfSigned(-2), code: 5, says: 'expired' },
  {
    name: 'a server of HTTP/1.1',
    start: async () => `http://127.0.0.1:${(await listen(createServer())).port}/`,
    code: 6,
    says: 'The server speaks HTTP/1.1, not HTTP/2',
  },
  {
    name: 'a dead port',
    start: async () => `http://127.0.0.1:${await findFreePort()}/`,
    code: 4,
    says: 'ECONNREFUSED',
  },
  {
    name: 'a black hole',
    start: async () => `--timeout 300ms http://127.0.0.1:${await listenRaw('')}/`,
    code: 7,
    says: '--timeout has passed: 300 ms',
  },
]

describe.skipIf(lacks('script'))('dodici URL, in a terminal', () => {
  for (const { name, isMissing = false, start, code, says } of CASES) {
    it.skipIf(isMissing)(`${name}: ${code}`, async () => {
      const exit = await runInTerminal(`${program} ${await start()}`)
      expect(exit.output).toContain(says)
      expect(exit.code).toBe(code)
    })
  }

  it.each(GRPC_SERVERS)('%s: 0', { timeout: GRPC_START_LIMIT }, async (name) => {
    const cleaner = new Cleaner()
    onTestFinished(() => cleaner.clean())
    const { origin } = await startGrpcServer(name, cleaner)
    const line = `printf '\\\\000\\\\000\\\\000\\\\000\\\\000' | ${program} --trailers -o /dev/null -d @- -H content-type:application/grpc`
    const exit = await runInTerminal(`${line} ${origin}/dodici.Test/None`)
    expect(exit.output).toMatch(/grpc-status\S*: .*12/)
    expect(exit.code).toBe(0)
  })
})
