/**
 * Children for tests of the fallback in a process of its own: what it is made of depends on who has used Node's undici
 * before. They are bundled, and run as `fallback-child.mjs MODE ROOT ORIGIN …`.
 */

import { createRequire } from 'node:module'
import type { Client } from '../../../src/index.ts'
import { Agent, EnvHttpProxyAgent } from '../../../src/index.ts'

const [, , mode = '', root = '', origin = '', ca = ''] = process.argv
const connect = ca === '' ? {} : { ca: Buffer.from(ca, 'base64').toString() }

function say(fact: unknown): void {
  process.stdout.write(`${JSON.stringify(fact)}\n`)
}

/** An undici from npm, by the name that this repository has for it. */
function load(name: string): { Agent: new () => object; setGlobalDispatcher(dispatcher: unknown): void } {
  return createRequire(`${root}/`)(name)
}

async function ask(dispatcher: Agent | Client | EnvHttpProxyAgent): Promise<void> {
  try {
    const { statusCode, body } = await dispatcher.request({ origin, path: '/', method: 'GET' })
    say([statusCode, await body.text()])
  } catch (error) {
    const { name, message, processed } = Object(error)
    say([name, processed, message])
  }
}

const MODES: Record<string, () => Promise<void>> = {
  /** Asks once, and has nothing more to stay for: the connection is kept alive, the process isn't. */
  async idle() {
    await ask(new Agent({ connect }))
  },
  async closed() {
    const agent = new Agent({ connect })
    await ask(agent)
    await agent.close()
    say(process.getActiveResourcesInfo().filter((name) => /TCP|TLS/.test(name)))
  },
  /** Node's own undici was not used yet, and its place is taken. */
  async cold() {
    const agent = new Agent({ connect })
    load('undici-6').setGlobalDispatcher(agent)
    await ask(agent)
    say((await fetch(`${origin}/`)).status)
    await agent.close()
  },
  /** Node's own undici was used before the place was taken, and before ours was made. */
  async warm() {
    Reflect.get(globalThis, 'Headers')
    const agent = new Agent({ connect })
    load('undici-6').setGlobalDispatcher(agent)
    await ask(agent)
    say((await fetch(`${origin}/`)).status)
    await agent.close()
  },
  /** Other code has taken the place first, and Node's undici came too late to make an Agent. */
  async replaced() {
    const place = Symbol.for('undici.globalDispatcher.1')
    const placeOf8 = Symbol.for('undici.globalDispatcher.2')
    const foreign = { dispatch: () => true }
    for (const slot of [place, placeOf8]) Reflect.set(globalThis, slot, foreign)
    Reflect.get(globalThis, 'Headers')
    const agent = new Agent({ connect })
    await ask(agent)
    await agent.close()
    // Theirs still stands there.
    say([place, placeOf8].map((slot) => Reflect.get(globalThis, slot) === foreign))
  },
  /** Other code has taken the place, and Node hasn't loaded its undici yet: the place is cleared for a moment. */
  async borrowed() {
    const place = Symbol.for('undici.globalDispatcher.1')
    const placeOf8 = Symbol.for('undici.globalDispatcher.2')
    const foreign = { dispatch: () => true }
    for (const slot of [place, placeOf8]) Reflect.set(globalThis, slot, foreign)
    const agent = new Agent({ connect })
    await ask(agent)
    await agent.close()
    say([place, placeOf8].map((slot) => Reflect.get(globalThis, slot) === foreign))
  },
  /** Node's own dispatcher goes by the environment's proxy; an Agent of the caller's goes where the caller said. */
  async proxy() {
    Reflect.get(globalThis, 'Headers')
    await ask(new Agent({ connect }))
    await ask(new EnvHttpProxyAgent({ connect }))
  },
  /** A great many sites by one agent and built-in fetch, each by its own protocol. */
  async sites() {
    const origins: string[] = JSON.parse(origin)
    const agent = new Agent({ connect })
    const seen: Record<string, Set<string>> = {}
    let failed = 0
    const visit = async (index: number): Promise<void> => {
      const site = origins[index % origins.length] ?? ''
      try {
        const response = await fetch(`${site}/${index}`, { dispatcher: agent } as RequestInit)
        seen[site] ??= new Set()
        const [what = '', path] = (await response.text()).split(' ')
        seen[site].add(path === `/${index}` ? what : `${what} to something else`)
      } catch (error) {
        failed++
        if (failed === 1) say(String(Object(error).cause))
      }
    }
    const rounds = 10
    for (let round = 0; round < rounds; round++) {
      const first = round * origins.length
      await Promise.all(origins.map((_, index) => visit(first + index)))
    }
    say({ failed, seen: origins.map((site) => [...(seen[site] ?? [])].join()) })
    await agent.close()
  },
}

await MODES[mode]?.()
