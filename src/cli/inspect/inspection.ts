/**
 * One call of `dodici URL`: connects, sends, receives, and reports.
 *
 * @module
 */

import type { Dispatcher } from '../../../types/dispatcher.ts'
import type { RawResponseData } from '../../../types/response.ts'
import type { Field } from '../../protocol/inspect/field-blocks.ts'
import type { FrameDetails } from '../../protocol/inspect/frame-details.ts'
import { toFrameDetails, toFrameLines } from '../../protocol/inspect/frame-details.ts'
import type { ObservedFrame } from '../../protocol/inspect/frame-observer.ts'
import { SecretFilter } from '../../protocol/inspect/secrets.ts'
import type { ExitCode } from '../cli-error.ts'
import { CliError, EXIT } from '../cli-error.ts'
import { hasField } from '../request-options.ts'
import type { Terminal } from '../terminal.ts'
import { toPrintable } from '../terminal.ts'
import type { BodyOutput } from './body-output.ts'
import { FileOutput, TerminalOutput, TextOutput } from './body-output.ts'
import { toDispatcher } from './connection.ts'
import { toDecoded } from './decoded.ts'
import type { DialFacts, OpenSocket } from './dial.ts'
import { openSocket, toNoFacts } from './dial.ts'
import type { ResponseFacts } from './document.ts'
import { toDocument } from './document.ts'
import type { Failure } from './failure.ts'
import { toFailure, toFailureText, toFaultFailure } from './failure.ts'
import { Http2Facts } from './http2-facts.ts'
import type { Plan } from './plan.ts'
import { Progress } from './progress.ts'
import { isRedirect } from './redirect.ts'
import type { Times } from './report.ts'
import { Report } from './report.ts'
import { toWriteOut } from './write-out.ts'

/** How many frames `--json` keeps at most. */
const MAX_FRAMES = 10_000

/** Runs once. */
export class Inspection {
  readonly #plan: Plan
  readonly #terminal: Terminal
  readonly #secrets: SecretFilter
  readonly #progress: Progress
  /** Null with `--json` and `--silent`. */
  readonly #report: Report | null
  /** Shows frames: with `--verbose`, even with `--silent`, as in curl. Null with `--json`. */
  readonly #log: Report | null
  readonly #dial: DialFacts = toNoFacts()
  readonly #http2: Http2Facts
  /** With `--json -v`; null otherwise. */
  readonly #frames: FrameDetails[] | null
  /** Ends the call: its reason is a CliError. */
  readonly #signal: AbortSignal
  readonly #open: OpenSocket
  /** When the client began to connect: loading the program doesn't count. */
  #start = performance.now()
  #location: string | null = null
  #response: ResponseFacts | null = null
  /** Whether the sections about the connection and the request have been reported. */
  #hasReportedExchange = false

  /**
   * @param signal ends the call: its reason is a CliError
   * @param open how a direct connection begins
   */
  constructor(plan: Plan, terminal: Terminal, signal: AbortSignal, open: OpenSocket = openSocket) {
    this.#signal = signal
    this.#open = open
    this.#plan = plan
    this.#terminal = terminal
    this.#secrets = new SecretFilter(plan.showsSecrets, plan.fields)
    // A body that goes to the terminal shows its own progress.
    const isBodyElsewhere = !terminal.isOutputTerminal || (plan.output !== null && plan.output !== '-')
    this.#progress = new Progress(terminal, isBodyElsewhere && !plan.isJson && !plan.isSilent)
    this.#log = plan.isJson || !plan.isVerbose ? null : new Report(terminal, this.#progress)
    this.#report = plan.isJson || plan.isSilent ? null : new Report(terminal, this.#progress)
    this.#frames = plan.isJson && plan.isVerbose ? [] : null
    this.#http2 = new Http2Facts((frame) => this.#onFrame(frame))
  }

  /** @returns the exit code, after everything was reported */
  async run(): Promise<ExitCode> {
    let failure: Failure | null = null
    try {
      await this.#call()
    } catch (error) {
      if (this.#signal.aborted || !this.#takeMisdirected()) failure = toFailure(error, this.#http2)
    }
    const { fault } = this.#http2
    return this.#end(failure ?? (fault === null ? null : toFaultFailure(fault)))
  }

  /** Where the response leads, if redirects are followed; null if this call was the last. */
  get location(): string | null {
    return this.#location
  }

  /** The response's status; 0 before it. */
  get status(): number {
    return this.#response?.status ?? 0
  }

  async #call(): Promise<void> {
    const { isSchemeAssumed, url } = this.#plan.target
    const shown = this.#secrets.toShownText(url.href)
    this.#report?.title(`${this.#plan.method} ${shown}${isSchemeAssumed ? '  (the scheme is assumed)' : ''}`)
    const dispatcher = await toDispatcher(this.#plan, {
      facts: this.#dial,
      onStep: (step) => this.#report?.step(step, this.#dial),
      tap: this.#http2,
      onDial: () => {
        this.#start = performance.now()
      },
      open: this.#open,
      room: () => (this.#plan.isVerbose ? this.#terminal.errorRoom() : null),
    })
    try {
      this.#signal.throwIfAborted()
      await this.#exchange(dispatcher)
    } finally {
      // This ends the connection, and with it the rest of an upload.
      await dispatcher.destroy()
    }
  }

