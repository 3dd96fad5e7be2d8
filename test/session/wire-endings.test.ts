import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { ConnectionScript } from '../../src/testing/fault-connection.ts'
import { Flag, frames } from '../../src/testing/frames.ts'
import type { DispatchController } from '../../types/index.ts'
import { Recorder } from '../support/clients/recorder.ts'
import { CANCEL, NO_ERROR } from '../support/peers/error-codes.ts'
import { heard, startHarness, startPeer, toOutcomes } from '../support/peers/peer-rig.ts'

const GET = { method: 'GET', path: '/' } as const

/** Holds its response back from the header on, until the test lets it go. */
class HeldReader extends Recorder {
  override onResponseStart(controller: DispatchController, status: number, headers: object): void {
    super.onResponseStart(controller, status, { ...headers })
    controller.pause()
  }
}

async function start(script: ConnectionScript = {}) {
  const peer = await startPeer({ onComplete: (stream) => stream.respond(), ...script })
  const harness = startHarness(peer, { engine: 'wire' })
  await harness.dispatch({ ...GET, path: '/first' }).settled
  const connection = peer.connection(0)
  /** Until both sides have done all that they can do by themselves. */
  const quiet = async (): Promise<void> => {
    for (let turn = 0; turn < 5; turn++) {
      await connection.ping()
      await setImmediate()
    }
  }
  return { peer, harness, connection, quiet }
}

describe('a response on engine wire that is complete before the upload', () => {
  async function startUpload() {
    const scene = await start({
      onComplete: (stream) => stream.path === '/first' && stream.respond(),
      // Credit would show that it has accepted the upload.
      grantsCredit: false,
    })
    const source = new Readable({ read() {} })
    const call = scene.harness.dispatch({ method: 'POST', path: '/upload', body: source })
    source.push('one ')
    await scene.peer.waitFor(() => scene.peer.requests[1]?.text === 'one ')
    return { ...scene, source, call, stream: scene.peer.request('/upload') }
  }

  it('completes the call, destroys the source, and cancels the stream', async () => {
    const { call, source, stream, peer, harness } = await startUpload()
    stream.head(200)
    stream.end('early')
    expect(await toOutcomes([call])).toEqual(['early'])
    expect(source.destroyed).toBe(true)
    await peer.waitFor(() => stream.resetCode === CANCEL)
    expect(stream.isComplete).toBe(false)
    expect(harness.scheduler).toMatchObject({ pending: 0, running: 0 })
  })

  it('reports no error of a source that ends along with the reset', async () => {
    const { call, source, stream, quiet, harness } = await startUpload()
    source.push('two')
    source.push(null)
    stream.reset(CANCEL)
    expect(await toOutcomes([call])).toEqual(['StreamError maybe code=8 attempts=1 stream=3'])
    await quiet()
    expect(call.events).toEqual(['start', 'error'])
    expect(harness.scheduler).toMatchObject({ pending: 0, running: 0 })
  })
})

describe('an unread response on engine wire that is complete before the upload', () => {
  async function startHeldUpload() {
    const scene = await start({ onComplete: (stream) => stream.path === '/first' && stream.respond() })
    const source = new Readable({ read() {} })
    const options = { method: 'POST', path: '/upload', body: source } as const
    const call = scene.harness.dispatch(options, new HeldReader())
    source.push('one ')
    await scene.peer.waitFor(() => scene.peer.requests[1]?.text === 'one ')
    const stream = scene.peer.request('/upload')
    stream.head(200)
    stream.end('early')
    await scene.quiet()
    return { ...scene, source, call, stream }
  }

  const expectEarly = async (call: Recorder, source: Readable): Promise<void> => {
    expect(call.events).toEqual(['start', 'response 200'])
    call.controller?.resume()
    expect(await toOutcomes([call])).toEqual(['early'])
    expect(source.destroyed).toBe(true)
  }

  it('survives RST_STREAM(NO_ERROR)', async () => {
    const { call, source, stream, quiet } = await startHeldUpload()
    stream.reset(NO_ERROR)
    await quiet()
    await expectEarly(call, source)
  })

  it('survives a reset with an error code', async () => {
    const { call, source, stream, quiet } = await startHeldUpload()
    stream.reset(CANCEL)
    await quiet()
    await expectEarly(call, source)
  })

  it('survives a GOAWAY that does not name it', async () => {
    const { call, source, connection, quiet } = await startHeldUpload()
    connection.goAway({ lastStreamId: 1, code: NO_ERROR })
    await quiet()
    await expectEarly(call, source)
  })
})

describe('an unread response on engine wire', () => {
  async function startHeld() {
    const scene = await start({ onComplete: (stream) => stream.path === '/first' && stream.respond() })
    const call = scene.harness.dispatch({ ...GET, path: '/held' }, new HeldReader())
    await scene.peer.waitFor(() => scene.peer.requests.length === 2)
    return { ...scene, call, stream: scene.peer.request('/held') }
  }

  describe('that is complete, with trailers,', () => {
    async function startWhole() {
      const scene = await startHeld()
      const { stream, connection } = scene
      stream.head(200)
      stream.data('one ')
      stream.data('two')
      connection.write(frames.headers(stream.id, [['x-sum', '7']], Flag.END_STREAM))
      await scene.quiet()
      expect(scene.call.events).toEqual(['start', 'response 200'])
      return scene
    }

    const expectWhole = async (call: Recorder): Promise<void> => {
      await call.settled
      expect(call.events.at(-1)).toBe('end')
      expect(call.text).toBe('one two')
      expect(call.trailers).toMatchObject({ 'x-sum': '7' })
      expect(call.errors).toEqual([])
    }

    it('is delivered when the peer sends GOAWAY and closes its side', async () => {
      const { call, connection, harness } = await startWhole()
      connection.goAway({ lastStreamId: 0, code: NO_ERROR })
      connection.end()
      await expectWhole(call)
      await heard(harness, ['connect', 'disconnect'])
    })

    it('survives a GOAWAY with a last id below its own', async () => {
      const { call, connection, quiet } = await startWhole()
      connection.goAway({ lastStreamId: 0, code: NO_ERROR })
      await quiet()
      expect(call.events).toEqual(['start', 'response 200'])
      call.controller?.resume()
      await expectWhole(call)
    })

    it('is not delivered after abort(), and no RST_STREAM is sent: the stream is closed', async () => {
      const { call, stream, quiet } = await startWhole()
      call.controller?.abort()
      await call.settled
      await quiet()
      expect(call.events).toEqual(['start', 'response 200', 'error'])
      expect(stream.resetCode).toBe(null)
    })
  })

  describe('that is not complete yet', () => {
    async function startPart() {
      const scene = await startHeld()
      scene.stream.head(200)
      scene.stream.data('one ')
      await scene.quiet()
      return scene
    }

    it('is cancelled by a handler that throws on a held piece', async () => {
      const { call, stream, peer, harness } = await startPart()
      const mine = new Error('mine')
      call.onResponseData = () => {
        throw mine
      }
      call.controller?.resume()
      await call.settled
      expect(call.error).toBe(mine)
      await peer.waitFor(() => stream.resetCode === CANCEL)
      expect(harness.scheduler).toMatchObject({ pending: 0, running: 0 })
    })
  })
})
