/** Networks that don't work, or are more than an address and a port: each in a namespace of its own. */

import { describe, expect, it } from 'vitest'
import { bundle } from '../support/clients/bundled.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { describeInNamespaces, runInNamespace } from '../support/servers/namespace.ts'
import { toCertificate } from '../support/servers/server.ts'

const toScript = bundle({ networks: new URL('./children/networks.ts', import.meta.url) })

/** A route into nothing, which fails at once. */
const UNREACHABLE = '192.0.2.1'
/** Neighbours whose link address no machine has: packets to them are lost, and no error comes back. */
const SILENT = ['10.9.0.2', '10.9.0.3', 'fd09::2'] as const
const LINK_LOCAL = 'fe80::5%v0'

const SET_UP = `
  ip link set lo up
  ip link add v0 type veth peer name v1
  ip addr add 10.9.0.1/24 dev v0
  ip -6 addr add fd09::1/64 dev v0 nodad
  ip -6 addr add fe80::5/64 dev v0 nodad
  ip link set v0 up
  ip link set v1 up
  for address in ${SILENT.join(' ')}
  do ip neigh add $address lladdr 02:00:00:00:00:02 dev v0 nud permanent
  done
  ip route add blackhole 192.0.2.0/24`

interface Outcome {
  readonly said?: string
  readonly took: number
  readonly name?: string
  readonly code?: string
  readonly message?: string
}

describeInNamespaces('in a network of its own', () => {
  describe.each(ENGINES)('with engine %s', (engine) => {
    async function ask(scene: string, ...addresses: string[]): Promise<Outcome> {
      const { private: key, cert } = await toCertificate()
      const args = [scene, engine, key, cert, ...addresses]
      return JSON.parse(await runInNamespace(SET_UP, toScript('networks'), ...args))
    }

    describe('a link-local address with its scope, by lookup', () => {
      it('is connected to', async () => {
        expect(await ask('', LINK_LOCAL)).toMatchObject({ said: `${LINK_LOCAL} 2.0` })
      })

      it('is connected to by the fallback', async () => {
        expect(await ask('http1', LINK_LOCAL)).toMatchObject({ said: `${LINK_LOCAL} 1.1` })
      })

      it('without the scope › fails at once, and names the address', async () => {
        const { name, message } = await ask('', 'fe80::5')
        expect(name).toBe('ConnectError')
        expect(message).toContain('fe80::5')
      })
    })

    describe('a name with several addresses', () => {
      it.each([
        { what: 'has a blackhole as its route', first: UNREACHABLE, least: 0 },
        // Node's default is 250 ms; 500 from Node 26 on.
        { what: 'sends nothing back', first: SILENT[0], least: 200 },
        { what: 'is of IPv6, and sends nothing back', first: SILENT[2], least: 200 },
      ])('when the first $what › is reached by the second', async ({ first, least }) => {
        const { said, took } = await ask('', first, '127.0.0.1')
        expect(said).toBe('::ffff:127.0.0.1 2.0')
        expect(took).toBeGreaterThanOrEqual(least)
        // connectTimeout would have ended it.
        expect(took).toBeLessThan(10_000)
      })

      it('when the first sends nothing back › the fallback reaches the second, too', async () => {
        expect(await ask('http1', SILENT[0], '127.0.0.1')).toMatchObject({ said: '::ffff:127.0.0.1 1.1' })
      })

      it('when autoSelectFamilyAttemptTimeout is longer › the second is tried later', async () => {
        const { said, took } = await ask('patient', SILENT[0], '127.0.0.1')
        expect(said).toBe('::ffff:127.0.0.1 2.0')
        expect(took).toBeGreaterThanOrEqual(1_450)
      })

      it('when none works › fails with what each has said', async () => {
        const { name, code, message } = await ask('refused', UNREACHABLE, '127.0.0.1')
        expect({ name, code }).toEqual({ name: 'ConnectError', code: 'EINVAL' })
        expect(message).toContain(`connect EINVAL ${UNREACHABLE}:`)
        expect(message).toContain('connect ECONNREFUSED 127.0.0.1:')
      })

      it('when none sends anything back › fails by connectTimeout, and leaves no socket', async () => {
        expect(await ask('late', SILENT[0], SILENT[1])).toMatchObject({ code: 'UND_ERR_CONNECT_TIMEOUT' })
      })

      it('when the request is aborted meanwhile › leaves no socket', async () => {
        expect(await ask('aborted', SILENT[0], SILENT[1])).toMatchObject({ name: 'AbortError' })
      })
    })
  })
})
