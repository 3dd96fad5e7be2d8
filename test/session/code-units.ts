/** Where a caller's string reaches the wire, and what may stand there: by the RFCs, and not by the sources. */

import type { Field } from '../../src/testing/hpack.ts'
import type { DispatchOptions } from '../../types/index.ts'

/** A request as a server has got it. Strings are latin1: a character is an octet. */
export interface Arrived {
  readonly fields: readonly Field[]
  readonly trailers: readonly Field[] | null
  readonly body: Buffer
}

/** A place of a request, with a character in it. */
export interface Place {
  readonly name: string
  /** The request with this character. */
  readonly toOptions: (character: string) => Partial<DispatchOptions>
  /** What has to arrive: exactly this. Null where the request is to be refused. */
  readonly toExpected: (character: string) => string | null
  /** What has arrived there. */
  readonly read: (arrived: Arrived) => string | undefined
  /** Refused when the body has been sent, and not before. */
  readonly isLate?: boolean
}

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
/** RFC 9110 §5.6.2. */
const TOKEN = `!#$%&'*+-.^_\`|~${LETTERS}`
/** RFC 3986 §2.2, §2.3: unreserved characters and sub-delims, which a host may have. */
const HOST = `-._~!$&'()*+,;=${LETTERS}`

const isOctet = (character: string): boolean => character.charCodeAt(0) <= 0xff
const isControl = (character: string): boolean => character < ' ' || character === '\x7f'
/** RFC 9110 §5.5: visible characters, SP, HTAB and obs-text. */
const isOfValue = (character: string): boolean =>
  isOctet(character) && (character === '\t' || !isControl(character))
/** RFC 9113 §8.3.1 says no more of a path than HTTP/1.1 does; what is beyond ASCII is sent as it is, as undici does. */
const isOfPath = (character: string): boolean =>
  isOctet(character) && !isControl(character) && character !== ' ' && character !== '#'

const only = (isGood: boolean, text: string): string | null => (isGood ? text : null)
const toLatin1 = (text: string): string => Buffer.from(text).toString('latin1')
/** RFC 9113 §8.2.1: no white space around a value. */
const trim = (text: string): string => text.replace(/^[ \t]+|[ \t]+$/g, '')

const fieldOf =
  (name: string) =>
  ({ fields }: Arrived): string | undefined =>
    fields.find(([known]) => known === name)?.[1]
const trailerOf =
  (name: string) =>
  ({ trailers }: Arrived): string | undefined =>
    trailers?.find(([known]) => known === name)?.[1]
const bodyOf = ({ body }: Arrived): string => body.toString('latin1')
/** Names that stand for themselves: what is looked for is the name. */
const nameOf = (fields: readonly Field[] | null): string | undefined =>
  fields?.find(([, value]) => value === 'named')?.[0]

/** A Blob that doesn't look at its type, as the global one does. */
const toBlob = (type: string) => ({
  type,
  size: 1,
  stream: () => new Blob(['b']).stream(),
  arrayBuffer: async () => new ArrayBuffer(1),
  slice: () => new Blob(['b']),
})

/** A form of one entry. */
function toForm(name: string, value: string | Blob, fileName?: string): FormData {
  const form = new FormData()
  if (typeof value === 'string') form.append(name, value)
  else form.append(name, value, fileName)
  return form
}

/** A form that doesn't look at its files. */
const toLooseForm = (file: unknown) => ({ entries: () => [['n', file]].values(), getAll: () => [file] })

/** What of a form stands between two strings. */
const between =
  (start: string, end: string) =>
  (arrived: Arrived): string | undefined => {
    const body = bodyOf(arrived)
    const from = body.indexOf(start) + start.length
    return from < start.length ? undefined : body.slice(from, body.indexOf(end, from))
  }

/** HTML, "multipart/form-data encoding algorithm", behind what it does to line ends. */
const escapeName = (name: string): string =>
  toLatin1(name).replaceAll('\n', '%0A').replaceAll('\r', '%0D').replaceAll('"', '%22')
const toCrlf = (text: string): string => text.replace(/\r\n?|\n/g, '\r\n')

const post = (more: Partial<DispatchOptions>): Partial<DispatchOptions> => ({
  method: 'POST',
  path: '/',
  body: 'b',
  ...more,
})

/** A value in a field of this name, which the encoder treats in its own way. */
const valueIn = (name: string, more: Partial<DispatchOptions> = {}): Place => ({
  name: `the value of ${name}`,
  toOptions: (c) => ({ method: 'GET', path: '/', headers: { [name]: `a${c}b` }, ...more }),
  toExpected: (c) => only(isOfValue(c), `a${c}b`),
  read: fieldOf(name),
})

const trailersOf = (
  name: string,
  toTrailers: (character: string) => Record<string, string>,
  rest: Pick<Place, 'toExpected' | 'read'>,
): Place[] => [
  { name, toOptions: (c) => post({ trailers: toTrailers(c) }), ...rest },
  {
    name: `${name}, of a function`,
    toOptions: (c) => post({ trailers: () => toTrailers(c) }),
    isLate: true,
    ...rest,
  },
]

/**
 * Every place of a request that a caller writes. The rest is made of numbers and flags (`priority`, `expectContinue`).
 */
