/** The header lists of our own HPACK vectors. A seed makes what is random: they are the same each time. */

/** @typedef {[name: string, value: string]} Field */
/** @typedef {{ header_table_size?: number, headers: Field[] }} Case a list, and the table's size from it on, in bytes */
/** @typedef {{ story: string, sensitive?: string[], cases: Case[] }} Story lists of one connection, with names that no table may have */

/** Numbers that look random and are the same for the same seed (Mulberry32). */
class Random {
  /** @param {number} seed */
  constructor(seed) {
    this.state = seed
  }

  /** @param {number} end A whole number from 0 to below it. */
  below(end) {
    this.state = (this.state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.state ^ (this.state >>> 15), this.state | 1)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * end)
  }

  /**
   * @template T
   * @param {readonly T[]} items
   */
  pick(items) {
    return /** @type {T} */ (items[this.below(items.length)])
  }

  /**
   * @param {number} length
   * @param {string} alphabet
   */
  text(length, alphabet) {
    return Array.from({ length }, () => alphabet.charAt(this.below(alphabet.length))).join('')
  }
}

const LETTERS = 'abcdefghijklmnopqrstuvwxyz'
const DIGITS = '0123456789'
const HEX = `${DIGITS}abcdef`
const NAMES = `${LETTERS}${DIGITS}-_`
const TEXT = `${NAMES}${LETTERS.toUpperCase()} !"#$%&'()*+,./:;<=>?@[\\]^\`{|}~`
/** Every octet of a value (RFC 9110 §5.5): visible ones, space, tab, and obs-text. */
const OCTETS = Array.from({ length: 256 }, (_none, octet) => String.fromCharCode(octet)).filter(
  (octet) => octet === '\t' || (octet >= ' ' && octet !== '\x7f'),
)
const AGENT = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'

/** @param {Random} random @returns {string} */
function toDate(random) {
  return new Date(
    Date.UTC(2026, random.below(12), 1 + random.below(28), random.below(24), random.below(60)),
  ).toUTCString()
}

/** A page and what belongs to it. @param {Random} random @returns {Case[]} */
function toPageRequests(random) {
  const cookies = [`sid=${random.text(32, HEX)}`, 'theme=dark', `_ga=GA1.2.${random.text(9, DIGITS)}`]
  return Array.from({ length: 14 }, (_none, at) => ({
    headers: [
      [':method', 'GET'],
      [':scheme', 'https'],
      [':authority', at % 5 === 4 ? 'static.example.com' : 'www.example.com'],
      [
        ':path',
        at === 0
          ? '/'
          : `/${random.pick(['css', 'js', 'img'])}/${random.text(8, NAMES)}.${random.text(2, LETTERS)}?v=${at}`,
      ],
      ['user-agent', AGENT],
      [
        'accept',
        random.pick(['text/html,application/xhtml+xml;q=0.9,*/*;q=0.8', 'image/avif,image/webp,*/*', '*/*']),
      ],
      ['accept-language', 'en-GB,en;q=0.7,it;q=0.3'],
      ['accept-encoding', 'gzip, deflate, br, zstd'],
      // Crumbs (RFC 9113 §8.2.3).
      ...cookies.map((crumb) => /** @type {Field} */ (['cookie', crumb])),
      ['referer', 'https://www.example.com/'],
    ],
  }))
}

/** @param {Random} random @returns {Case[]} */
function toResponses(random) {
  return Array.from({ length: 16 }, (_none, at) => {
    const status = random.pick([
      '200',
      '200',
      '200',
      '204',
      '206',
      '301',
      '304',
      '400',
      '404',
      '418',
      '500',
      '503',
    ])
    /** @type {Field[]} */
    const headers = [
      [':status', status],
      ['server', 'nginx/1.22.1'],
      ['date', toDate(random)],
      [
        'content-type',
        random.pick(['text/html; charset=utf-8', 'image/webp', 'text/css', 'application/json']),
      ],
      ['content-length', String(random.below(100_000))],
      ['etag', `W/"${random.text(16, HEX)}"`],
      ['last-modified', toDate(random)],
      ['cache-control', random.pick(['no-cache', 'max-age=31536000, immutable', 'private, max-age=0'])],
      ['vary', 'accept-encoding'],
    ]
    if (at % 4 === 0) {
      headers.push(['set-cookie', `sid=${random.text(32, HEX)}; Path=/; Secure; HttpOnly; SameSite=Lax`])
      headers.push(['set-cookie', `seen=${at}; Max-Age=3600`])
    }
    if (status.startsWith('3'))
      headers.push(['location', `https://www.example.com/${random.text(12, NAMES)}`])
    return { headers }
  })
}

