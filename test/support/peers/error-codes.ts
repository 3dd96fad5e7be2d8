/** The error codes of RFC 9113 §7 by their names; `test/unit/errors/error-codes.test.ts` compares the table with node:http2's. */

import { ErrorCode } from '../../../src/errors/error-codes.ts'

export const {
  NO_ERROR,
  PROTOCOL_ERROR,
  INTERNAL_ERROR,
  FLOW_CONTROL_ERROR,
  STREAM_CLOSED,
  FRAME_SIZE_ERROR,
  REFUSED_STREAM,
  CANCEL,
  COMPRESSION_ERROR,
  ENHANCE_YOUR_CALM,
  INADEQUATE_SECURITY,
  HTTP_1_1_REQUIRED,
} = ErrorCode
