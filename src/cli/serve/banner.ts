/**
 * What `dodici serve` says when it is ready.
 *
 * @module
 */

import type { ServerCertificate } from '../certificates/certificate-store.ts'
import { toPrintable } from '../terminal.ts'
import { toBuiltInList } from './built-ins.ts'

/** What is served, and where. */
export interface ServedFacts {
  /** Null for no files. */
  readonly root: string | null
  readonly port: number
  /** Null without TLS. */
  readonly tlsPort: number | null
  readonly certificate: ServerCertificate | null
}

/** Where the server is, what it has, and how clients come to trust it. */
export function toBanner({ root, port, tlsPort, certificate }: ServedFacts): string {
  const plain = `http://localhost:${port}`
  const secure = `https://localhost:${tlsPort}`
  const width = secure.length + 3
  const lines = [
    root === null ? 'Serving test routes on loopback:' : `Serving ${toPrintable(root)} on loopback:`,
    '',
    `  ${plain.padEnd(width)}h2c (HTTP/2 by prior knowledge), HTTP/1.1`,
  ]
  if (tlsPort !== null) lines.push(`  ${secure.padEnd(width)}HTTP/2 or HTTP/1.1 by ALPN`)
  lines.push('', toBuiltInList())
  if (certificate !== null) lines.push('', ...toTrust(secure, certificate.caPath))
  lines.push('', 'Ctrl-C ends it.')
  return lines.join('\n')
}

/** A user copies these lines. */
function toTrust(origin: string, caPath: string): string[] {
  const word = toWord(caPath)
  return [
    'The certificate is signed by an authority of your own, which is in no trust store:',
    '',
    `  curl --cacert ${word} ${origin}/headers`,
    `  NODE_EXTRA_CA_CERTS=${word} node app.js`,
    `  new Agent({ connect: { ca: readFileSync(${toLiteral(caPath)}) } })`,
  ]
}

/** A word of a shell. */
function toWord(text: string): string {
  if (/^[\w./:@%+=,-]+$/.test(text)) return text
  return `'${toPrintable(text).replaceAll("'", `'\\''`)}'`
}

/** A string of JavaScript. */
function toLiteral(text: string): string {
  return /['\\]/.test(text) ? JSON.stringify(text) : `'${toPrintable(text)}'`
}
