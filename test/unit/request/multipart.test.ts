import { File } from 'node:buffer'
import { buffer } from 'node:stream/consumers'
import { FormData as UndiciFormData } from 'undici'
import { describe, expect, it } from 'vitest'
import { InvalidArgumentError } from '../../../src/errors/errors.ts'
import { ChunkReadable, PartsSource } from '../../../src/request/chunk-source.ts'
import type { Multipart } from '../../../src/request/multipart.ts'
import { isBlobLike, toMultipart } from '../../../src/request/multipart.ts'

type Entry = [string, string] | [string, Blob] | [string, Blob, string]

function toForm(entries: readonly Entry[]): FormData {
  const form = new FormData()
  for (const [name, value, fileName] of entries) {
    if (typeof value === 'string') form.append(name, value)
    else if (fileName === undefined) form.append(name, value)
    else form.append(name, value, fileName)
  }
  return form
}

function toBytes({ parts }: Multipart): Promise<Buffer> {
  return buffer(new ChunkReadable(new PartsSource(parts)))
}

/** The bytes as text, with a short name for the boundary. */
async function toText(multipart: Multipart): Promise<string> {
  const boundary = multipart.contentType.replace(/^.*boundary=/, '')
  return (await toBytes(multipart)).toString().replaceAll(boundary, 'B')
}

