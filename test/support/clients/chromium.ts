import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PROGRAM_ENV } from '../../../scripts/program-env.mjs'
import { lacks, requireProgram } from '../servers/programs.ts'

export const lacksChromium = lacks('chromium')

const ARGS = [
  '--headless',
  // Root, as in most containers, gets no sandbox; and what is loaded here is our own.
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--disable-dev-shm-usage',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-breakpad',
  '--remote-debugging-pipe',
]

/** The messages of the DevTools protocol: a response has the id of its command, an event has a method. */
interface Message {
  readonly id?: number
  readonly method?: string
  readonly params?: Readonly<Record<string, unknown>>
  readonly result?: Readonly<Record<string, unknown>>
  readonly error?: { readonly message: string }
}

type Facts = Readonly<Record<string, unknown>>

/** A browser without a window, with one empty page. */
export interface Browser {
  /** Sends a command of the DevTools protocol to the page. */
  send(method: string, params?: Facts): Promise<Facts>
  /** What the page has said since this was last asked for. */
  takeEvents(): { method: string; params: Facts }[]
  /** Opens an address, and settles once all of it is there. */
  open(url: string): Promise<void>
  /** The value of an expression in the page; JSON can write it. */
  evaluate<T>(expression: string): Promise<T>
  /** Ends it, with all that it left on the disk. */
  close(): Promise<void>
}

/** A colour scheme that a reader's system prefers. */
export type Scheme = 'light' | 'dark'

/** Lets the page see a system that prefers a colour scheme. */
export async function prefer(browser: Browser, scheme: Scheme): Promise<void> {
  await browser.send('Emulation.setEmulatedMedia', {
    features: [{ name: 'prefers-color-scheme', value: scheme }],
  })
}

/** Gives the window a width, in CSS pixels. */
export async function resize(browser: Browser, width: number): Promise<void> {
  await browser.send('Emulation.setDeviceMetricsOverride', {
    width,
    height: 900,
    deviceScaleFactor: 1,
    mobile: false,
  })
}

/**
 * What the page has asked for on a network, what its scripts said, and what the browser didn't like, since this or `takeEvents()` was called.
 *
 * @param isExpected says whether the page may ask for a URL
 */
export function takeComplaints(browser: Browser, isExpected: (url: string) => boolean): string[] {
  return browser.takeEvents().flatMap(({ method, params }) => {
    switch (method) {
      case 'Network.requestWillBeSent': {
        const { request } = params
        const url =
          typeof request === 'object' && request !== null && 'url' in request ? request.url : undefined
        return isExpected(String(url)) ? [] : [JSON.stringify(params)]
      }
      case 'Runtime.consoleAPICalled':
      case 'Runtime.exceptionThrown':
      case 'Log.entryAdded':
      case 'Page.javascriptDialogOpening':
        return [JSON.stringify(params)]
      default:
        return []
    }
  })
}

/** Starts Debian's Chromium. Nothing is asked for on a network: it is spoken to over a pipe. */
export async function startChromium(): Promise<Browser> {
  requireProgram('chromium')
  const folder = await mkdtemp(join(tmpdir(), 'dodici-chromium-'))
  const child = spawn('chromium', [...ARGS, `--user-data-dir=${folder}`], {
    stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'],
    // A group of its own, so that its helpers end with it.
    detached: true,
    env: { ...PROGRAM_ENV, TMPDIR: folder },
  })
  const closed = new Promise<void>((resolve) => child.on('error', ignore).on('close', () => resolve()))
  const close = async (): Promise<void> => {
    endGroup(child)
    await closed
    // Its helpers may write a last time.
    await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 })
  }
  try {
    return await openPage(new Pipe(child, closed), close)
  } catch (error) {
    await close()
    throw error
  }
}

function endGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It has ended by itself.
  }
}

async function openPage(pipe: Pipe, close: () => Promise<void>): Promise<Browser> {
  const { targetId } = await pipe.send('Target.createTarget', { url: 'about:blank' })
  const { sessionId } = await pipe.send('Target.attachToTarget', { targetId, flatten: true })
  const send = (method: string, params: Facts = {}): Promise<Facts> => pipe.send(method, params, sessionId)
  for (const domain of ['Page', 'Runtime', 'Log', 'Network']) await send(`${domain}.enable`)
  return {
    send,
    close,
    takeEvents: () => pipe.events.splice(0),
    async open(url) {
      const loaded = pipe.next('Page.loadEventFired')
      const { errorText } = await send('Page.navigate', { url })
      if (errorText !== undefined) throw new Error(`${url}: ${errorText}`)
      await loaded
    },
    async evaluate<T>(expression: string): Promise<T> {
      const { result, exceptionDetails } = await send('Runtime.evaluate', {
        expression: `JSON.stringify(${expression})`,
        awaitPromise: true,
      })
      if (exceptionDetails !== undefined) throw new Error(JSON.stringify(exceptionDetails))
      const value = typeof result === 'object' && result !== null && 'value' in result ? result.value : ''
      const parsed: T = JSON.parse(String(value))
      return parsed
    },
  }
}

/**
 * The DevTools protocol over the pipes that Chromium has as its descriptors 3 and 4: JSON, each with a zero behind it.
 */
class Pipe {
  readonly events: { method: string; params: Facts }[] = []
  readonly #out: Socket
  readonly #waiting = new Map<number, { resolve(facts: Facts): void; reject(error: Error): void }>()
  readonly #listeners = new Map<string, () => void>()
  #lastId = 0
  #rest = ''
  #said = ''
  #hasEnded = false

  constructor(child: ChildProcess, closed: Promise<void>) {
    const [, , , out, input] = child.stdio
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#said += text
    })
    this.#out = toSocket(out)
    const onData = (text: string): void => this.#take(text)
    toSocket(input).setEncoding('utf8').on('data', onData).on('error', ignore)
    // Both fail when it ends in the middle; `closed` tells the caller that waits.
    this.#out.on('error', ignore)
    void closed.then(() => {
      this.#hasEnded = true
      for (const { reject } of this.#waiting.values()) reject(this.#toEndError())
    })
  }

  send(method: string, params: Facts, sessionId?: unknown): Promise<Facts> {
    if (this.#hasEnded) return Promise.reject(this.#toEndError())
    const id = ++this.#lastId
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject })
      this.#out.write(`${JSON.stringify({ id, method, params, sessionId })}\0`)
    })
  }

  /** Settles once this is told after now. */
  next(method: string): Promise<void> {
    return new Promise((resolve) => this.#listeners.set(method, resolve))
  }

  #take(text: string): void {
    const messages = (this.#rest + text).split('\0')
    this.#rest = messages.pop() ?? ''
    for (const message of messages) this.#hear(JSON.parse(message))
  }

  #hear({ id, method, params = {}, result = {}, error }: Message): void {
    if (method !== undefined) {
      this.events.push({ method, params })
      this.#listeners.get(method)?.()
      this.#listeners.delete(method)
    } else if (id !== undefined) {
      const waiting = this.#waiting.get(id)
      this.#waiting.delete(id)
      if (error === undefined) waiting?.resolve(result)
      else waiting?.reject(new Error(error.message))
    }
  }

  #toEndError(): Error {
    return new Error(`Chromium has ended (see scripts/install-servers.sh). It said: ${this.#said}`)
  }
}

function toSocket(stream: unknown): Socket {
  if (stream instanceof Socket) return stream
  throw new Error('Chromium has no such pipe')
}

function ignore(): void {}
