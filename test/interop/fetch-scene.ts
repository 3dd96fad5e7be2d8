/** A case, and its scene. */

import { randomUUID } from 'node:crypto'
import { expect, onTestFinished } from 'vitest'
import { Agent } from '../../src/index.ts'
import type { AnyInit, AnyResponse, NamedFetch } from './fetch-fetches.ts'
import type { InteropServer, ServerName } from './fetch-servers.ts'

export interface Case {
  readonly what: string
  /** Those that can make it. */
  readonly servers: readonly ServerName[]
  run(scene: Scene): Promise<void>
}

/** The init of a case, besides the dispatcher. */
export type Init = Omit<AnyInit, 'dispatcher'>

/** One case, with an agent of its own. */
export class Scene {
  readonly agent: Agent
  readonly server: InteropServer
  readonly name: ServerName
  readonly FormData: NamedFetch['FormData']
  /** Not a method, which would get this scene as its `this`. */
  readonly #fetch: NamedFetch['fetch']

  constructor(name: ServerName, server: InteropServer, { fetch, FormData }: NamedFetch) {
    this.name = name
    this.server = server
    this.FormData = FormData
    this.#fetch = fetch
    this.agent = new Agent({ connect: { ca: server.ca } })
    onTestFinished(() => this.agent.destroy())
  }

  /** The response, which came over HTTP/2: its server says so. */
  async ask(path: string, init: Init = {}, origin = this.server.origin): Promise<AnyResponse> {
    const fetch = this.#fetch
    const response = await fetch(`${origin}${path}`, { ...init, dispatcher: this.agent })
    const { name, value } = this.server.proof
    expect(response.headers.get(name)).toMatch(value)
    return response
  }

  async askText(path: string, init: Init = {}): Promise<string> {
    return await (await this.ask(path, init)).text()
  }

  /** For an exchange: the server reports its events. */
  toName(): string {
    return randomUUID()
  }
}

/** Which connection brought the request of this response. */
export function toConnection(response: AnyResponse): string | null {
  return response.headers.get('x-connection')
}
