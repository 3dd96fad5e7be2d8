/** Children that are started with flags of Node's, and speak lines of JSON. */

import { expect } from 'vitest'
import { bundle } from '../support/clients/bundled.ts'
import { runNodeWith } from '../support/clients/child.ts'

type RunChild = (flags: readonly string[], ...args: string[]) => Promise<unknown[]>

/** What undici warns of: that its WebSocket over HTTP/2, and its EventSource, are experimental. */
const WARNINGS = /^\(node:\d+\) \[UNDICI-(?:WS|ES)\].*\n|^\(Use `node --trace-warnings.*\n/gm

/** What a child of `children/` says, once it has ended well. It is built before the tests of the file that asks. */
export function toChild(name: string): RunChild {
  const toScript = bundle({ [name]: new URL(`./children/${name}.mjs`, import.meta.url) })

  return async (flags, ...args) => {
    const allFlags = ['--disable-warning=ExperimentalWarning', ...flags]
    const { code, signal, stdout, stderr } = await runNodeWith(allFlags, toScript(name), ...args)
    expect(stderr.replace(WARNINGS, '')).toBe('')
    expect([code, signal]).toEqual([0, null])
    return stdout
      .trimEnd()
      .split('\n')
      .map((line): unknown => JSON.parse(line))
  }
}
