import { beforeEach, describe, expect, it } from 'vitest'
import { RawFields } from '../../../src/handler/raw-fields.ts'
import type { IncomingHttpHeaders } from '../../../types/headers.ts'

class Fields extends RawFields {}

describe('RawFields', () => {
  describe('when nothing came', () => {
    it('is null', () => {
      const fields = new Fields()
      expect(fields.rawHeaders).toBeNull()
      expect(fields.rawTrailers).toBeNull()
    })

    it('does not promise how long they stay unchanged: only a call can', () => {
      expect('hasLastingRawHeaders' in new Fields()).toBe(false)
    })
  })

  describe.each(['rawHeaders', 'rawTrailers'] as const)('when %s came', (name) => {
    let fields: Fields
    const other = name === 'rawHeaders' ? 'rawTrailers' : 'rawHeaders'

    beforeEach(() => {
      fields = new Fields()
    })

    it('gives them in wire order, with duplicates, without pseudo-headers', () => {
      fields[name] = [':status', '200', 'x-b', '1', 'X-A', '2', 'x-b', '3']
      expect(fields[name]).toEqual(['x-b', '1', 'X-A', '2', 'x-b', '3'])
    })

    it.each<[string, Buffer[] | IncomingHttpHeaders]>([
      ['Buffers', [Buffer.from('x-a'), Buffer.from([0xe9])]],
      ['an object', { 'x-a': 'é', 'x-b': undefined }],
    ])('gives strings, for any value assigned: %s', (_kind, value) => {
      fields[name] = value
      expect(fields[name]).toEqual(['x-a', 'é'])
    })

    it('builds them at the first read, and keeps them', () => {
      const source = ['x-a', '1']
      fields[name] = source
      source[1] = '2'
      const raw = fields[name]
      expect(raw).toEqual(['x-a', '2'])
      source[1] = '3'
      expect(fields[name]).toBe(raw)
      expect(raw).toEqual(['x-a', '2'])
    })

    it('keeps what was spliced in place, and leaves its source alone', () => {
      const source = ['x-a', '1', 'x-b', '2']
      fields[name] = source
      fields[name]?.splice(0, 2)
      expect(fields[name]).toEqual(['x-b', '2'])
      expect(source).toEqual(['x-a', '1', 'x-b', '2'])
    })

    it('forgets what was read when it is assigned', () => {
      fields[name] = ['x-a', '1']
      expect(fields[name]).toEqual(['x-a', '1'])
      fields[name] = []
      expect(fields[name]).toEqual([])
    })

    it.each([null, undefined])('is null again after %s', (value) => {
      fields[name] = ['x-a', '1']
      expect(fields[name]).toEqual(['x-a', '1'])
      fields[name] = value
      expect(fields[name]).toBeNull()
    })

    it('leaves the other property alone', () => {
      fields[name] = ['x-a', '1']
      expect(fields[other]).toBeNull()
    })
  })
})
