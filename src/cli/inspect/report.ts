/**
 * The report for human readers, in sections that appear as soon as their contents are known.
 *
 * @module
 */

import type { Field } from '../../protocol/inspect/field-blocks.ts'
import type { Terminal } from '../terminal.ts'
import { toPrintable } from '../terminal.ts'
import type { CertificateFacts } from './certificate-facts.ts'
import { toDay } from './certificate-facts.ts'
import type { DialFacts, OnStep } from './dial.ts'
import type { Http2Facts, Windows } from './http2-facts.ts'
import type { Progress } from './progress.ts'
import { toSize } from './progress.ts'

const BOLD = '\u001b[1m'
const RED = '\u001b[31m'
const RESET = '\u001b[0m'

/** The width of the names in a section. */
const NAME_WIDTH = 13

/** A call's durations, in milliseconds since it began. Null: that point wasn't reached. */
export interface Times {
  /** Until the request's header section was sent. */
  request: number | null
  firstByte: number | null
  total: number
}

/** Writes to the standard error. It makes control characters from outside visible. */
export class Report {
  readonly #terminal: Terminal
  readonly #progress: Progress

  constructor(terminal: Terminal, progress: Progress) {
    this.#terminal = terminal
    this.#progress = progress
  }

  title(text: string): void {
    this.#write(text, BOLD)
  }

  line(text: string): void {
    this.#write(text, '')
  }

  item(name: string, value: string): void {
    this.line(`  ${name.padEnd(NAME_WIDTH)}${value}`)
  }

  field([name, value]: Field): void {
    this.line(`  ${name}: ${value}`)
  }

  #write(text: string, colour: string): void {
    this.#progress.clear()
    const printable = toPrintable(text)
    const isColoured = colour !== '' && this.#terminal.hasColour
    this.#terminal.warn(isColoured ? `${colour}${printable}${RESET}` : printable)
  }

  /** One step of connecting. */
  step(step: Parameters<OnStep>[0], { dns, tcp, unix, proxy, tls, certificate }: DialFacts): void {
    if (step === 'unix' && unix !== null) this.item('Unix socket', `${unix.path}  ${toMs(unix.ms)}`)
    if (step === 'dns' && dns !== null) this.item('DNS', `${dns.addresses.join(', ')}  ${toMs(dns.ms)}`)
    if (step === 'tcp' && tcp !== null) {
      const host = tcp.address.includes(':') ? `[${tcp.address}]` : tcp.address
      this.item('TCP', `${host}:${tcp.port}  ${toMs(tcp.ms)}`)
    }
    if (step === 'proxy' && proxy !== null) this.item('Tunnel', `via ${proxy.url}  ${toMs(proxy.ms)}`)
    if (step !== 'tls' || tls === null) return
    const time = tls.ms === null ? '' : `  ${toMs(tls.ms)}`
    this.item('TLS', `${tls.version}, ${tls.cipher}${time}`)
    this.item('ALPN', tls.alpn ?? 'none')
    if (certificate !== null) this.#certificate(certificate)
  }

  #certificate(certificate: CertificateFacts): void {
    const { daysLeft, isTrusted, issuer, names, reasons, subject, validFrom, validTo } = certificate
    const left = daysLeft < 0 ? `expired ${toDays(-daysLeft)} ago` : `${toDays(daysLeft)} left`
    this.title('Certificate')
    this.item('Subject', subject)
    this.item('Names', names.join(', ') || 'none')
    this.item('Issuer', issuer)
    this.item('Valid', `${toDay(validFrom)} to ${toDay(validTo)}, ${left}`)
    if (isTrusted) this.item('Trusted', 'yes')
    else this.#write(`  ${'Trusted'.padEnd(NAME_WIDTH)}no: ${reasons.join('; ')}`, RED)
  }

  http2(facts: Http2Facts): void {
    const settings = Object.entries(facts.serverSettings ?? {})
    this.title('HTTP/2')
    if (facts.serverSettings === null) this.item('SETTINGS', 'none received')
    else if (settings.length === 0) this.item('SETTINGS', 'empty')
    settings.forEach(([name, value], index) => {
      this.item(index === 0 ? 'SETTINGS' : '', `${name} ${value}`)
    })
    const { streams, headerList, frame } = facts.limits
    this.item('Limits', `${streams ?? 'any number of'} streams, frames of ${frame} bytes`)
    this.item('', `header section: ${headerList === null ? 'no limit' : `${headerList} bytes`}`)
    this.item('Windows', `the server's: ${toWindows(facts.serverWindows)}`)
    this.item('', `ours: ${toWindows(facts.clientWindows)}`)
  }

  /**
   * The end.
   *
   * @param bytes the size of the response body
   */
  end(facts: Http2Facts, times: Times, bytes: number): void {
    this.title('Times')
    if (facts.roundTrip !== null) this.item('Round trip', toMs(facts.roundTrip))
    if (times.firstByte !== null) this.item('First byte', toMs(times.firstByte))
    this.item('Total', `${toMs(times.total)}, ${toSize(bytes)}`)
  }
}

function toDays(days: number): string {
  return days === 1 ? '1 day' : `${days} days`
}

function toWindows({ stream, connection }: Windows): string {
  return `stream ${stream}, connection ${connection} bytes`
}

export function toMs(ms: number): string {
  return `${ms.toFixed(ms < 10 ? 2 : 1)} ms`
}
