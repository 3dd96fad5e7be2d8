/** `__proto__` is a field's name like any other, although the property of that name is special. */

import { describe, expect, it } from 'vitest'
import { bundle } from '../support/clients/bundled.ts'
import { runNodeWith } from '../support/clients/child.ts'

const toChild = bundle({ proto: new URL('./children/proto.ts', import.meta.url) })

const FLAT = ['__proto__,header', '__proto__,trailer']

/** request(), the same with raw headers, stream(), pipeline(), fetch, and a handler of the older shape. */
const SEEN = [['header', 'trailer'], FLAT, ['header', 'trailer'], ['header'], ['header'], FLAT]

const GOT = ['asked', '__proto__,sum']

describe.each([
  ['as it is', []],
  ['--disable-proto=throw', ['--disable-proto=throw']],
  ['--disable-proto=delete', ['--disable-proto=delete']],
])('fields named __proto__, on a Node %s', (_how, flags) => {
  it('are sent and received like any other, by each API and either engine', async () => {
    const { code, stdout, stderr } = await runNodeWith(flags, toChild('proto'))
    expect(stderr).toBe('')
    expect(code).toBe(0)
    const { seen, got } = JSON.parse(stdout)
    expect(seen).toEqual({ node: SEEN, wire: SEEN })
    // fetch has no trailers to send.
    const each = [GOT, GOT, GOT, GOT, ['asked'], GOT]
    expect(got).toEqual([...each, ...each])
  })
})
