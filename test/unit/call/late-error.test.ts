import { describe, expect, it } from 'vitest'
import { toLateError } from '../../../src/call/late-error.ts'
import {
  BodyTimeoutError,
  ConnectTimeoutError,
  HeadersTimeoutError,
  QueueTimeoutError,
  RequestTimeoutError,
  UploadTimeoutError,
} from '../../../src/errors/errors.ts'
import { toLimits } from '../../../src/options/limits.ts'

// All different: a message that names the wrong limit is noticed.
const times = {
  queueTimeout: 1,
  connectTimeout: 2,
  headersTimeout: 3,
  bodyTimeout: 4,
  uploadTimeout: 5,
  requestTimeout: 6,
}
const limits = toLimits(times, null)

describe('toLateError', () => {
  describe('when a limit has passed', () => {
    it.each([
      ['queue', QueueTimeoutError, 'No stream within queueTimeout (1 ms)'],
      ['connect', ConnectTimeoutError, 'No connection within connectTimeout (2 ms)'],
      ['headers', HeadersTimeoutError, 'No response within headersTimeout (3 ms)'],
      ['body', BodyTimeoutError, 'No progress on the response body within bodyTimeout (4 ms)'],
      ['upload', UploadTimeoutError, 'No progress on the request body within uploadTimeout (5 ms)'],
      ['request', RequestTimeoutError, 'The call took longer than requestTimeout (6 ms)'],
    ] as const)('gives the class of that limit, and names the limit and its value: %s', (lateness, type, message) => {
      const error = toLateError(lateness, limits)
      expect(error).toBeInstanceOf(type)
      expect(error.constructor).toBe(type)
      expect(error).toMatchObject({ message, processed: 'no' })
    })
  })
})