export const PLACES: readonly Place[] = [
  {
    name: 'the path',
    toOptions: (c) => ({ method: 'GET', path: `/a${c}b` }),
    toExpected: (c) => only(isOfPath(c), `/a${c}b`),
    read: fieldOf(':path'),
  },
  {
    name: 'the query of the path',
    toOptions: (c) => ({ method: 'GET', path: `/?a=${c}` }),
    toExpected: (c) => only(isOfPath(c), `/?a=${c}`),
    read: fieldOf(':path'),
  },
  {
    name: 'a name and a value of the query',
    toOptions: (c) => ({ method: 'GET', path: '/', query: { [`n${c}`]: `v${c}` } }),
    toExpected: (c) => `/?n${encodeURIComponent(c)}=v${encodeURIComponent(c)}`,
    read: fieldOf(':path'),
  },
  {
    name: 'the method',
    toOptions: (c) => ({ method: `M${c}`, path: '/' }),
    toExpected: (c) => only(TOKEN.includes(c), `M${c}`),
    read: fieldOf(':method'),
  },
  {
    name: 'the protocol of an upgrade',
    toOptions: (c) => ({ method: 'GET', path: '/', upgrade: `p${c}` }),
    toExpected: (c) => only(TOKEN.includes(c), `p${c}`),
    read: fieldOf(':protocol'),
  },
  {
    name: 'the authority of a CONNECT',
    toOptions: (c) => ({ method: 'CONNECT', path: `h${c}:443` }),
    toExpected: (c) => only(HOST.includes(c), `h${c}:443`),
    read: fieldOf(':authority'),
  },
  {
    name: 'the host field',
    toOptions: (c) => ({ method: 'GET', path: '/', headers: { host: `h${c}x` } }),
    toExpected: (c) => only(HOST.includes(c), `h${c}x`),
    read: fieldOf(':authority'),
  },
  {
    name: 'the name of a field',
    toOptions: (c) => ({ method: 'GET', path: '/', headers: { [`x${c}y`]: 'named' } }),
    toExpected: (c) => only(TOKEN.includes(c), `x${c}y`.toLowerCase()),
    read: ({ fields }) => nameOf(fields),
  },
  valueIn('x-value'),
  valueIn('authorization'),
  valueIn('cookie'),
  valueIn('x-key', { sensitiveHeaders: ['x-key'] }),
  {
    name: 'the end of a value',
    toOptions: (c) => ({ method: 'GET', path: '/', headers: ['x-value', `a${c}`] }),
    toExpected: (c) => only(isOfValue(c), trim(`a${c}`)),
    read: fieldOf('x-value'),
  },
  {
    name: 'a long value',
    toOptions: (c) => ({ method: 'GET', path: '/', headers: [['x-value', `${'\xff'.repeat(200)}${c}.`]] }),
    toExpected: (c) => only(isOfValue(c), `${'\xff'.repeat(200)}${c}.`),
    read: fieldOf('x-value'),
  },
  ...trailersOf('the name of a trailer', (c) => ({ [`x${c}y`]: 'named' }), {
    toExpected: (c) => only(TOKEN.includes(c), `x${c}y`.toLowerCase()),
    read: ({ trailers }) => nameOf(trailers),
  }),
  ...trailersOf('the value of a trailer', (c) => ({ 'x-value': `a${c}b` }), {
    toExpected: (c) => only(isOfValue(c), `a${c}b`),
    read: trailerOf('x-value'),
  }),
  {
    name: 'the type of a Blob',
    toOptions: (c) => post({ body: toBlob(`text/${c}x`) }),
    toExpected: (c) => only(isOfValue(c), `text/${c}x`),
    read: fieldOf('content-type'),
  },
  {
    name: 'a name of a form',
    toOptions: (c) => post({ body: toForm(`n${c}x`, 'v') }),
    toExpected: (c) => escapeName(toCrlf(`n${c}x`)),
    read: between('; name="', '"\r\n'),
  },
  {
    name: 'a value of a form',
    toOptions: (c) => post({ body: toForm('n', `v${c}x`) }),
    toExpected: (c) => toLatin1(toCrlf(`v${c}x`)),
    read: between('"n"\r\n\r\n', '\r\n------formdata'),
  },
  {
    name: "a file's name of a form",
    toOptions: (c) => post({ body: toForm('n', new Blob(['b']), `f${c}x`) }),
    toExpected: (c) => escapeName(`f${c}x`),
    read: between('; filename="', '"\r\n'),
  },
  {
    name: "a file's type of a form",
    toOptions: (c) => post({ body: toLooseForm(toBlob(`text/${c}x`)) as unknown as FormData }),
    toExpected: (c) => only(!isControl(c) && c < '\x7f', `text/${c}x`),
    read: between('Content-Type: ', '\r\n'),
  },
  {
    name: 'a name and a value of a URLSearchParams',
    toOptions: (c) => post({ body: new URLSearchParams([[`n${c}`, `v${c}`]]) }),
    toExpected: (c) => `${new URLSearchParams([[`n${c}`, `v${c}`]])}`,
    read: bodyOf,
  },
  {
    name: 'a body that is a string',
    toOptions: (c) => post({ body: `a${c}b` }),
    toExpected: (c) => toLatin1(`a${c}b`),
    read: bodyOf,
  },
]

/** Every code unit up to U+0200, and some that end alike. */
export const CHARACTERS: readonly string[] = [
  ...Array.from({ length: 0x201 }, (_, unit) => String.fromCharCode(unit)),
  ...['\u200a', '\u2028', '\u560a', '\uff0a', '\uffff'],
]
