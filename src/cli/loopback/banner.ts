/**
 * What a server on loopback prints when it is ready.
 *
 * @module
 */

import { toPrintable } from '../terminal.ts'

/** What is served, and where. */
export interface ServedFacts {
  /** What is on loopback, such as `'Serving test routes'`. */
  readonly title: string
  /** What is there, shown below the addresses. */
  readonly contents: string
  /** A path that gets a response, for the curl example. */
  readonly example: string
  readonly port: number
  /** Null without TLS. */
  readonly tlsPort: number | null
  /** The file with the authority's certificate, for clients; null without TLS. */
  readonly caPath: string | null
}

/** Where the server is, what it has, and how to make clients trust it. */
export function toBanner({ title, contents, example, port, tlsPort, caPath }: ServedFacts): string {
  const plain = `http://localhost:${port}`
  const secure = `https://localhost:${tlsPort}`
  const width = secure.length + 3
  const lines = [
    `${title} on loopback:`,
    '',
    `  ${plain.padEnd(width)}h2c (HTTP/2 with prior knowledge), HTTP/1.1`,
  ]
  if (tlsPort !== null) lines.push(`  ${secure.padEnd(width)}HTTP/2 or HTTP/1.1 via ALPN`)
  lines.push('', contents)
  if (caPath !== null) lines.push('', ...toTrust(`${secure}${example}`, caPath))
  lines.push('', 'Press Ctrl-C to stop.')
  return lines.join('\n')
}

/** Users copy these lines. */
function toTrust(url: string, caPath: string): string[] {
  const word = toWord(caPath)
  return [
    'The certificate is signed by your private authority, which no trust store contains:',
    '',
    `  curl --cacert ${word} ${url}`,
    `  NODE_EXTRA_CA_CERTS=${word} node app.js`,
    `  new Agent({ connect: { ca: readFileSync(${toLiteral(caPath)}) } })`,
  ]
}

/** Quotes a word for a shell. */
function toWord(text: string): string {
  if (/^[\w./:@%+=,-]+$/.test(text)) return text
  return `'${toPrintable(text).replaceAll("'", `'\\''`)}'`
}

/** A JavaScript string. */
function toLiteral(text: string): string {
  return /['\\]/.test(text) ? JSON.stringify(text) : `'${toPrintable(text)}'`
}