/** Requests, responses and trailers of gRPC. @param {Random} random @returns {Case[]} */
function toGrpc(random) {
  return Array.from({ length: 5 }, () => [
    {
      headers: /** @type {Field[]} */ ([
        [':method', 'POST'],
        [':scheme', 'http'],
        [':path', `/inventory.v1.Stock/${random.pick(['Get', 'List', 'Watch'])}`],
        [':authority', '10.0.0.7:50051'],
        ['te', 'trailers'],
        ['content-type', 'application/grpc+proto'],
        ['grpc-timeout', `${1 + random.below(999)}m`],
        ['x-trace-bin', random.text(24, `${HEX}+/`)],
        ['traceparent', `00-${random.text(32, HEX)}-${random.text(16, HEX)}-01`],
      ]),
    },
    {
      headers: /** @type {Field[]} */ ([
        [':status', '200'],
        ['content-type', 'application/grpc+proto'],
        ['grpc-encoding', 'identity'],
      ]),
    },
    {
      headers: /** @type {Field[]} */ ([
        ['grpc-status', random.pick(['0', '0', '5', '14'])],
        ['grpc-message', random.text(random.below(12), TEXT).trim()],
      ]),
    },
  ]).flat()
}

/** @param {Random} random @returns {Case[]} */
function toSecretRequests(random) {
  const token = random.text(180, `${TEXT.slice(0, 36)}.-_`)
  return Array.from({ length: 8 }, (_none, at) => ({
    headers: [
      [':method', at % 2 === 0 ? 'POST' : 'DELETE'],
      [':scheme', 'https'],
      [':authority', 'api.example.com'],
      [':path', `/v2/orders/${random.text(6, DIGITS)}`],
      ['authorization', `Bearer ${token}`],
      ['content-type', 'application/json'],
      ['content-length', String(random.below(5_000))],
      ['idempotency-key', random.text(32, HEX)],
    ],
  }))
}

/**
 * Lengths beside those at which an integer takes one more octet (RFC 7541 §5.1), and beside those of which an entry is as large as
 * the table (§4.1): 512 less 32 less the name's 8.
 *
 * @returns {Case[]}
 */
function toLengths() {
  const lengths = [0, 1, 126, 127, 128, 253, 254, 255, 256, 382, 383, 471, 472, 473, 700]
  return lengths.map((length, at) => ({
    ...(at === 0 ? { header_table_size: 512 } : {}),
    headers: [
      ['x-length', 'a'.repeat(length)],
      [`x-${'n'.repeat(Math.min(length, 300))}`, 'v'],
      ['x-last', ''],
    ],
  }))
}

/** Values of every octet. @param {Random} random @returns {Case[]} */
function toOctets(random) {
  return Array.from({ length: 10 }, (_none, at) => ({
    headers: [
      // In order, and at random; no value begins or ends with white space.
      ['x-octets', `<${OCTETS.slice(at * 23, at * 23 + 23).join('')}>`],
      ['x-mixed', `<${Array.from({ length: 40 }, () => random.pick(OCTETS)).join('')}>`],
    ],
  }))
}

/** More than the table holds, so that entries are evicted. @param {Random} random @returns {Case[]} */
function toEvictions(random) {
  return Array.from({ length: 12 }, () => ({
    headers: Array.from({ length: 8 }, () => [
      `x-${random.pick([...'abcdefghijkl'])}`,
      random.text(random.below(70), TEXT).trim(),
    ]),
  }))
}

/** A few fields again and again, from tables of all sizes. @param {Random} random @param {number[]} sizes @returns {Case[]} */
function toSizes(random, sizes) {
  return sizes.flatMap((size) =>
    Array.from({ length: 3 }, (_none, at) => ({
      ...(at === 0 ? { header_table_size: size } : {}),
      headers: /** @type {Field[]} */ ([
        [':status', '200'],
        ['server', 'nginx/1.22.1'],
        ['x-request-id', random.text(16, HEX)],
        ...Array.from({ length: 5 }, () => [`x-${random.pick([...'abcdef'])}`, random.text(1, 'abcd')]),
      ]),
    })),
  )
}

/** @param {Random} random @returns {Case[]} */
function toRandomLists(random) {
  const common = [
    'cache-control',
    'etag',
    'via',
    'age',
    'cookie',
    'set-cookie',
    'accept-ranges',
    'x-a',
    'location',
  ]
  return Array.from({ length: 20 }, () => ({
    headers: Array.from({ length: random.below(10) }, () => [
      random.below(4) > 0 ? random.pick(common) : `x-${random.text(1 + random.below(12), NAMES)}`,
      random.below(3) === 0 ? random.text(1, 'abcdefgh') : random.text(random.below(30), TEXT).trim(),
    ]),
  }))
}

/** @returns {Story[]} all of them */
export function toStories() {
  return [
    { story: 'the requests of a page', cases: toPageRequests(new Random(1)) },
    { story: 'responses', cases: toResponses(new Random(2)) },
    { story: 'gRPC', cases: toGrpc(new Random(3)) },
    {
      story: 'secrets',
      sensitive: ['authorization', 'idempotency-key'],
      cases: toSecretRequests(new Random(4)),
    },
    { story: 'lengths', cases: toLengths() },
    { story: 'octets', cases: toOctets(new Random(5)) },
    { story: 'evictions', cases: toEvictions(new Random(6)) },
    { story: 'smaller tables', cases: toSizes(new Random(7), [256, 128, 0, 64, 4_096, 100]) },
    { story: 'larger tables', cases: toSizes(new Random(8), [8_192, 65_536, 4_096, 16_384, 0, 8_192]) },
    { story: 'random lists', cases: toRandomLists(new Random(9)) },
  ]
}
