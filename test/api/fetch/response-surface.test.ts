/** The members of a Response of fetch, compared with one of Node's own. */

import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import type { Rig } from './body-support-rig.ts'
import { sendBytes, startRig, toReason } from './body-support-rig.ts'

/** The smallest module: its magic number and its version. */
const MODULE = Buffer.from([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0])

/** TypeScript knows it in browsers alone. */
const { compileStreaming, Module } = Reflect.get(globalThis, 'WebAssembly') as {
  compileStreaming(source: Promise<Response>): Promise<object>
  Module: new (bytes: Uint8Array) => object
}

const WHOLE = 'GET /whole'

function start(): Promise<Rig> {
  return startRig({
    onRequest(stream) {
      if (stream.path === '/module') {
        stream.head(200, [['content-type', 'application/wasm']])
      } else {
        stream.head(200, [['content-type', 'text/plain']])
        stream.end(stream.toString())
      }
    },
  })
}

async function get(path = '/whole'): Promise<Response> {
  return (await start()).get(path)
}

function names(value: object): string[] {
  const all: string[] = []
  for (const name in value) all.push(name)
  return all
}

/** Its value, or the error that it throws. */
async function toOutcome(call: () => Promise<unknown>): Promise<unknown> {
  try {
    return await call()
  } catch (error) {
    return error
  }
}

/** How a member of an object is described, wherever in its chain. */
function describeMember(value: object, name: string): unknown {
  for (let at: object | null = value; at !== null; at = Object.getPrototypeOf(at)) {
    const member = Object.getOwnPropertyDescriptor(at, name)
    if (member === undefined) continue
    const { enumerable, configurable, writable } = member
    const kinds = [member.value, member.get, member.set].map((one) => typeof one)
    const { name: own, length } = (member.value ?? member.get) as { name: string; length: number }
    return { enumerable, configurable, writable, kinds, own, length }
  }
  return null
}

describe('when the members of a Response are read', () => {
  it('it is one of the global class', async () => {
    const response = await get()
    expect(response).toBeInstanceOf(Response)
    expect(response.constructor).toBe(Response)
    expect(Object.prototype.toString.call(response)).toBe('[object Response]')
    expect(Reflect.get(response, Symbol.toStringTag)).toBe('Response')
    expect(`${response}`).toBe('[object Response]')
  })

  it('it has no members of its own', async () => {
    const response = await get()
    expect(Reflect.ownKeys(response)).toEqual([])
    expect(JSON.stringify(response)).toBe(JSON.stringify(new Response()))
  })

  it("`for in` gives the names that one of Node's own has", async () => {
    expect(names(await get()).sort()).toEqual(names(new Response()).sort())
  })

  it.each(names(Response.prototype))("%s is described as that of Node's own", async (name) => {
    expect(describeMember(await get(), name)).toEqual(describeMember(new Response(), name))
  })

  it('inspect() shows its status, its URL and its headers', async () => {
    const response = await get()
    const shown = inspect(response)
    expect(shown).toContain('status: 200')
    expect(shown).toContain('/whole')
    expect(shown).toContain('text/plain')
    expect(inspect(response, { depth: 0 })).toContain('Response')
    expect(inspect(response, { showHidden: true })).toContain('Response')
    expect(await response.text()).toBe(WHOLE)
  })

  it('its methods throw for another object', async () => {
    const response = await get()
    expect(Reflect.get(response, 'status')).toBe(200)
    expect(await toReason((async () => Reflect.apply(response.text, {}, []))())).toBeInstanceOf(TypeError)
  })

  it('its prototype has no state', async () => {
    const prototype = Object.getPrototypeOf(await get())
    expect(() => prototype.status).toThrow(TypeError)
  })
})

describe("when a method of Node's own is called on it", () => {
  it.each([
    'text',
    'json',
    'arrayBuffer',
    'blob',
    'formData',
  ] as const)('Response.prototype.%s() gives the right value, or a TypeError', async (method) => {
    const response = await get(method === 'json' ? '/"json"' : '/whole')
    const outcome = await toOutcome(() => Reflect.apply(Response.prototype[method], response, []))
    if (outcome instanceof Error) expect(outcome.name).toMatch(/^(Type|Syntax)Error$/)
    else if (method === 'text') expect(outcome).toBe(WHOLE)
    else expect(Object(outcome)).toMatchObject(method === 'blob' ? { size: 10 } : { byteLength: 10 })
  })

  it('Response.prototype.clone() gives the right value, or a TypeError', async () => {
    const response = await get()
    const copy = await toOutcome(async () => Reflect.apply(Response.prototype.clone, response, []).text())
    if (copy instanceof Error) expect(copy).toBeInstanceOf(TypeError)
    else expect(copy).toBe(WHOLE)
    const text = await toOutcome(() => response.text())
    if (text instanceof Error) expect(text).toBeInstanceOf(TypeError)
    else expect(text).toBe(WHOLE)
  })

  it('the getter of its status gives the right value, or a TypeError', async () => {
    const response = await get()
    const getter = Object.getOwnPropertyDescriptor(Response.prototype, 'status')?.get
    if (getter === undefined) throw new Error('There is none')
    const status = await toOutcome(async () => Reflect.apply(getter, response, []))
    if (status instanceof Error) expect(status).toBeInstanceOf(TypeError)
    else expect(status).toBe(200)
  })
})

describe('when it is a WebAssembly module', () => {
  it('compileStreaming() takes it', async () => {
    const rig = await start()
    const compiled = compileStreaming(rig.get('/module'))
    await rig.arrived('/module')
    sendBytes(rig, '/module', MODULE.subarray(0, 3))
    await rig.roundTrip()
    sendBytes(rig, '/module', MODULE.subarray(3))
    rig.peer.request('/module').end()
    expect(await compiled).toBeInstanceOf(Module)
  })

  it('compileStreaming() refuses one of another type', async () => {
    expect(await toReason(compileStreaming(get()))).toBeInstanceOf(TypeError)
  })
})
