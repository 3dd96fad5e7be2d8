/**
 * The text for `--write-out`, with curl's names.
 *
 * @module
 */

import type { Field } from '../../protocol/inspect/field-blocks.ts'
import type { DialFacts } from './dial.ts'
import type { Times } from './report.ts'

/** What a format can name. */
export interface WriteOutFacts {
  readonly url: string
  readonly method: string
  /** 0: no response. */
  readonly status: number
  readonly headers: readonly Field[]
  readonly bytesReceived: number
  readonly bytesSent: number
  readonly redirects: number
  readonly dial: DialFacts
  readonly times: Times
  readonly exitCode: number
  readonly error: string
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', '\\': '\\' }

/**
 * In seconds, as in curl.
 *
 * @param ms null: that point wasn't reached
 */
function toSeconds(ms: number | null): string {
  return ((ms ?? 0) / 1_000).toFixed(6)
}

/** Replaces `%{name}`, `%header{name}`, `%%` and `\n`. An unknown name is replaced with nothing, as in curl. */
export function toWriteOut(format: string, facts: WriteOutFacts): string {
  const values = toValues(facts)
  return format.replace(
    /\\([nrt\\])|%%|%\{([a-z0-9_]*)\}|%header\{([^}]*)\}/gi,
    (text, letter?: string, name?: string, field?: string) => {
      if (letter !== undefined) return ESCAPES[letter] ?? text
      if (name !== undefined) return values[name.toLowerCase()] ?? ''
      if (field === undefined) return '%'
      return facts.headers.find(([each]) => each === field.toLowerCase())?.[1] ?? ''
    },
  )
}

function toValues(facts: WriteOutFacts): Readonly<Record<string, string>> {
  const { dial, times, status, headers } = facts
  const { dns, tcp, tls, unix } = dial
  const lookedUp = dns?.ms ?? 0
  const connected = tcp === null && unix === null ? null : lookedUp + (tcp?.ms ?? 0) + (unix?.ms ?? 0)
  const secured = tls === null || connected === null ? null : connected + (tls.ms ?? 0)
  return {
    http_code: String(status).padStart(3, '0'),
    response_code: String(status).padStart(3, '0'),
    http_version: status === 0 ? '0' : '2',
    time_namelookup: toSeconds(lookedUp),
    time_connect: toSeconds(connected),
    time_appconnect: toSeconds(secured),
    time_pretransfer: toSeconds(times.request),
    time_starttransfer: toSeconds(times.firstByte),
    time_total: toSeconds(times.total),
    size_download: String(facts.bytesReceived),
    size_upload: String(facts.bytesSent),
    num_redirects: String(facts.redirects),
    content_type: headers.find(([name]) => name === 'content-type')?.[1] ?? '',
    method: facts.method,
    remote_ip: tcp?.address ?? '',
    remote_port: tcp === null ? '' : String(tcp.port),
    url: facts.url,
    url_effective: facts.url,
    exitcode: String(facts.exitCode),
    errormsg: facts.error,
  }
}
