/** What each server of `scene-servers.ts` is asked, on each engine. */

import { crc32 } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ClientOptions } from '../../src/index.ts'
import { Client } from '../../src/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { Cleaner } from './fetch-servers.ts'
import type { SceneServer, SceneServerName } from './scene-servers.ts'
import { lacksScene, SCENE_START_LIMIT, startScene } from './scene-servers.ts'

const LARGE = 5_000_000
/** Milliseconds: a body that stalls fails its test before the test's own limit. */
const STALL = 10_000
const PIECE = 16_000

/** One client on one engine, and its server. */
export class SceneRig {
  readonly engine: (typeof ENGINES)[number]
  readonly #toServer: () => SceneServer

  constructor(engine: (typeof ENGINES)[number], toServer: () => SceneServer) {
    this.engine = engine
    this.#toServer = toServer
  }

  get server(): SceneServer {
    return this.#toServer()
  }

  /** A client that ends with the test. */
  toClient(options: ClientOptions = {}): Client {
    const client = destroyWithTest(
      new Client(`http://127.0.0.1:${this.server.port}`, {
        bodyTimeout: STALL,
        uploadTimeout: STALL,
        engine: this.engine,
        ...options,
      }),
    )
    return client
  }
}

/** The octets that `/down` responds. */
export function toBytes(size: number): Buffer {
  const bytes = Buffer.alloc(size)
  for (let at = 0; at < size; at++) bytes[at] = at % 251
  return bytes
}

/** What `/up` responds. */
export function toSum(body: Buffer): string {
  return `${body.length} ${crc32(body)}`
}

/** Sends a body, and yields the response. */
export async function post(
  client: Client,
  path: string,
  body: Buffer | AsyncIterable<Buffer>,
): Promise<string> {
  const response = await client.request({ path, method: 'POST', body })
  return `${response.statusCode} ${await response.body.text()}`
}

/** Whether a body of so many octets came down as it should. */
export async function comesDown(client: Client, size: number): Promise<boolean> {
  const { statusCode, body } = await client.request({ path: `/down?${size}`, method: 'GET' })
  return statusCode === 200 && toBytes(size).equals(Buffer.from(await body.arrayBuffer()))
}

/** The same body, piece by piece. */
export async function* toPieces(body: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < body.length; at += PIECE) yield body.subarray(at, at + PIECE)
}

/** Sends a body that isn't read, and yields the response. @param pieces Infinity: all of them; else the body never ends */
async function postEarly(client: Client, body: Buffer, pieces: number): Promise<string> {
  if (pieces === Number.POSITIVE_INFINITY) return await post(client, '/early', toPieces(body))
  let release = (): void => {}
  const response = new Promise<void>((resolve) => {
    release = resolve
  })
  async function* toBeginning(): AsyncGenerator<Buffer> {
    yield* toPieces(body.subarray(0, pieces * PIECE))
    await response
  }
  try {
    return await post(client, '/early', toBeginning())
  } finally {
    release()
  }
}

/** @param test adds tests to those that each server has */
export function describeScene(name: SceneServerName, test: (rig: SceneRig) => void = () => {}): void {
  describe.skipIf(lacksScene(name))(name, () => {
    const cleaner = new Cleaner()
    let server: SceneServer

    beforeAll(async () => {
      server = await startScene(name, cleaner)
    }, SCENE_START_LIMIT)
    afterAll(() => cleaner.clean())

    describe.each(ENGINES)('engine %s', (engine) => {
      const rig = new SceneRig(engine, () => server)
      addCases(rig, name)
      test(rig)
    })
  })
}

/**
 * Servers that engine node doesn't always get large uploads to (docs/differences.md): Undertow may stand still with a
 * frame of each of several bodies, and Tomcat counts small DATA frames as overhead.
 */
const NOT_FOR_NODE: readonly SceneServerName[] = ['Undertow', 'Tomcat']

/**
 * Pieces of each body that isn't read; Infinity without an entry. Jetty ends a connection that brings more than 128
 * useless frames in a second (WindowRateControl), and DATA of a stream that it has reset is one. A client can't know of
 * the reset before it comes, and Jetty's windows let it send 33 frames of each body until then: 330 of ten bodies. Of
 * four pieces each there are 80 at most, where engine node cuts each in two, and ten RST_STREAM.
 */
const EARLY_PIECES: Partial<Record<SceneServerName, number>> = { Jetty: 4 }

function addCases(rig: SceneRig, name: SceneServerName): void {
  it('responds to 300 GETs and POSTs at once', async () => {
    const client = rig.toClient()
    const calls = Array.from({ length: 300 }, async (_none, index) => {
      const size = (index * 37) % 3_000
      if (index % 2 === 0) return await comesDown(client, size)
      const body = toBytes(size)
      return (await post(client, '/up', body)) === `200 ${toSum(body)}`
    })
    expect(new Set(await Promise.all(calls))).toEqual(new Set([true]))
    expect(client.stats).toMatchObject({ running: 0, size: 0 })
  })

  if (rig.engine === 'node' && NOT_FOR_NODE.includes(name)) return

  it('takes 5 MB at once, 5 MB piece by piece, and sends as much meanwhile', async () => {
    const client = rig.toClient()
    const body = toBytes(LARGE)
    const [whole, pieces, came] = await Promise.all([
      post(client, '/up', body),
      post(client, '/up', toPieces(body)),
      comesDown(client, LARGE),
    ])
    expect([whole, pieces, came]).toEqual([`200 ${toSum(body)}`, `200 ${toSum(body)}`, true])
  })

  it('responds before it has read a body, and goes on with others', async () => {
    const client = rig.toClient()
    const body = toBytes(LARGE)
    const pieces = EARLY_PIECES[name] ?? Number.POSITIVE_INFINITY
    const early = Array.from({ length: 10 }, () => postEarly(client, body, pieces))
    const others = Array.from({ length: 10 }, () => comesDown(client, 20_000))
    expect(new Set(await Promise.all(early))).toEqual(new Set(['413 too much']))
    expect(new Set(await Promise.all(others))).toEqual(new Set([true]))
    expect(await post(client, '/up', body)).toBe(`200 ${toSum(body)}`)
    expect(client.stats).toMatchObject({ running: 0, size: 0 })
  })
}
