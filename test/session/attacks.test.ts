import { describe, expect, it } from 'vitest'
import * as dodici from '../../src/index.ts'
import { Flag, frames, Type } from '../../src/testing/frames.ts'
import type { AttackOptions, AttackOutcome } from '../support/clients/attack-client.ts'
import { sufferAttack } from '../support/clients/attack-client.ts'
import { bundle } from '../support/clients/bundled.ts'
import { runNode } from '../support/clients/child.ts'
import { toAttackScript } from '../support/peers/attack-peer.ts'
import type { Attack } from '../support/peers/attacks.ts'
import { ATTACKS } from '../support/peers/attacks.ts'
import { ask, startHarness, startPeer } from '../support/peers/peer-rig.ts'
import { toTlsPeer } from '../support/peers/peer-tls.ts'

/** What is sent of each attack: some 30,000 of the smallest frames. */
const BYTES = 300_000
const CALLS = 20
const PATIENCE = 30_000

/** The budget of frames without effect has ended the connection: both calls fail. Bytes. */
const CALM = { outcome: 'SocketError, ENHANCE_YOUR_CALM', isLethal: true, most: 250_000 } as const
const SERVED = { outcome: 'end', isLethal: false, most: Number.POSITIVE_INFINITY } as const

interface Expected {
  /** How the attacked call ends; one of these ways, where that depends on how its bytes are cut into reads. */
  readonly outcome: string | readonly string[]
  /** Whether the connection ends, and the sibling's call with it. Null: that depends on how much was sent before. */
  readonly isLethal: boolean | null
  /** What the client reads before that, at most. Bytes. */
  readonly most: number
}

const only = (outcome: string): Expected => ({ ...SERVED, outcome })

/** On engine `wire`. */
const ON_WIRE: Readonly<Record<string, Expected>> = {
  SETTINGS: CALM,
  'SETTINGS that change windows': CALM,
  'SETTINGS that change the table': CALM,
  PING: CALM,
  'PING, no ACK is read': CALM,
  'ACKs of PINGs': CALM,
  'empty DATA': CALM,
  'DATA of padding alone': CALM,
  PRIORITY: CALM,
  WINDOW_UPDATE: CALM,
  // The first frame ends the call, unless as many as end the connection come in the same read.
  RST_STREAM: { ...CALM, outcome: [CALM.outcome, 'StreamError, CANCEL'] },
  GOAWAY: CALM,
  'unknown frames, small': CALM,
  'unknown frames, large': SERVED,
  ORIGIN: SERVED,
  PUSH_PROMISE: { ...CALM, outcome: 'SocketError, PROTOCOL_ERROR' },
  'empty CONTINUATION': CALM,
  // A block of 1 MiB at most, so that all of this attack is read here. It has no end: the PING behind it breaks a rule.
  'CONTINUATION without an end': { ...CALM, outcome: 'SocketError, PROTOCOL_ERROR', most: 2 * BYTES },
  'informational responses': { ...CALM, outcome: 'HeadersCountError' },
  'HPACK bomb': only('HeadersOverflowError'),
  'many fields': only('HeadersCountError'),
  'trailer section of 1 MB': only('HeadersOverflowError'),
  'malformed responses': only('StreamError, PROTOCOL_ERROR'),
  'responses that are reset': only('StreamError, CANCEL'),
  'requests that are refused': only('StreamError, REFUSED_STREAM'),
  'DATA of 1 byte': only('32773 bytes'),
  'DATA of 1 byte, unread': only('held'),
  'DATA of 1 byte between junk': only('299 bytes'),
  'DATA of 1 byte between junk, unread': only('held'),
  'DATA of 1 byte after an abort': { ...SERVED, outcome: 'Enough', isLethal: null },
  'DATA of 16 KiB after an abort': only('Enough'),
  'trailer sections after an abort': only('Enough'),
  'decompression bomb, unread': only('200'),
  'decompression bomb, five layers, unread': only('200'),
  'decompression bomb, with maxResponseSize': only('TypeError: ResponseExceededMaxSizeError'),
  'a window of 0 for an upload': only('UploadTimeoutError'),
  'a socket that is not read': { ...SERVED, outcome: 'UploadTimeoutError', isLethal: true },
}

async function suffer(attack: Attack, engine: 'node' | 'wire') {
  const tls = attack.isTls === true ? (await toTlsPeer()).options : {}
  const peer = await startPeer(toAttackScript(attack), tls)
  const { origin } = peer
  const options = { origin, engine, bytes: BYTES, calls: CALLS, patience: PATIENCE }
  return sufferAttack(dodici, attack, options)
}

