/**
 * The hostile server's side of an attack. No test runner.
 *
 * A client sends `/sibling`, then the request of the attack, `/attack/NAME?bytes=N`. The peer sends about so many bytes
 * of it. If the connection is still open when the client has read all of that, the peer responds to both requests.
 */

import type { ConnectionScript, FaultConnection } from '../../../src/testing/fault-connection.ts'
import type { FaultStream } from '../../../src/testing/fault-stream.ts'
import type { Attack } from './attacks.ts'
import { ATTACKS } from './attacks.ts'

/** Of one write. Bytes. */
const WRITE = 65_536

/** The path of an attack's request. */
export function toPath({ name }: Attack, bytes: number): string {
  return `/attack/${encodeURIComponent(name)}?bytes=${bytes}`
}

function toAttack(stream: FaultStream): { attack: Attack; bytes: number } | null {
  const [path = '', query = ''] = stream.path.split('?')
  const attack = ATTACKS.find(({ name }) => path === `/attack/${encodeURIComponent(name)}`)
  return attack === undefined ? null : { attack, bytes: Number(new URLSearchParams(query).get('bytes')) }
}

/** Sends the rounds, as fast as the client reads them. */
async function pour(connection: FaultConnection, id: number, attack: Attack, bytes: number): Promise<void> {
  const { round, varies = false } = attack
  if (round === undefined) return
  const first = round(id, 0)
  // No round is cut.
  const rounds = Math.ceil(Math.min(WRITE, bytes) / first.length)
  const repeated = Buffer.concat(Array.from({ length: rounds }, () => first))
  for (let sent = 0, count = 0; sent < bytes && !connection.isClosed; count++) {
    const chunk = varies ? round(id, count) : repeated
    sent += chunk.length
    await connection.writeCut(chunk)
  }
}

/** Settles at the client's RST_STREAM. */
async function untilReset(stream: FaultStream, connection: FaultConnection): Promise<void> {
  while (stream.resetCode === null && !connection.isClosed) await connection.ping()
}

async function play(attack: Attack, bytes: number, stream: FaultStream, connection: FaultConnection) {
  const { ahead, isDeaf = false, end = 'end' } = attack
  if (isDeaf) connection.socket.pause()
  if (ahead !== undefined) connection.write(ahead(stream.id))
  if (attack.reader === 'aborts') await untilReset(stream, connection)
  await pour(connection, stream.id, attack, bytes)
  // A client that uploads, or repeats its request, says itself when it is done.
  if (attack.reader === 'uploads' || attack.reader === 'repeats') return
  if (isDeaf) connection.socket.resume()
  await connection.ping()
  if (end !== null) stream.end(end)
  respondToSiblings(connection)
}

function respondToSiblings(connection: FaultConnection): void {
  for (const stream of connection.streams) {
    if (stream.path === '/sibling' && stream.isOpen) stream.respond('sibling')
  }
}

/** A peer that plays the attacks that its clients ask for, with the SETTINGS of this one. */
export function toAttackScript({ settings = [] }: Attack): ConnectionScript {
  return {
    settings,
    onRequest(stream, connection) {
      const found = toAttack(stream)
      if (found !== null) void play(found.attack, found.bytes, stream, connection)
      else if (stream.path !== '/sibling') stream.respond(stream.path)
      if (stream.path === '/done') respondToSiblings(connection)
    },
  }
}
