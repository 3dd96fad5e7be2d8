/** The members of a Response of fetch, compared with one of Node's own. */

import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import type { Rig } from './body-support-rig.ts'
import { sendBytes, startRig, toReason, toStream } from './body-support-rig.ts'

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
      if (stream.path === '/open') {
        stream.head(200)
      } else if (stream.path === '/empty') {
        stream.head(204, [['content-encoding', 'gzip']])
        stream.end()
      } else if (stream.path === '/module') {
        stream.head(200, [['content-type', 'application/wasm']])
      } else {
        stream.head(200, [
          ['content-type', 'text/plain'],
          ['set-cookie', 'a=1'],
          ['set-cookie', 'b=2'],
        ])
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

  it('assigning to what is read-only throws, in strict mode', async () => {
    const response = await get()
    expect(() => Object.assign(response, { status: 1 })).toThrow(TypeError)
    expect(response.status).toBe(200)
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

describe('when its headers are read', () => {
  it('they are Headers', async () => {
    const { headers } = await get()
    expect(headers).toBeInstanceOf(Headers)
    expect(headers.constructor).toBe(Headers)
    expect(Object.prototype.toString.call(headers)).toBe('[object Headers]')
    expect([...headers]).toEqual([
      ['content-type', 'text/plain'],
      ['set-cookie', 'a=1'],
      ['set-cookie', 'b=2'],
    ])
    expect(headers.getSetCookie()).toEqual(['a=1', 'b=2'])
    expect(headers.has('x-none')).toBe(false)
    expect(headers.get('x-none')).toBe(null)
    expect(inspect(headers)).toContain('text/plain')
  })

  it('they are the same ones each time', async () => {
    const response = await get()
    expect(response.headers).toBe(response.headers)
  })

  it.each(['append', 'set', 'delete'] as const)('%s() throws, and changes nothing', async (method) => {
    const { headers } = await get()
    expect(() => headers[method]('content-type', 'b')).toThrow(TypeError)
    expect(headers.get('content-type')).toBe('text/plain')
  })

  it('a copy can be changed', async () => {
    const { headers } = await get()
    const copy = new Headers(headers)
    copy.set('content-type', 'b')
    copy.append('set-cookie', 'c=3')
    expect(copy.getSetCookie()).toEqual(['a=1', 'b=2', 'c=3'])
    expect(headers.get('content-type')).toBe('text/plain')
    expect(Object.fromEntries(new Response(null, { headers }).headers)).toMatchObject({
      'content-type': 'text/plain',
    })
    expect(new Request('http://localhost', { headers }).headers.get('content-type')).toBe('text/plain')
  })
})

describe('when it is made into another Response', () => {
  it('by the stream and by itself as init', async () => {
    const response = await get()
    const other = new Response(response.body, response)
    expect([other.status, other.headers.get('content-type')]).toEqual([200, 'text/plain'])
    expect(await other.text()).toBe(WHOLE)
    expect(response.bodyUsed).toBe(true)
  })

  it('by a stream that has been piped through another', async () => {
    const response = await get()
    const piped = toStream(response).pipeThrough(new TransformStream())
    expect(await new Response(piped, response).text()).toBe(WHOLE)
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

describe('when its body is read', () => {
  it('it is the same stream each time, of bytes, and neither used nor locked', async () => {
    const response = await get()
    const { body } = response
    expect(body).toBeInstanceOf(ReadableStream)
    expect(response.body).toBe(body)
    expect([body?.locked, response.bodyUsed]).toEqual([false, false])
    body?.getReader({ mode: 'byob' }).releaseLock()
    expect(await response.text()).toBe(WHOLE)
  })

  it('a reader that has read nothing locks it, and it counts as unused', async () => {
    const response = await get()
    const reader = toStream(response).getReader()
    expect([response.body?.locked, response.bodyUsed]).toEqual([true, false])
    expect(await toReason(response.text())).toBeInstanceOf(TypeError)
    expect(() => response.clone()).toThrow(TypeError)
    reader.releaseLock()
    expect(await response.text()).toBe(WHOLE)
  })

  it('it counts as used after one read', async () => {
    const response = await get()
    const reader = toStream(response).getReader()
    await reader.read()
    reader.releaseLock()
    expect(response.bodyUsed).toBe(true)
    expect(await toReason(response.text())).toBeInstanceOf(TypeError)
    expect(() => response.clone()).toThrow(TypeError)
  })

  it('text() uses and locks it at once, and only once', async () => {
    const rig = await start()
    const response = await rig.get('/open')
    const before = response.body
    const text = response.text()
    expect([response.bodyUsed, response.body?.locked, response.body === before]).toEqual([true, true, true])
    expect(await toReason(response.text())).toBeInstanceOf(TypeError)
    expect(() => response.clone()).toThrow(TypeError)
    expect(() => response.body?.getReader()).toThrow(TypeError)
    rig.peer.request('/open').end('text')
    expect(await text).toBe('text')
    expect([response.bodyUsed, response.body?.locked]).toEqual([true, true])
  })

  it('a stream that is made after text() is locked', async () => {
    const response = await get()
    await response.text()
    expect([response.bodyUsed, response.body?.locked]).toEqual([true, true])
    expect(await toReason(response.body?.cancel() ?? Promise.resolve())).toBeInstanceOf(TypeError)
  })

  it('a 204 has none, and is read as empty, again and again', async () => {
    const response = await get('/empty')
    expect(response.body).toBe(null)
    expect(await response.text()).toBe('')
    expect((await response.arrayBuffer()).byteLength).toBe(0)
    expect((await response.clone().blob()).size).toBe(0)
    expect(response.bodyUsed).toBe(false)
  })
})
