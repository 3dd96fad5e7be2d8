import zlib, { deflateRawSync } from 'node:zlib'
import { describe, expect, it, vi } from 'vitest'
import { ResponseExceededMaxSizeError } from '../../../src/errors/errors.ts'
import type { Coding } from '../../../src/fetch/decode.ts'
import { ResponseBody } from '../../../src/fetch/response-body.ts'
import type { DispatchController } from '../../../types/handler.ts'
import { noise, quiesce } from './decode-support.ts'

const FEW = 16_384
const MANY = 4 * FEW

function open(maxSize = -1): ResponseBody {
  const controller = { paused: false, pause() {}, resume() {}, abort() {} } as unknown as DispatchController
  return new ResponseBody(controller, null, maxSize)
}

/** Reads a body that comes as a whole, in these codings. */
async function readCoded(codings: readonly Coding[], encoded: Buffer, maxSize: number): Promise<Buffer> {
  const body = open(maxSize)
  body.decode(codings)
  const read = body.read((kept) => kept.join(), null)
  body.receive(encoded)
  body.finish()
  return await read
}

const TOO_LARGE = { message: 'terminated', cause: expect.any(ResponseExceededMaxSizeError) }

/** Views of one chunk, so large that they aren't joined. */
function receive(body: ResponseBody, count: number, size = 2_048): void {
  const chunk = Buffer.alloc(65_536)
  for (let i = 0; i < count; i++) body.receive(chunk.subarray(0, size))
}

/** Rounds, at the most: other work on the machine makes single ones dear, and memory that is new to the process. */
const ROUNDS = 12

/** CPU time, in microseconds. */
async function measure(run: () => unknown): Promise<number> {
  const start = process.cpuUsage()
  await run()
  const { user, system } = process.cpuUsage(start)
  return user + system
}

const ways: Record<string, (count: number) => unknown> = {
  'taken piece by piece': (count) => {
    const body = open()
    receive(body, count)
    while (body.take(Number.POSITIVE_INFINITY) !== null);
  },
  'taken in other sizes': (count) => {
    const body = open()
    receive(body, count)
    while (body.take(3_000) !== null);
  },
  'read as a whole': (count) => {
    const body = open()
    receive(body, count)
    body.finish()
    return body.read((kept) => expect(kept.join().length).toBe(count * 2_048), null)
  },
  cancelled: (count) => {
    const body = open()
    receive(body, count)
    body.cancel(undefined)
  },
}

describe('ResponseBody', () => {
  it.each(
    Object.entries(ways),
  )('four times the pieces, %s, cost at most six times as much', async (_way, run) => {
    await run(FEW)
    let [few, many] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
    for (let round = 0; round < ROUNDS && (round < 3 || many >= 6 * few + 5_000); round++) {
      few = Math.min(few, await measure(() => run(FEW)))
      many = Math.min(many, await measure(() => run(MANY)))
    }
    // What is quadratic costs sixteen times as much.
    expect(many).toBeLessThan(6 * few + 5_000)
  })

  it('pieces of one byte that are not read are joined', () => {
    const body = open()
    receive(body, MANY, 1)
    const pieces: Buffer[] = []
    for (let piece = body.take(9_999); piece !== null; piece = body.take(9_999)) pieces.push(piece)
    expect(pieces.length).toBeLessThan(64)
    expect(Buffer.concat(pieces)).toHaveLength(MANY)
  })

  it('decoded pieces of one byte that are not read are joined', async () => {
    const body = open()
    body.decode(['deflate'])
    const source = body.toStream().getReader()
    // A stored block of one byte (RFC 1951 §3.2.4), which isn't the last.
    const block = Buffer.from('000100feff61', 'hex')
    const read = source.read()
    for (let i = 0; i < 8_000; i++) body.receive(block)
    body.receive(deflateRawSync(''))
    body.finish()
    await read
    let size = (await read).value?.length ?? 0
    for (let turn = 0; turn < 50; turn++) await quiesce()
    let reads = 1
    for (let next = await source.read(); !next.done; next = await source.read()) {
      size += next.value.length
      reads++
    }
    expect(size).toBe(8_000)
    expect(reads).toBeLessThan(64)
  })

  describe('when its size is limited, decoded', () => {
    const bomb = zlib.gzipSync(Buffer.alloc(64 * 1024 * 1024))

    it.each<[string, Buffer]>([
      ['is decoded in one step', Buffer.from('text')],
      ['is decoded as it comes', noise],
    ])('one that %s may have as many bytes, and fails at one more', async (_how, bytes) => {
      const encoded = zlib.gzipSync(bytes)
      expect((await readCoded(['gzip'], encoded, bytes.length)).equals(bytes)).toBe(true)
      await expect(readCoded(['gzip'], encoded, bytes.length - 1)).rejects.toMatchObject(TOO_LARGE)
      await expect(readCoded(['gzip'], encoded, 0)).rejects.toMatchObject(TOO_LARGE)
    })

    it('an empty one is within each limit', async () => {
      expect(await readCoded(['gzip'], zlib.gzipSync(''), 0)).toHaveLength(0)
    })

    it('says that the server has processed the request', async () => {
      const failure = await readCoded(['gzip'], zlib.gzipSync('ab'), 1).catch((error: unknown) => error)
      expect(failure).toMatchObject({ cause: { processed: 'yes' } })
    })

    it.each<[Coding[], Buffer]>([
      [['gzip'], bomb],
      [['gzip', 'gzip'], zlib.gzipSync(bomb)],
    ])('a decompression bomb is stopped there: %j', async (codings, encoded) => {
      const spy = vi.spyOn(zlib, 'createGunzip')
      const before = process.memoryUsage().arrayBuffers
      await expect(readCoded(codings, encoded, 100_000)).rejects.toMatchObject(TOO_LARGE)
      const engines = spy.mock.results.map(({ value }) => value)
      expect(engines.map(({ destroyed }) => destroyed)).toEqual(codings.map(() => true))
      await quiesce()
      expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(4 * 1024 * 1024)
      spy.mockRestore()
    })
  })
})
