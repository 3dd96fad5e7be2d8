/** A network whose only route is the proxy: what goes around it fails. */

import { describe, expect, it } from 'vitest'
import { bundle } from '../support/clients/bundled.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { describeInNamespaces, runInNamespace } from '../support/servers/namespace.ts'
import { toCertificate } from '../support/servers/server.ts'

const [MAJOR = 0] = process.versions.node.split('.').map(Number)
const toScript = bundle({ 'only-proxy': new URL('./children/only-proxy.ts', import.meta.url) })

const SET_UP = `
  ip link set lo up
  ip addr add 10.8.0.1/32 dev lo
  ip link add v0 type veth peer name v1
  ip addr add 10.9.0.1/24 dev v0
  ip link set v0 up`

describeInNamespaces('where the proxy is all that can be reached', () => {
  describe.each(ENGINES)('with engine %s', (engine) => {
    it('each request arrives, and names are resolved by the proxy', async () => {
      const { private: key, cert } = await toCertificate()
      const said = await runInNamespace(SET_UP, toScript('only-proxy'), engine, key, cert)
      expect(said.trim().split('\n')).toEqual([
        'request(): over 2.0',
        'the fallback: over 1.1',
        'absolute form: over 1.1',
        'fetch(): over 2.0',
        'a redirect: over 1.1',
        'built-in fetch: over 2.0',
        'a redirect of built-in fetch: over 1.1',
        ...(MAJOR >= 22 ? ['WebSocket: hello'] : []),
        // Node 20 has no switch for the environment's proxy. It looks for the name, which no resolver of that network knows.
        `request() by the environment: ${MAJOR >= 22 ? 'over 2.0' : 'failed with EAI_AGAIN'}`,
        'an Agent: failed with ENETUNREACH',
      ])
    })
  })
})
