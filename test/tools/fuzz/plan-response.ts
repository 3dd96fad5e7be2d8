/** The response of a peer to one call: mostly valid, with odd details. */

import { ERROR_CODES, Flag, frames, Type } from '../../../src/testing/frames.ts'
import type { Field } from '../../../src/testing/hpack.ts'
import { encodeFields } from '../../../src/testing/hpack.ts'
import type { Random } from '../../protocol/hpack/support.ts'
import { NO_ERROR } from '../../support/peers/error-codes.ts'
import type { CallPlan } from './plan-calls.ts'

const { frame } = frames

const STATUSES: readonly [string, ...string[]] = [
  ...['200', '200', '200', '200', '200', '200', '200', '204', '206', '304', '302', '404', '500', '421'],
  ...['101', '99', '1000', 'abc', ''],
] as [string, ...string[]]

/** A literal that goes into the dynamic table, and its index from then on. */
const LITERAL = Buffer.of(0x40, 1, 0x78, 1, 0x31)
const INDEXED = Buffer.of(0xbe)

/** 10 and 3,000 bytes by gzip: written down, since one zlib packs them otherwise than another. */
const PACKED: readonly [Buffer, Buffer] = [
  Buffer.from('H4sIAAAAAAAAA0srrapKA2MA8v98UQoAAAA=', 'base64'),
  Buffer.from('H4sIAAAAAAAAA+3DMQ0AAAwDILd1sKfqa2MHJOTaqKqqrw+kjlTFuAsAAA==', 'base64'),
]

/** The frames of one response, in order. */
export function toResponse(random: Random, call: CallPlan, streamId: number): Buffer[] {
  if (random.below(15) === 0) return toShort(random, streamId)
  const said: Buffer[] = []
  for (let count = random.pick([0, 0, 0, 1, 2]); count > 0; count--) {
    const status = random.pick(['100', '103', '103', '102', '101'])
    said.push(frames.headers(streamId, [[':status', status]]))
  }
  const isTunnel = call.api === 'connect' || call.api === 'upgrade'
  const status = isTunnel && random.below(3) > 0 ? '200' : random.pick(STATUSES)
  const chunks = toChunks(random, call)
  const endsWithHeader = chunks.length === 0 && random.below(2) === 0
  const fields = toFields(random, call, status, chunks)
  said.push(...toHeader(random, streamId, encodeFields(fields), endsWithHeader))
  if (endsWithHeader) return said
  return [...said, ...toBody(random, streamId, chunks)]
}

/** No response at all, or only its end. */
function toShort(random: Random, streamId: number): Buffer[] {
  if (random.below(2) === 0) return []
  return [frames.reset(streamId, random.below(ERROR_CODES.length + 1))]
}

function toChunks(random: Random, call: CallPlan): Buffer[] {
  if (call.method === 'HEAD' && random.below(4) > 0) return []
  if (call.api === 'fetch' && random.below(4) === 0) {
    const packed = random.pick(PACKED)
    const at = random.below(packed.length)
    return [packed.subarray(0, at), packed.subarray(at)]
  }
  return Array.from({ length: random.below(6) }, () =>
    Buffer.alloc(random.pick([0, 1, 1, 10, 10, 300, 3_000, 16_384]), `${random.below(10)}`),
  )
}

function toFields(random: Random, call: CallPlan, status: string, chunks: readonly Buffer[]): Field[] {
  const fields: Field[] = [[':status', status]]
  const size = chunks.reduce((sum, { length }) => sum + length, 0)
  const type = random.pick(['text/plain', 'application/json', 'multipart/form-data; boundary=x', ''])
  if (type !== '') fields.push(['content-type', type])
  if (random.below(3) === 0) {
    fields.push(['content-length', random.pick([`${size}`, `${size}`, `${size + 1}`, '0', '-1', 'x'])])
  }
  const isPacked = chunks[0]?.[0] === 0x1f
  if (call.api === 'fetch' && (isPacked || random.below(8) === 0)) {
    fields.push(['content-encoding', random.pick(['gzip', 'gzip', 'deflate', 'br', 'gzip, gzip', 'odd'])])
  }
  if (status === '302') fields.push(['location', random.pick(['/next', 'http://other.example/', '::', ''])])
  for (let count = random.pick([0, 0, 1, 3, 40]); count > 0; count--) fields.push([`x-${count}`, 'value'])
  if (random.below(30) === 0)
    fields.push(
      random.pick([
        ['connection', 'close'],
        ['X-Upper', 'x'],
        ['a b', 'x'],
      ]),
    )
  if (random.below(60) === 0) fields.push(['x-long', 'v'.repeat(70_000)])
  return fields
}

/** A header block, in one frame or in several. */
function toHeader(random: Random, streamId: number, given: Buffer, isEnd: boolean): Buffer[] {
  const extra = random.pick([Buffer.alloc(0), Buffer.alloc(0), Buffer.alloc(0), LITERAL, INDEXED])
  const block = Buffer.concat([given, extra])
  const end = isEnd ? Flag.END_STREAM : 0
  const size = random.below(4) === 0 ? 1 + random.below(30) : 16_384
  if (block.length > size * 20) return toHeader(random, streamId, given, isEnd)
  const parts: Buffer[] = []
  for (let at = 0; at < block.length; at += size) parts.push(block.subarray(at, at + size))
  return parts.map((part, index) => {
    const last = index === parts.length - 1 ? Flag.END_HEADERS : 0
    if (index > 0) return frame(Type.CONTINUATION, last, streamId, part)
    return random.below(6) === 0
      ? pad(random, Type.HEADERS, last | end, streamId, part)
      : frame(Type.HEADERS, last | end, streamId, part)
  })
}

function pad(random: Random, type: number, flags: number, streamId: number, content: Buffer): Buffer {
  const padding = Math.min(random.pick([0, 1, 20, 255]), 16_384 - 1 - content.length)
  if (padding < 0) return frame(type, flags, streamId, content)
  const payload = Buffer.concat([Buffer.of(padding), content, Buffer.alloc(padding)])
  return frame(type, flags | Flag.PADDED, streamId, payload)
}

function toBody(random: Random, streamId: number, chunks: readonly Buffer[]): Buffer[] {
  const said: Buffer[] = []
  const isPadded = random.below(5) === 0
  for (const chunk of chunks) {
    said.push(isPadded ? pad(random, Type.DATA, 0, streamId, chunk) : frame(Type.DATA, 0, streamId, chunk))
    if (random.below(10) === 0) said.push(frames.windowUpdate(streamId, random.pick([1, 70_000])))
  }
  switch (random.below(10)) {
    case 0:
      break
    case 1:
      said.push(frames.reset(streamId, random.below(ERROR_CODES.length + 1)))
      break
    case 2:
    case 3: {
      const block = encodeFields(random.pick([[['x-sum', '1']], [[':status', '200']], []]) as Field[])
      said.push(frame(Type.HEADERS, Flag.END_HEADERS | Flag.END_STREAM, streamId, block))
      break
    }
    case 4:
      // Its end, and that the peer wants no more of the request (RFC 9113 §8.1).
      said.push(frame(Type.DATA, Flag.END_STREAM, streamId), frames.reset(streamId, NO_ERROR))
      break
    default:
      said.push(frame(Type.DATA, Flag.END_STREAM, streamId))
  }
  return said
}
