import { Blob } from 'node:buffer'
import { ReadableStream } from 'node:stream/web'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Agent, install, UpstreamPool, uninstall } from '../../src/index.ts'
import type { ConnectionScript } from '../../src/testing/fault-connection.ts'
import type { FaultStream } from '../../src/testing/fault-stream.ts'
import { frames } from '../../src/testing/frames.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { NO_ERROR, REFUSED_STREAM } from '../support/peers/error-codes.ts'
import { SERVE, startPeer } from '../support/peers/peer-rig.ts'
import { findFreePort } from '../support/servers/free-port.ts'
import type { AnyBody, NamedFetch } from './fetch-fetches.ts'
import { FETCHES } from './fetch-fetches.ts'

const TEXT = 'dodici è più di undici, '.repeat(200)
const BYTES = new TextEncoder().encode(TEXT)

interface Kind {
  readonly what: string
  make(fetch: NamedFetch): AnyBody
}

function fillForm({ FormData }: NamedFetch): AnyBody {
  const form = new FormData()
  form.append('name', TEXT)
  form.append('file', new Blob([BYTES], { type: 'text/plain' }), 'dodici.txt')
  return form
}

/** The bodies whose length fetch knows. */
const KINDS: readonly Kind[] = [
  { what: 'a string', make: () => TEXT },
  { what: 'a Uint8Array', make: () => BYTES },
  { what: 'URLSearchParams', make: () => new URLSearchParams({ text: TEXT }) },
  { what: 'a FormData', make: fillForm },
  { what: 'a Blob', make: () => new Blob([BYTES, BYTES]) },
]

interface Refusal {
  readonly what: string
  refuse(stream: FaultStream): void
}

/** How a server says that it hasn't processed a request: it sends nothing else. */
const REFUSALS: readonly Refusal[] = [
  { what: 'was refused with REFUSED_STREAM', refuse: (stream) => stream.reset(REFUSED_STREAM) },
  {
    what: 'was left out by a GOAWAY',
    refuse: ({ connection, id }) => connection.write(frames.goAway(id - 2, NO_ERROR)),
  },
]

function toStream(): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode('small'))
      controller.close()
    },
  })
}

/** Two connections: the first one answers a GET, and refuses the first POST at the first bytes of its body. */
async function start({ refuse }: Refusal) {
  let isRefused = false
  const script: ConnectionScript = {
    // Credit for the body would contradict the refusal.
    grantsCredit: false,
    onData: (stream) => {
      if (isRefused || stream.method !== 'POST') return
      isRefused = true
      refuse(stream)
    },
    onComplete: (stream) => stream.respond(),
  }
  const peer = await startPeer([script, SERVE])
  const toPosts = () => peer.requests.filter(({ method }) => method === 'POST')
  return { peer, toPosts }
}

/** What came, and what `content-length` has announced. */
function toLength(stream: FaultStream | undefined): [length: number, announced: number] {
  const { headers = [], text = '' } = stream ?? {}
  return [Buffer.byteLength(text), Number(headers.find(([name]) => name === 'content-length')?.[1])]
}

describe.each(ENGINES)('over engine %s, a POST', (engine) => {
  function toAgent(): Agent {
    const agent = destroyWithTest(new Agent({ h2c: true, engine, connections: 1 }))
    return agent
  }

  describe.each(FETCHES)('of $name', (named) => {
    const { fetch, Request } = named

    describe.each(REFUSALS)('that $what', (refusal) => {
      it.each(KINDS)('is sent again if its body is $what', async ({ make }) => {
        const { peer, toPosts } = await start(refusal)
        const dispatcher = toAgent()
        await (await fetch(`${peer.origin}/warm`, { dispatcher })).text()
        const body = make(named)
        const response = await fetch(`${peer.origin}/a`, { dispatcher, method: 'POST', body })
        expect([response.status, await response.text()]).toEqual([200, 'POST /a'])
        const posts = toPosts()
        expect(posts).toHaveLength(2)
        const [received, announced] = toLength(posts[1])
        expect(received).toBe(announced)
        if (body === TEXT) expect(posts[1]?.text).toBe(TEXT)
      })

      it('is sent again if its body is that of a Request', async () => {
        const { peer, toPosts } = await start(refusal)
        const dispatcher = toAgent()
        await (await fetch(`${peer.origin}/warm`, { dispatcher })).text()
        const request = new Request(`${peer.origin}/a`, { method: 'POST', body: TEXT })
        expect(await (await fetch(request, { dispatcher })).text()).toBe('POST /a')
        expect(toPosts().map(({ text }) => text.length === 0 || text === TEXT)).toEqual([true, true])
      })

      it('fails as not processed if its body is a stream', async () => {
        const { peer, toPosts } = await start(refusal)
        const dispatcher = toAgent()
        await (await fetch(`${peer.origin}/warm`, { dispatcher })).text()
        const init = { method: 'POST', body: toStream(), duplex: 'half' } as const
        const failure = await fetch(`${peer.origin}/a`, { dispatcher, ...init }).catch((error) => error)
        expect(failure.cause).toMatchObject({ processed: 'no', attempts: 1 })
        expect(toPosts()).toHaveLength(1)
      })
    })

    it('goes out together with others before the server has said its SETTINGS', async () => {
      const peer = await startPeer(SERVE)
      const dispatcher = toAgent()
      const paths = ['/a', '/b', '/c']
      const responses = await Promise.all(
        paths.map((path) => fetch(`${peer.origin}${path}`, { dispatcher, method: 'POST', body: TEXT })),
      )
      expect(await Promise.all(responses.map((response) => response.text()))).toEqual([
        'POST /a',
        'POST /b',
        'POST /c',
      ])
    })

    it('goes to another upstream of an UpstreamPool', async () => {
      const peer = await startPeer(SERVE)
      const pool = destroyWithTest(
        new UpstreamPool([`http://127.0.0.1:${await findFreePort()}`, peer.origin], { engine }),
      )
      // Whichever upstream gets the first, one of two requests begins at the one that isn't there.
      for (const path of ['/a', '/b']) {
        const init = { dispatcher: pool as unknown as Agent, method: 'POST', body: TEXT }
        expect(await (await fetch(`http://service.example${path}`, init)).text()).toBe(`POST ${path}`)
      }
      expect(peer.requests.map(({ text }) => text === TEXT)).toEqual([true, true])
    })
  })

  it.each(
    REFUSALS,
  )('of the built-in fetch, by an agent that is installed, is sent again when it $what', async (refusal) => {
    const { peer, toPosts } = await start(refusal)
    install(toAgent())
    onTestFinished(uninstall)
    await (await fetch(`${peer.origin}/warm`)).text()
    const response = await fetch(`${peer.origin}/a`, { method: 'POST', body: TEXT })
    expect(await response.text()).toBe('POST /a')
    expect(toPosts()).toHaveLength(2)
  })
})
