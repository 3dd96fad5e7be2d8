/**
 * What a command knows about the process that it runs in.
 *
 * @module
 */

/** The signals with which users end a program: Ctrl-C, and `kill`. */
const ENDING_SIGNALS = ['SIGINT', 'SIGTERM'] as const

/** The part of an output stream that is used. */
export interface Output {
  /** Whether it is a terminal. Missing: it isn't. */
  readonly isTTY?: boolean
  /** @param callback called when the bytes were passed on, with an error if they can't be */
  write(chunk: string | Uint8Array, callback?: (error?: Error | null) => void): unknown
  /** Whether more was written than it accepts at once. Missing: unknown. */
  readonly writableNeedDrain?: boolean
  on(event: 'error', listener: (error: Error) => void): unknown
}

/** The part of `process` that is used. */
export interface ProcessLike {
  readonly env: NodeJS.ProcessEnv
  /** Created when it is first read: a program that reads no input doesn't open it. */
  readonly stdin: AsyncIterable<Uint8Array> & { readonly isTTY?: boolean }
  readonly stdout: Output
  readonly stderr: Output
  on(signal: NodeJS.Signals, listener: () => void): unknown
  off(signal: NodeJS.Signals, listener: () => void): unknown
}

/** Output, environment, and Ctrl-C. */
export class Terminal {
  readonly env: NodeJS.ProcessEnv
  readonly #process: ProcessLike
  /** For each output, settles when its last line was passed on. */
  readonly #written = new Map<Output, Promise<void>>()
  /** For each output, why its first write failed. */
  readonly #failures = new Map<Output, Error>()
  /** Outputs whose errors are listened to. */
  readonly #heard = new Set<Output>()
  #hasReadInput = false

  constructor(process: ProcessLike) {
    this.env = process.env
    this.#process = process
  }

  /** Node creates a standard stream when it is first read: one that isn't needed costs nothing at the start. */
  get #stdout(): Output {
    return this.#toHeard(this.#process.stdout)
  }

  get #stderr(): Output {
    return this.#toHeard(this.#process.stderr)
  }

  /** A server continues without its output; the exit code says so at the end. */
  #toHeard(output: Output): Output {
    if (!this.#heard.has(output)) {
      this.#heard.add(output)
      output.on('error', (error) => this.#onFailure(output, error))
    }
    return output
  }

  /** The standard input, in the pieces in which it arrives. */
  get input(): AsyncIterable<Uint8Array> {
    this.#hasReadInput = true
    return this.#process.stdin
  }

  /** Whether the standard input was opened. It keeps the process alive while its writer is there. */
  get hasReadInput(): boolean {
    return this.#hasReadInput
  }

  /** Writes one or more lines to the standard output. */
  print(text: string): void {
    this.#write(this.#stdout, `${text}\n`)
  }

  /** Writes a text to the standard output as it is. */
  put(text: string): void {
    this.#write(this.#stdout, text)
  }

  /** Writes one or more lines to the standard error. */
  warn(text: string): void {
    this.#write(this.#stderr, `${text}\n`)
  }

  #write(output: Output, text: string): void {
    const written = new Promise<void>((resolve) => {
      output.write(text, (error) => {
        if (error) this.#onFailure(output, error)
        resolve()
      })
    })
    this.#written.set(output, written)
  }

  #onFailure(output: Output, error: Error): void {
    if (!this.#failures.has(output)) this.#failures.set(output, error)
  }

  /**
   * Why the output is incomplete, for example because the disk is full. Null if it is complete, or if a pipe's reader
   * has left, as `head` does.
   */
  get failure(): string | null {
    for (const [output, error] of this.#failures) {
      if (hasLeft(error)) continue
      const name = output === this.#process.stdout ? 'output' : 'error'
      return `can't write to the standard ${name}: ${error.message}`
    }
    return null
  }

  /**
   * Settles when the standard error accepts more: its reader may be slower than what is shown.
   *
   * @returns null if it accepts more now
   */
  errorRoom(): Promise<void> | null {
    const stderr = this.#stderr
    return stderr.writableNeedDrain === true ? (this.#written.get(stderr) ?? null) : null
  }

  /**
   * Settles when all lines were passed on, or their reader has left. A pipe takes 64 KiB; `process.exit()` loses the
   * rest. It doesn't wait for {@link writeBytes}.
   */
  async flush(): Promise<void> {
    await Promise.all(this.#written.values())
  }

  /** Writes to the standard error as it is: control sequences, if it is a terminal. */
  draw(text: string): void {
    this.#stderr.write(text)
  }

  /**
   * Writes bytes to the standard output. Settles when they were passed on.
   *
   * @returns false if they can't be: {@link Terminal.failure} says whether that is an error
   */
  writeBytes(bytes: Uint8Array): Promise<boolean> {
    const stdout = this.#stdout
    return new Promise((resolve) => {
      stdout.write(bytes, (error) => {
        if (error) this.#onFailure(stdout, error)
        resolve(!error)
      })
    })
  }

  /** Whether a user sees the standard output. */
  get isOutputTerminal(): boolean {
    return this.#process.stdout.isTTY === true
  }

  /** Whether a user sees the standard error. */
  get isErrorTerminal(): boolean {
    return this.#process.stderr.isTTY === true
  }

  /** Whether the standard error uses colours: on a terminal that has them, and without NO_COLOR (no-color.org). */
  get hasColour(): boolean {
    return this.isErrorTerminal && !this.env.NO_COLOR && this.env.TERM !== 'dumb'
  }

  /** Whether there is a user who can answer. */
  get canAsk(): boolean {
    return this.isErrorTerminal && this.#process.stdin.isTTY === true
  }

  /** Asks a question, and reads a line. False unless that is `y` or `yes`. This uses up the standard input. */
  async ask(question: string): Promise<boolean> {
    this.#stderr.write(`${question} (y/N) `)
    for await (const piece of this.input) return /^y(es)?$/i.test(Buffer.from(piece).toString().trim())
    return false
  }

  /** Settles at Ctrl-C or SIGTERM. From then on, another signal ends the process at once. */
  interrupted(): Promise<void> {
    return new Promise((resolve) => {
      const onSignal = (): void => {
        for (const signal of ENDING_SIGNALS) this.#process.off(signal, onSignal)
        resolve()
      }
      for (const signal of ENDING_SIGNALS) this.#process.on(signal, onSignal)
    })
  }
}

/** Whether a pipe's reader has left. */
function hasLeft(error: Error): boolean {
  return 'code' in error && error.code === 'EPIPE'
}

/** A text from outside, without anything that a terminal would obey: each control character becomes `\xNN`. */
export function toPrintable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is replaced.
  return text.replace(/[\u0000-\u001f\u007f-\u009f]/g, (character) => {
    return `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`
  })
}