describe('toMultipart', () => {
  describe('when the form is empty', () => {
    it('is its end alone', async () => {
      expect(await toText(toMultipart(new FormData()))).toBe('--B--\r\n')
    })
  })

  describe('when it has strings', () => {
    it('gives a part for each, in their order, duplicates too', async () => {
      const form = toForm([
        ['a', '1'],
        ['b', ''],
        ['a', 'é'],
      ])
      expect(await toText(toMultipart(form))).toBe(
        '--B\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n' +
          '--B\r\nContent-Disposition: form-data; name="b"\r\n\r\n\r\n' +
          '--B\r\nContent-Disposition: form-data; name="a"\r\n\r\né\r\n' +
          '--B--\r\n',
      )
    })

    it.each([
      ['a\nb', 'a\r\nb'],
      ['a\rb', 'a\r\nb'],
      ['a\r\nb', 'a\r\nb'],
      ['\n\r\n\r', '\r\n\r\n\r\n'],
    ])('makes each of its line breaks CRLF: %j', async (value, sent) => {
      const text = await toText(toMultipart(toForm([['a', value]])))
      expect(text).toBe(`--B\r\nContent-Disposition: form-data; name="a"\r\n\r\n${sent}\r\n--B--\r\n`)
    })
  })

  describe('when a name could end the quoted string', () => {
    it.each([
      ['a"b', 'a%22b'],
      ['a\nb', 'a%0D%0Ab'],
      ['a\rb', 'a%0D%0Ab'],
      ['a\r\nb', 'a%0D%0Ab'],
      ['a%22b', 'a%22b'],
      ['a\\b', 'a\\b'],
      ['"; filename="x', '%22; filename=%22x'],
      ['é\u{1f600}', 'é\u{1f600}'],
      ['', ''],
    ])('escapes it: %j', async (name, sent) => {
      const text = await toText(toMultipart(toForm([[name, '1']])))
      expect(text).toBe(`--B\r\nContent-Disposition: form-data; name="${sent}"\r\n\r\n1\r\n--B--\r\n`)
    })

    it.each([
      ['a"b.txt', 'a%22b.txt'],
      ['a\nb', 'a%0Ab'],
      ['a\rb', 'a%0Db'],
      ['é.txt', 'é.txt'],
    ])('escapes a file name, whose line breaks stay as they are: %j', async (fileName, sent) => {
      const text = await toText(toMultipart(toForm([['f', new Blob(['1']), fileName]])))
      expect(text).toContain(`Content-Disposition: form-data; name="f"; filename="${sent}"\r\n`)
    })
  })

  describe('when it has files', () => {
    it.each<[string, Blob, string, string]>([
      ['a type', new Blob(['a\nb'], { type: 'text/plain' }), 'a.txt', 'text/plain'],
      ['no type', new Blob(['a\nb']), 'a.txt', 'application/octet-stream'],
    ])('gives name, type and content, untouched: %s', async (_what, blob, fileName, type) => {
      expect(await toText(toMultipart(toForm([['f', blob, fileName]])))).toBe(
        `--B\r\nContent-Disposition: form-data; name="f"; filename="${fileName}"\r\nContent-Type: ${type}\r\n\r\na\nb\r\n--B--\r\n`,
      )
    })

    it("names one without a name 'blob'", async () => {
      const form = { entries: () => [['f', new Blob(['a'])] as [string, unknown]], getAll: () => [] }
      expect(await toText(toMultipart(form))).toContain('; filename="blob"\r\n')
    })

    it('does not read them before it is sent', () => {
      let opened = 0
      const file = {
        size: 1,
        type: '',
        stream: () => {
          opened++
          return new Blob(['a']).stream()
        },
      }
      toMultipart({ entries: () => [['f', file]], getAll: () => [] })
      expect(opened).toBe(0)
    })
  })

  describe('when an entry is neither', () => {
    it.each([
      ['a number', 1, '1'],
      ['null', null, 'null'],
      ['an object', {}, 'an object (Object)'],
    ])('names it: %s', (_kind, value, got) => {
      const form = { entries: () => [['a', value] as [string, unknown]], getAll: () => [] }
      expect(() => toMultipart(form)).toThrow(InvalidArgumentError)
      expect(() => toMultipart(form)).toThrow(
        `Invalid FormData entry "a": got ${got}, expected a string or a Blob`,
      )
    })
  })

  describe('when its boundary is chosen', () => {
    it('is one that RFC 2046 allows, and that needs no quotes', () => {
      expect(toMultipart(new FormData()).contentType).toMatch(
        /^multipart\/form-data; boundary=[-\w]{1,69}[^\s-]$/,
      )
    })

    it('is another one for each form', () => {
      expect(toMultipart(new FormData()).contentType).not.toBe(toMultipart(new FormData()).contentType)
    })
  })

  const binary = Uint8Array.from({ length: 70_000 }, (_, index) => index % 251)
  const forms: [string, readonly Entry[]][] = [
    ['nothing', []],
    [
      'strings',
      [
        ['a', '1'],
        ['a', '2'],
        ['', ''],
        ['é', '€\u{1f600}'],
      ],
    ],
    [
      'quotes and line breaks',
      [
        ['a"b', 'c"d'],
        ['a\r\nb', '1\r\n2'],
      ],
    ],
    ['what looks like a boundary', [['a', '\r\n--B--\r\n----formdata-dodici-']]],
    [
      'files',
      [
        ['f', new Blob([binary], { type: 'image/png' }), 'a.png'],
        ['f', new Blob([]), 'empty'],
        ['g', new Blob(['x'], { type: 'text/plain' }), 'a"b.txt'],
      ],
    ],
    [
      'both',
      [
        ['a', '1'],
        ['f', new Blob(['x'], { type: 'text/plain' }), 'é.txt'],
        ['b', '2'],
      ],
    ],
  ]

  describe.each(forms)('when it is read back: %s', (_what, entries) => {
    it('has exactly the length that it says', async () => {
      const multipart = toMultipart(toForm(entries))
      expect((await toBytes(multipart)).length).toBe(multipart.length)
    })

    it('is the same form', async () => {
      const multipart = toMultipart(toForm(entries))
      const response = new Response(await toBytes(multipart), {
        headers: { 'content-type': multipart.contentType },
      })
      const back = [...(await response.formData()).entries()]
      expect(back.map(([name]) => name)).toEqual(entries.map(([name]) => name))
      for (const [index, [, value]] of back.entries()) {
        const [, given, fileName] = entries[index] ?? []
        if (typeof value === 'string' || typeof given === 'string' || given === undefined) {
          expect(value).toBe(given)
          continue
        }
        expect(value.name).toBe(fileName)
        // What RFC 7578 §4.4 says of a part without a type holds for what was sent without one.
        expect(value.type).toBe(given.type === '' ? 'application/octet-stream' : given.type)
        expect(Buffer.from(await value.arrayBuffer()).equals(Buffer.from(await given.arrayBuffer()))).toBe(
          true,
        )
      }
    })
  })

  describe("when the form is another one than Node's", () => {
    it("takes undici's", async () => {
      const form = new UndiciFormData()
      form.append('a', '1')
      form.append('f', new File(['x'], 'a.txt', { type: 'text/plain' }))
      const text = await toText(toMultipart(form))
      expect(text).toContain('name="a"\r\n\r\n1\r\n')
      expect(text).toContain('name="f"; filename="a.txt"\r\nContent-Type: text/plain\r\n\r\nx\r\n')
    })
  })

  it('refuses a type that could begin a header of its own', () => {
    const file = { size: 0, type: 'a/b\r\nx: y', stream: () => new Blob([]).stream() }
    const form = { entries: (): [string, unknown][] => [['f', file]], getAll: () => [file] }
    expect(() => toMultipart(form)).toThrow(/type of FormData entry "f"/)
  })
})

describe('isBlobLike', () => {
  it.each([
    ['a Blob', new Blob([]), true],
    ['a File', new File([], 'a'), true],
    ['what has its members', { size: 1, type: '', stream: () => {} }, true],
    ['no size', { type: '', stream: () => {} }, false],
    ['no type', { size: 1, stream: () => {} }, false],
    ['no stream', { size: 1, type: '' }, false],
    ['a string', 'a', false],
    ['null', null, false],
  ])('tells whether it has what is used of a Blob: %s', (_kind, value, expected) => {
    expect(isBlobLike(value)).toBe(expected)
  })
})
