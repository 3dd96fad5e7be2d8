/** What Dodici does on Bun, as far as Node can show it: the name of the runtime is Bun's, and undici isn't built in. */

import { afterAll, describe, expect, it, vi } from 'vitest'

const { restore } = vi.hoisted(() => {
  // Node loads its undici when this is read, and not again.
  Reflect.get(globalThis, 'Headers')
  const slots = [1, 2].map((version) => Symbol.for(`undici.globalDispatcher.${version}`))
  const filled = slots.filter((slot) => Reflect.get(globalThis, slot) !== undefined)
  const before = filled.map((slot) => [slot, Reflect.get(globalThis, slot)] as const)
  for (const slot of filled) Reflect.set(globalThis, slot, undefined)
  return {
    restore: () => {
      for (const [slot, dispatcher] of before) Reflect.set(globalThis, slot, dispatcher)
    },
  }
})

vi.mock('../../../src/core/runtime.ts', async (load) => ({ ...(await load<object>()), RUNTIME: 'Bun' }))

import { systemClock } from '../../../src/core/clock.ts'
import { errors, install } from '../../../src/index.ts'
import { toClientOptions } from '../../../src/options/options.ts'
import { BuiltinFallback } from '../../../src/scheduler/fallback/builtin-fallback.ts'
import { startClient } from '../../support/clients/agents.ts'
import { read } from '../../support/servers/server.ts'

afterAll(restore)

describe('the engine', () => {
  it("is 'wire' by default", () => {
    expect(toClientOptions({}).engine).toBe('wire')
  })

  it('is the one that is named', () => {
    expect(toClientOptions({ engine: 'node' }).engine).toBe('node')
  })
})

describe('install()', () => {
  it('says that the fetch is no undici', () => {
    expect(() => install()).toThrow(errors.NotSupportedError)
    expect(() => install()).toThrow(/Bun .*globalThis\.fetch/)
  })
})

describe('the fallback', () => {
  it('says that no undici is built in', () => {
    const fallback = new BuiltinFallback(toClientOptions({}), systemClock)
    const dispatch = () => fallback.dispatch({ origin: 'http://localhost', path: '/', method: 'GET' }, {})
    expect(dispatch).toThrow(errors.NotSupportedError)
    expect(dispatch).toThrow(
      /^This request needs HTTP\/1\.1, but Bun has no built-in undici.* set the fallback/,
    )
  })
})

describe('trailers of a request', () => {
  async function send(engine: 'node' | 'wire'): Promise<string> {
    const { client } = await startClient(
      async (stream) => {
        let trailer = 'none'
        stream.on('trailers', (trailers) => {
          trailer = String(trailers['x-trailer'])
        })
        await read(stream)
        stream.respond()
        stream.end(trailer)
      },
      { engine },
    )
    const trailers = { 'x-trailer': 'sent' }
    const { body } = await client.request({ path: '/', method: 'POST', body: 'some', trailers })
    return body.text()
  }

  it('are refused with engine node, which would drop them', async () => {
    await expect(send('node')).rejects.toThrow(errors.NotSupportedError)
    await expect(send('node')).rejects.toThrow("set engine: 'wire'")
  })

  it('are sent with engine wire', async () => {
    await expect(send('wire')).resolves.toBe('sent')
  })
})
