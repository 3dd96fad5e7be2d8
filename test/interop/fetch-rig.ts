/** Every fetch × every case that a server can make, against one server. */

import { afterAll, beforeAll, describe, it } from 'vitest'
import { GO_BUILD_LIMIT } from '../support/servers/restarting-server.ts'
import { ABORTS } from './fetch-abort-cases.ts'
import { CONNECTIONS } from './fetch-connection-cases.ts'
import { FETCHES } from './fetch-fetches.ts'
import { REDIRECTS } from './fetch-redirect-cases.ts'
import { REQUESTS } from './fetch-request-cases.ts'
import { RESPONSES } from './fetch-response-cases.ts'
import type { Case } from './fetch-scene.ts'
import { Scene } from './fetch-scene.ts'
import type { InteropServer, ServerName } from './fetch-servers.ts'
import { Cleaner, startServer } from './fetch-servers.ts'

const CASES: readonly Case[] = [...REQUESTS, ...REDIRECTS, ...RESPONSES, ...ABORTS, ...CONNECTIONS]

/** Defines the tests of one server. */
export function testServer(name: ServerName, isLacking = false): void {
  describe.skipIf(isLacking).each(FETCHES)(`when ${name} gets requests by $name`, (fetch) => {
    const cleaner = new Cleaner()
    let server: InteropServer

    beforeAll(async () => {
      server = await startServer(name, cleaner)
    }, GO_BUILD_LIMIT)

    afterAll(() => cleaner.clean())

    // Not `it.each`, which cuts names off.
    for (const { what, servers, run } of CASES) {
      if (servers.includes(name)) it(what, () => run(new Scene(name, server, fetch)))
    }
  })
}
