/** A peer that plays responses and breaks them, for exchanges that run side by side on connections of their own. */

import { setImmediate as turn } from 'node:timers/promises'
import { Agent } from '../../../src/index.ts'
import type { FaultConnection } from '../../../src/testing/fault-connection.ts'
import type { FaultServer } from '../../../src/testing/fault-server.ts'
import type { FaultStream } from '../../../src/testing/fault-stream.ts'
import { Setting } from '../../../src/testing/frames.ts'
import type { AgentOptions } from '../../../types/index.ts'
import { destroyWithTest } from '../../support/clients/agents.ts'
import type { ENGINES } from '../../support/clients/engines.ts'
import { startPeer, toConnector } from '../../support/peers/peer-rig.ts'
import { toTlsPeer } from '../../support/peers/peer-tls.ts'
import type { Break, Response } from './cases.ts'
import { breakConnection } from './cases.ts'
import type { Reader } from './readers.ts'

export type Engine = (typeof ENGINES)[number]

/** What lies below HTTP/2. */
export type Transport = 'TCP' | 'TLS' | 'Duplex'

/** How the peer's bytes are cut into segments: all in one; response and break; or after so many bytes. */
export type Cut = 'one segment' | 'two segments' | number

/** One exchange that is to be played. */
export interface Play {
  readonly reader: Reader
  readonly response: Response
  readonly broken: Break
  readonly cut: Cut
}

/** Milliseconds: a reader without an ending by then waits for ever. Far longer than an exchange takes on a busy machine. */
const PATIENCE = 90_000

/** Turns of the event loop in which a second ending would be reported. */
const QUIET_TURNS = 4

/** A peer, and the exchanges that run on it. */
export class Stage {
  readonly #peer: FaultServer
  readonly #options: AgentOptions
  readonly #plays: Map<string, Play>
  #count = 0

  private constructor(peer: FaultServer, options: AgentOptions, plays: Map<string, Play>) {
    this.#peer = peer
    this.#options = options
    this.#plays = plays
  }

  /** @param engine undefined: its clients name none */
  static async start(engine: Engine | undefined, transport: Transport): Promise<Stage> {
    const tls = transport === 'TLS' ? await toTlsPeer() : null
    const plays = new Map<string, Play>()
    const script = {
      settings: [[Setting.ENABLE_CONNECT_PROTOCOL, 1]] as const,
      onRequest: (stream: FaultStream, connection: FaultConnection) => {
        const name = stream.field(':path') ?? `/${stream.field(':authority')?.split('.')[0]}`
        const play = plays.get(name)
        if (play !== undefined) void perform(play, stream, connection)
      },
    }
    const peer = await startPeer(script, tls?.options ?? {})
    const connect = tls === null ? {} : { connect: { ca: tls.ca } }
    const relayed = transport === 'Duplex' ? { connect: toConnector(peer) } : {}
    const options = { engine, h2c: true, fallback: null, replaySafe: false, pingInterval: 0 }
    return new Stage(peer, { ...options, ...connect, ...relayed }, plays)
  }

  /** Plays one exchange. @returns the ending that its reader has reported */
  async play(play: Play): Promise<string[]> {
    const name = `play-${this.#count++}`
    const heard: string[] = []
    const agent = destroyWithTest(new Agent(this.#options))
    const path = `/${name}`
    this.#plays.set(path, play)
    const exchange = { agent, origin: this.#peer.origin, path, authority: `${name}.example:443`, heard }
    await withPatience(play.reader(exchange), heard)
    for (let left = QUIET_TURNS; left > 0; left--) await turn()
    await agent.destroy()
    await turn()
    return heard
  }
}

async function withPatience(reading: Promise<void>, heard: string[]): Promise<void> {
  let impatience: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    impatience = setTimeout(() => {
      heard.push('nothing')
      resolve()
    }, PATIENCE)
  })
  await Promise.race([reading, late])
  clearTimeout(impatience)
}

async function perform(
  { response, broken, cut }: Play,
  { id }: FaultStream,
  connection: FaultConnection,
): Promise<void> {
  const first = response.toBytes(id)
  const last = broken.toBytes(id)
  if (cut === 'one segment') {
    connection.write(...first, ...last)
  } else if (cut === 'two segments') {
    connection.write(...first)
    // The client has read the response, and its caller has it.
    await connection.ping()
    if (last.length > 0) connection.write(...last)
  } else {
    await connection.writeCut(Buffer.concat([...first, ...last]), cut)
  }
  breakConnection(connection, broken)
}
