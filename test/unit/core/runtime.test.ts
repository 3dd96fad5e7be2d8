import { describe, expect, it } from 'vitest'
import { RUNTIME, toRuntime } from '../../../src/core/runtime.ts'

describe('toRuntime()', () => {
  it.each([
    ['Node.js', { node: '20.20.2' }],
    ['Bun', { node: '26.3.0', bun: '1.4.5' }],
    ['Deno', { node: '26.3.0', deno: '2.9.6' }],
  ])('knows %s by the versions', (name, versions) => {
    expect(toRuntime(versions)).toBe(name)
  })
})

describe('RUNTIME', () => {
  it('is the one of this process', () => {
    expect(RUNTIME).toBe('Node.js')
  })
})