describe('the attacks', () => {
  it('are those that are expected', () => {
    expect(Object.keys(ON_WIRE)).toEqual(ATTACKS.map(({ name }) => name))
  })
})

describe('a hostile peer, on engine wire', () => {
  it.each(
    ATTACKS,
  )('that sends $name › ends in what is promised, and the next call is served', async (attack) => {
    const { call, sibling, next, bytesRead } = await suffer(attack, 'wire')
    const expected = ON_WIRE[attack.name]
    expect([expected?.outcome].flat()).toContain(call)
    if (expected?.isLethal !== false) expect(sibling).toMatch(/^SocketError|^sibling$/)
    if (expected?.isLethal !== null) expect(sibling === 'sibling').toBe(expected?.isLethal === false)
    expect(bytesRead).toBeLessThan(expected?.most ?? 0)
    expect(next).toBe('/next')
  })
})

/** What differs between lines of Node. On engine `node` a flood may be read to its end: nghttp2 decides. */
const ON_NODE = /^(end|200|held|Enough|\d+ bytes|[A-Z]\w+(, [A-Z_]+)?|TypeError: \w+)$/

/** Node itself may abort over these (docs/differences.md): then it is a process of its own that ends. */
const ABORTING = ['empty CONTINUATION', 'CONTINUATION without an end']
const NODE_ABORT = 'Assertion failed: (current_nghttp2_memory_) == (0)'
const toChild = bundle({ attack: new URL('./children/attack.ts', import.meta.url) })

function expectOnNode({ call, sibling, next }: AttackOutcome): void {
  expect(call).toMatch(ON_NODE)
  expect(sibling).toMatch(/^(sibling|SocketError.*)$/)
  expect(next).toBe('/next')
}

describe('a hostile peer, on engine node', () => {
  it.each(
    ATTACKS.filter(({ name }) => !ABORTING.includes(name)),
  )('that sends $name › leaves no call hanging, and the next call is served', async (attack) => {
    expectOnNode(await suffer(attack, 'node'))
  })

  it.each(
    ATTACKS.filter(({ name }) => ABORTING.includes(name)),
  )('that sends $name › leaves no call hanging, unless Node itself aborts', async (attack) => {
    const { origin } = await startPeer(toAttackScript(attack))
    const options: AttackOptions = {
      ...{ origin, engine: 'node', bytes: BYTES, calls: CALLS, patience: PATIENCE },
    }
    const { signal, stdout, stderr } = await runNode(toChild('attack'), attack.name, JSON.stringify(options))
    if (signal === null) expectOnNode(JSON.parse(stdout))
    else expect(stderr).toContain(NODE_ABORT)
  })

  it.each([
    // Node would keep them all.
    { what: 'claims more origins than a server has', name: 'ORIGIN' },
    { what: 'sends GOAWAY again and again', name: 'GOAWAY' },
  ])('that $what › loses its session', async ({ name }) => {
    const attack = ATTACKS.find((one) => one.name === name)
    if (attack === undefined) throw new Error('There is no such attack')
    const { call, sibling, next } = await suffer(attack, 'node')
    expect([call, sibling, next]).toEqual(['SocketError', 'SocketError', '/next'])
  })

  it.each([
    { frames: 9, expected: ['HeadersOverflowError', 'sibling'] },
    { frames: 10, expected: ['SocketError', 'SocketError'] },
  ])('that sends a header section in $frames frames › fails its call; with more than 8 CONTINUATION frames, the session', async ({
    frames: count,
    expected,
  }) => {
    const fields = frames.headers(1, [
      [':status', '200'],
      ['x', 'v'.repeat(count * 1_000)],
    ])
    const block = fields.subarray(9)
    const size = Math.ceil(block.length / count)
    const pieces = Array.from({ length: count }, (_none, index) =>
      frames.frame(
        index === 0 ? Type.HEADERS : Type.CONTINUATION,
        index === count - 1 ? Flag.END_HEADERS : 0,
        1,
        block.subarray(index * size, (index + 1) * size),
      ),
    )
    const peer = await startPeer({
      onRequest: (stream, connection) => {
        if (stream.id !== 3) return
        connection.write(...pieces)
        stream.respond('sibling')
      },
    })
    const harness = startHarness(peer, {
      engine: 'node',
      maxHeaderSize: 1_024,
      replaySafe: false,
      pingInterval: 1_000,
      pingTimeout: 1_000,
    })
    const calls = [ask(harness, 'GET /1'), ask(harness, 'GET /3')]
    await Promise.all(calls.map(({ settled }) => settled))
    expect(calls.map(({ text, errors }) => errors[0]?.name ?? text)).toEqual(expected)
  })
})
