/** The normalizer: whatever a response's header fields come as → a flat list without pseudo-headers. */
import { loadSource } from './harness.mjs'

/** @type {typeof import('../../src/request/headers.ts')} */
const { toRawHeaders } = await loadSource('request/headers.ts')

const FIELDS = Object.freeze({
  server: 'nghttpd',
  'content-length': '1024',
  'content-type': 'application/octet-stream',
  'cache-control': 'max-age=3600',
  'last-modified': 'Thu, 01 Jan 2026 00:00:00 GMT',
  date: 'Thu, 01 Jan 2026 00:00:00 GMT',
})

const object = { ':status': '200', ...FIELDS, 'set-cookie': ['a=1', 'b=2'] }
const raw = [':status', '200', ...Object.entries(FIELDS).flat()]
const buffers = raw.map((text) => Buffer.from(text))
const headers = new Headers(FIELDS)

/** @param {string} name */
const isField = (name) => !name.startsWith(':')

export const comparisons = [
  {
    title: 'raw headers of an object',
    ways: {
      'toRawHeaders()': () => toRawHeaders(object),
      'Object.entries(), filter(), flatMap()': () =>
        Object.entries(object)
          .filter(([name]) => isField(name))
          .flatMap(([name, value]) => [value].flat().flatMap((entry) => [name, entry])),
    },
  },
  {
    title: 'raw headers of the raw list, handed through',
    ways: {
      'toRawHeaders()': () => toRawHeaders(raw),
      'filter()': () => raw.filter((_, index) => isField(raw[index - (index % 2)] ?? '')),
    },
  },
  {
    title: 'raw headers of a list of Buffers',
    ways: {
      'toRawHeaders()': () => toRawHeaders(buffers),
      'map() and filter()': () =>
        buffers
          .map((bytes) => bytes.toString('latin1'))
          .filter((_, index, list) => isField(list[index - (index % 2)] ?? '')),
    },
  },
  {
    title: 'raw headers of a Headers',
    ways: {
      'toRawHeaders()': () => toRawHeaders(headers),
      '[...headers].flat()': () => [...headers].flat(),
    },
  },
]
