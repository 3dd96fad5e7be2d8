/** Secrets of requests show nowhere unless code reads them: not in errors, not in logs, not on our channels. */

import { describe, expect, it } from 'vitest'
import { bundle } from '../support/clients/bundled.ts'
import { runNode } from '../support/clients/child.ts'

const toChild = bundle({ secrets: new URL('./children/secrets.ts', import.meta.url) })

const MARK = 'pl4nted'

/** By undici's contract its channels publish the request itself, and the parts that were sent. */
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

/** How the calls must have ended, so that every value is checked. */
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

  it("show nowhere but on undici's own channels, when these have subscribers", async () => {
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
