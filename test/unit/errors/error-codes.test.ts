import { constants } from 'node:http2'
import { describe, expect, it } from 'vitest'
import { ErrorCode, toErrorCodeName } from '../../../src/errors/error-codes.ts'

describe('toErrorCodeName', () => {
  it.each([
    [0, 'NO_ERROR'],
    [1, 'PROTOCOL_ERROR'],
    [2, 'INTERNAL_ERROR'],
    [3, 'FLOW_CONTROL_ERROR'],
    [4, 'SETTINGS_TIMEOUT'],
    [5, 'STREAM_CLOSED'],
    [6, 'FRAME_SIZE_ERROR'],
    [7, 'REFUSED_STREAM'],
    [8, 'CANCEL'],
    [9, 'COMPRESSION_ERROR'],
    [10, 'CONNECT_ERROR'],
    [11, 'ENHANCE_YOUR_CALM'],
    [12, 'INADEQUATE_SECURITY'],
    [13, 'HTTP_1_1_REQUIRED'],
    [14, '0xe'],
    [0xffff_ffff, '0xffffffff'],
  ])('names error code %i: %s', (code, name) => {
    expect(toErrorCodeName(code)).toBe(name)
  })
})

describe('ErrorCode', () => {
  it.each(Object.entries(ErrorCode))('has the name of a code: %s', (name, code) => {
    expect(toErrorCodeName(code)).toBe(name)
  })

  it.each(Object.entries(ErrorCode))("has the number that node's own constants have: %s", (name, code) => {
    expect(code).toBe(Reflect.get(constants, `NGHTTP2_${name}`))
  })
})
