/**
 * V8 allocates a function literal that is assigned to a property in the old space, for it takes it for a method. There it
 * keeps all that it can see until the next full garbage collection: docs/internals/node-streams.md.
 */
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { readTree } from './layers.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** `this.#a = (b) => …`, `a.b ??= async () => …`, `a.b = function …`. A field with an initial value is no assignment. */
const ASSIGNED =
  /(?<!typeof \w*)[\w\])]\.#?\w+\s*(?:\?\?|\|\||&&)?=\s*(?:async\s+)?(?:function\b|\w+\s*=>|\([^()]*\)(?:\s*:\s*[^=;{}]+?)?\s*=>)/

/** Made once for a session, a transport or a pool, which live as long as it takes anyway. */
const LASTING = [
  'src/connect/connect.ts',
  'src/connect/grpc-web.ts',
  'src/connect/grpc.ts',
  'src/dispatcher/upstream/discovery/waiting-calls.ts',
  'src/proxy/socks5-tunnels.ts',
  'src/session/node/spared-streams.ts',
]

function findFiles(): string[] {
  return [...readTree(root, ['src'])]
    .filter(([path, text]) => !/^src\/(cli|testing)\//.test(path) && ASSIGNED.test(text))
    .map(([path]) => path)
}

describe('a function literal', () => {
  it('is assigned to a property where what has it lasts, and nowhere else', () => {
    expect(findFiles().sort()).toEqual(LASTING)
  })

  it.each([
    'this.#a = () => b',
    'a.b ??= async (c: D) => e',
    'a.b = function (c) {',
    'this.a = b => c',
  ])('is found in %s', (text) => {
    expect(ASSIGNED.test(text)).toBe(true)
  })

  it.each([
    'const a = () => b',
    'readonly #a = () => b',
    'a.b = c',
    'if (a.b === c) return () => d',
  ])('is not found in %s', (text) => {
    expect(ASSIGNED.test(text)).toBe(false)
  })
})
