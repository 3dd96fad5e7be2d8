/**
 * Which behaviour applies to which request, and the list of behaviours.
 *
 * @module
 */

import type { RequestListener } from 'node:http'
import type { FaultConnection, FaultServer, FaultStream } from '../../testing/index.ts'
import { isLoopbackAuthority } from '../loopback/authority.ts'
import type { Behaviour, Play, Testing } from './behaviours.ts'
import { BEHAVIOURS } from './behaviours.ts'

const NOT_LOOPBACK = 'Use localhost, 127.0.0.1 or [::1].\n'
const NOT_FOUND = 'Not found. / lists all paths.\n'
const NOT_HTTP2 = 'These faults need HTTP/2: use curl --http2-prior-knowledge, for example.\n'
const TEXT = { 'content-type': 'text/plain; charset=utf-8' }

interface Route {
  readonly play: Play
  readonly at: 'header' | 'whole'
}

/** The behaviours of one server, with TLS or without. */
export class FaultRoutes {
  /** The text at `/`. */
  readonly list: string
  /** By {@link toKey}. */
  readonly #routes = new Map<string, Route>()

  constructor(testing: Testing, isSecure: boolean) {
    const entries: string[] = []
    for (const behaviour of BEHAVIOURS) {
      if (behaviour.needsTls === true && !isSecure) continue
      const routes = behaviour.toRoutes(testing)
      for (const [path, play] of routes) {
        this.#routes.set(toKey(path), { play, at: behaviour.at ?? 'whole' })
      }
      entries.push(toEntry(behaviour, [...routes.keys()]))
    }
    this.list = `How this server responds to a request over HTTP/2, by path.\n\n${entries.join('\n\n')}\n`
  }

  /** Adds its rules. */
  addTo(server: FaultServer): void {
    const play: Play = (stream, connection) => this.#play(stream, connection)
    // The newest of all rules that match is applied.
    server.onRequest('*', play)
    server.onRequest((stream) => this.#find(stream)?.at === 'header', play, { at: 'header' })
  }

  /** What HTTP/1.1 clients get: the list. */
  readonly onHttp1: RequestListener = (request, response) => {
    request.resume()
    const respond = (status: number, text: string): void => {
      response.writeHead(status, TEXT).end(request.method === 'HEAD' ? undefined : text)
    }
    if (!isLoopbackAuthority(request.headers.host)) respond(421, NOT_LOOPBACK)
    else if (toPath(request.url ?? '') === '/') respond(200, this.list)
    else respond(505, NOT_HTTP2)
  }

  #play(stream: FaultStream, connection: FaultConnection): unknown {
    if (!isLoopbackAuthority(stream.field(':authority') ?? stream.field('host'))) {
      return respondText(stream, 421, NOT_LOOPBACK)
    }
    // The server isn't a proxy.
    if (stream.method === 'CONNECT') return stream.respond({ status: 501, body: null })
    const route = this.#find(stream)
    if (route !== undefined) return route.play(stream, connection)
    if (toPath(stream.path) === '/') return respondText(stream, 200, this.list)
    return respondText(stream, 404, NOT_FOUND)
  }

  #find({ path }: FaultStream): Route | undefined {
    return this.#routes.get(toKey(toPath(path)))
  }
}

function respondText(stream: FaultStream, status: number, text: string): Promise<boolean> {
  return stream.respond({ status, headers: TEXT, body: stream.method === 'HEAD' ? null : text })
}

/** Without the query. */
function toPath(target: string): string {
  return target.split('?')[0] ?? ''
}

/** Error codes may also be in lower case, and with hyphens. */
function toKey(path: string): string {
  return path.toLowerCase().replaceAll('_', '-')
}

/** A behaviour in the list, with a family's paths. */
function toEntry({ path, does, rightClient }: Behaviour, paths: readonly string[]): string {
  const lines = [path, `    ${does}`, `    A correct client ${rightClient}`]
  if (paths.length > 1) lines.push(...paths.map((each) => `    ${each}`))
  return lines.join('\n')
}
