/** Secrets of requests show nowhere unless somebody asks for them: not in errors, not in logs, not on our channels. */

import { describe, expect, it } from 'vitest'
import { bundle } from '../support/bundled.ts'
import { runNode } from '../support/child.ts'

const toChild = bundle({ secrets: new URL('./children/secrets.ts', import.meta.url) })

const MARK = 'pl4nted'

/** What undici's contract puts on its channels: the request itself, and what was sent of it. */
const CONTRACT = [
  'undici:client:sendHeaders',
  'undici:request:bodyChunkReceived',
  'undici:request:bodyChunkSent',
  'undici:request:bodySent',
  'undici:request:create',
  'undici:request:error',
  'undici:request:headers',
  'undici:request:trailers',
]

/** The ways in which the calls have ended, so that what is looked at is there. */
const KINDS = [
  ...['AbortError', 'ConnectError', 'HeadersCountError', 'HeadersTimeoutError', 'InvalidArgumentError'],
  ...['ResponseContentLengthMismatchError', 'ResponseExceededMaxSizeError', 'SocketError', 'StreamError'],
  ...['TunnelRefusedError', 'TypeError', 'MaxListenersExceededWarning'],
]

async function run(mode: string) {
  const { code, stdout, stderr } = await runNode(toChild('secrets'), mode)
  const [log = '', report = '{}'] = stdout.split('\nREPORT ')
  // The first lines that show one: a log of all would tell nothing.
  const lines = `${log}\n${stderr}`.split('\n').filter((line) => line.includes(MARK))
  return { code, lines: lines.slice(0, 5), ...JSON.parse(report) }
}

describe('secrets that are planted in requests', () => {
  it('show nowhere, however the calls of each API end, on either engine', async () => {
    const { kinds, looks, ...rest } = await run('alone')
    expect(rest).toEqual({ code: 0, lines: [], leaks: [], contract: [] })
    expect(kinds).toEqual(expect.arrayContaining(KINDS))
    expect(looks).toBeGreaterThan(1_500)
  })

  it("show nowhere beside undici's own channels, where somebody listens", async () => {
    const { code, lines, leaks, contract } = await run('heard')
    expect({ code, lines, leaks }).toEqual({ code: 0, lines: [], leaks: [] })
    expect(contract).toEqual(CONTRACT)
  })

  it('are found where they show', async () => {
    const { code, leaks, lines } = await run('control')
    expect(code).toBe(0)
    expect(lines.length).toBeGreaterThan(3)
    expect(leaks).toEqual(
      expect.arrayContaining([
        ...['inspect', 'inspect all', 'json', 'inspect raw'].map((how) => `control: object, ${how}`),
        ...['inspect', 'message', 'stack', 'text'].map((how) => `control: error, ${how}`),
        'control: cause, inspect all',
        'warning, message',
      ]),
    )
  })
})