  async #exchange(dispatcher: Dispatcher): Promise<void> {
    const { fields, method, target, upload } = this.#plan
    const { origin, pathname, search } = target.url
    const isLengthKnown = upload.size !== null && !hasField(fields, 'content-length')
    const length = isLengthKnown ? ['content-length', String(upload.size)] : []
    this.#progress.begin()
    const response = await dispatcher.request({
      origin,
      path: `${pathname}${search}`,
      method,
      headers: [...fields.flat(), ...length],
      body: upload.body,
      responseHeaders: 'raw',
      onInfo: ({ statusCode, headers }) => {
        this.#report?.title(`Informational response ${statusCode}`)
        // With `responseHeaders: 'raw'`, they are a flat list here, too.
        const fields = toPairs(Object.values(headers).map(String))
        for (const field of this.#secrets.toShownFields(fields)) this.#report?.field(field)
      },
      signal: this.#signal,
    })
    const headers = toPairs(response.headers)
    const facts = {
      status: response.statusCode,
      headers,
      trailers: [],
      bytes: 0,
      text: null,
      isTruncated: false,
    }
    this.#response = facts
    this.#reportExchange()
    this.#reportHeaders(facts)
    await this.#receive(response, facts)
  }

  async #receive({ body, trailers }: RawResponseData, facts: ResponseFacts): Promise<void> {
    const location = facts.headers.find(([name]) => name === 'location')?.[1]
    if (this.#plan.followsRedirects && isRedirect(facts.status, location)) this.#location = location
    const output = await this.#openOutput()
    if (this.#plan.includesHeaders && this.#location === null)
      await this.#terminal.writeBytes(Buffer.from(this.#toHeaderText(facts)))
    const total = toLength(facts.headers)
    this.#progress.begin()
    try {
      const received = this.#count(body, facts, total)
      const content = this.#plan.decodes ? toDecoded(received, facts.headers) : received
      for await (const piece of content) {
        // A pipe's reader may never take it.
        if (!(await orAborted(output.write(piece), this.#signal))) return
      }
    } finally {
      this.#progress.clear()
      await output.end()
      if (output instanceof TextOutput)
        Object.assign(facts, { text: output.text, isTruncated: output.isTruncated })
    }
    facts.trailers = toPairs(trailers)
    if (!this.#plan.showsTrailers) return
    this.#report?.title(trailers.length === 0 ? 'Trailers: none' : 'Trailers')
    for (const field of this.#secrets.toShownFields(facts.trailers)) this.#report?.field(field)
  }

  /** Counts a body's bytes as they arrive, before it is decoded. */
  async *#count(
    body: AsyncIterable<Buffer>,
    facts: ResponseFacts,
    total: number | null,
  ): AsyncGenerator<Buffer> {
    for await (const piece of body) {
      facts.bytes += piece.length
      this.#progress.update('received', facts.bytes, total)
      yield piece
    }
  }

  /**
   * The client drops a 421 to send the request again over another connection (RFC 9110 §15.5.20), and there is none, so
   * its header section is taken from its frame.
   *
   * @returns false if there was none, or the client has passed it on
   */
  #takeMisdirected(): boolean {
    const { misdirected } = this.#http2
    if (misdirected === null || this.#response !== null) return false
    const headers = misdirected.fields.filter(([name]) => name !== ':status')
    this.#response = { status: 421, headers, trailers: [], bytes: 0, text: null, isTruncated: true }
    this.#reportExchange()
    this.#reportHeaders(this.#response)
    this.#report?.line('  (the body of a 421 is not shown)')
    return true
  }

  async #openOutput(): Promise<BodyOutput> {
    const { isJson, output } = this.#plan
    if (this.#location !== null) return NO_OUTPUT
    if (output !== null && output !== '-') return FileOutput.open(output)
    return isJson ? new TextOutput() : new TerminalOutput(this.#terminal, output === null)
  }

  #onFrame(frame: ObservedFrame): void {
    const { sent, size } = this.#plan.upload
    if (sent.bytes > 0 && !this.#http2.hasResponse) this.#progress.update('sent', sent.bytes, size)
    if (!this.#plan.isVerbose) return
    const details = toFrameDetails(frame, this.#start, this.#secrets)
    if (this.#frames !== null) {
      if (this.#frames.length < MAX_FRAMES) this.#frames.push(details)
      return
    }
    for (const line of toFrameLines(details)) this.#log?.line(line)
  }

  /** What the frames have said so far, and the request as it was sent. */
  #reportExchange(): void {
    if (this.#hasReportedExchange || this.#http2.clientSettings === null) return
    this.#hasReportedExchange = true
    this.#report?.http2(this.#http2)
    const { requestFields } = this.#http2
    if (requestFields === null) return
    this.#report?.title('Request')
    for (const field of this.#secrets.toShownFields(requestFields)) this.#report?.field(field)
  }

  #reportHeaders({ headers, status }: ResponseFacts): void {
    this.#report?.title(`Response ${status}`)
    const shown = this.#secrets.toShownFields(headers)
    for (const field of this.#plan.isRaw ? shown : join(shown)) this.#report?.field(field)
  }

  /** As HTTP/1.1 would write it, and curl shows it. */
  #toHeaderText({ headers, status }: ResponseFacts): string {
    const lines = this.#secrets.toShownFields(headers).map(([name, value]) => `${name}: ${value}`)
    return [`HTTP/2 ${status} `, ...lines.map(toPrintable), '', ''].join('\r\n')
  }

  #writeOut(format: string, times: Times, exitCode: ExitCode, error: string): void {
    const { method, redirects, target, upload } = this.#plan
    const response = this.#response
    const text = toWriteOut(format, {
      url: this.#secrets.toShownText(target.url.href),
      method,
      status: response?.status ?? 0,
      headers: this.#secrets.toShownFields(response?.headers ?? []),
      bytesReceived: response?.bytes ?? 0,
      bytesSent: upload.sent.bytes > 0 ? upload.sent.bytes : (upload.size ?? 0),
      redirects: redirects.length,
      dial: this.#dial,
      times,
      exitCode,
      error,
    })
    this.#terminal.put(text)
  }

  #end(failure: Failure | null): ExitCode {
    const response = this.#response
    const toTime = (at: number | null): number | null => (at === null ? null : at - this.#start)
    const times = {
      request: toTime(this.#http2.requestedAt),
      firstByte: response === null ? null : toTime(this.#http2.respondedAt),
      total: (this.#http2.endedAt ?? performance.now()) - this.#start,
    }
    const isRefused = this.#plan.fails && response !== null && response.status >= 400
    const exitCode = failure?.exitCode ?? (isRefused ? EXIT.status : EXIT.ok)
    const [plan, dial, http2, frames] = [this.#plan, this.#dial, this.#http2, this.#frames]
    if (failure !== null) this.#location = null
    if (this.#location !== null) {
      this.#report?.end(http2, times, response?.bytes ?? 0)
      return EXIT.ok
    }
    if (plan.isJson) {
      const outcome = { plan, dial, http2, response, times, frames, failure, exitCode }
      this.#terminal.print(toJson(toDocument(outcome, this.#secrets)))
    }
    this.#reportExchange()
    this.#report?.end(http2, times, response?.bytes ?? 0)
    const text =
      failure === null
        ? `the status is ${response?.status}`
        : this.#secrets.toShownText(toFailureText(failure, http2.requestFields !== null))
    if (plan.writeOut !== null)
      this.#writeOut(plan.writeOut, times, exitCode, exitCode === EXIT.ok ? '' : text)
    if (exitCode !== EXIT.ok) throw new CliError(text, exitCode)
    return exitCode
  }
}

/** Accepts the body of a redirect that is followed. */
const NO_OUTPUT: BodyOutput = { write: async () => true, end: async () => {} }

/** JSON without control characters: `JSON.stringify()` keeps DEL and C1, which terminals obey. */
function toJson(document: object): string {
  return JSON.stringify(document, null, 2).replace(/[\u007f-\u009f]/g, (character) => {
    return `\\u00${character.charCodeAt(0).toString(16)}`
  })
}

/** @throws the signal's reason, if that comes first */
function orAborted<Result>(operation: Promise<Result>, signal: AbortSignal): Promise<Result> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    operation.finally(() => signal.removeEventListener('abort', onAbort)).then(resolve, reject)
  })
}

/** Joins fields with the same name, as in an object; `set-cookie` stays separate (RFC 9110 §5.3). */
function join(fields: readonly Field[]): Field[] {
  const joined = new Map<string | Field, Field>()
  for (const field of fields) {
    const [name, value] = field
    const known = name === 'set-cookie' ? undefined : joined.get(name)
    if (known === undefined) joined.set(name === 'set-cookie' ? field : name, field)
    else joined.set(name, [name, `${known[1]}, ${value}`])
  }
  return [...joined.values()]
}

/** The body's size in bytes; null for unknown. */
function toLength(headers: readonly Field[]): number | null {
  const [, text = ''] = headers.find(([name]) => name === 'content-length') ?? []
  return /^\d{1,15}$/.test(text) ? Number(text) : null
}

/** @param list `[name, value, …]` */
function toPairs(list: readonly string[]): Field[] {
  const pairs: Field[] = []
  for (let i = 0; i + 1 < list.length; i += 2) pairs.push([list[i] ?? '', list[i + 1] ?? ''])
  return pairs
}
