import { INTERNAL_ERROR, REFUSED_STREAM } from '../../support/peers/error-codes.ts'
import type { Outcome } from './outcome.ts'
import { notForTunnels } from './outcome.ts'
import { servePart, serveResponse, whenRead } from './server-side.ts'

/** Responses of all sorts. */
export const RESPONSES: readonly Outcome[] = [
  { name: 'a response', serve: serveResponse, end: 'response', text: 'response' },
  {
    name: 'an empty response',
    serve: (stream, running) =>
      whenRead(stream, running, () => {
        if (running.api.kind === 'tunnel') {
          stream.respond({ ':status': 200 })
          stream.end()
        } else stream.respond({ ':status': 204 }, { endStream: true })
      }),
    end: 'response',
    text: '',
  },
  {
    name: 'trailers',
    serve: (stream, running) =>
      whenRead(stream, running, () => {
        stream.on('wantTrailers', () => stream.sendTrailers({ 'x-sum': '42' }))
        stream.respond({ ':status': 200 }, { waitForTrailers: true })
        stream.end('response')
      }),
    end: 'response',
    text: 'response',
    trailers: { 'x-sum': '42' },
    leftOut: notForTunnels('a tunnel has none (RFC 9113 §8.5)'),
  },
  {
    name: 'an early response',
    extent: 'held',
    serve: (stream) => {
      stream.respond({ ':status': 200 })
      stream.end('response')
    },
    end: 'response',
    text: 'response',
  },
  {
    name: 'a refusal',
    serve: (stream) => {
      stream.respond({ ':status': 403 })
      stream.end('no')
    },
    end: 'early',
    error: 'DODICI_ERR_TUNNEL_REFUSED',
    leftOut: (api) => (api.kind === 'tunnel' ? null : 'a response like any other'),
  },
  {
    name: 'REFUSED_STREAM at first',
    serve: (stream, running) => {
      if (running.attempts === 1) stream.close(REFUSED_STREAM)
      else serveResponse(stream, running)
    },
    attempts: 2,
    end: (kind) => (kind.isReplayable ? 'response' : 'early'),
    text: 'response',
    error: 'DODICI_ERR_STREAM',
  },
]

/** Ends by the peer. */
export const CLOSES: readonly Outcome[] = [
  {
    name: 'RST_STREAM before the header',
    serve: (stream, running) => whenRead(stream, running, () => stream.close(INTERNAL_ERROR)),
    end: 'early',
    error: 'DODICI_ERR_STREAM',
  },
  {
    name: 'RST_STREAM while it sends',
    extent: 'held',
    serve: (stream) => void stream.once('data', () => stream.close(INTERNAL_ERROR)),
    end: 'early',
    error: 'DODICI_ERR_STREAM',
  },
  {
    name: 'RST_STREAM in the body',
    serve: servePart,
    drive: async (running) => {
      await running.until(running.watch.receiving)
      // Not `close()`: that would send END_STREAM first.
      running.stream?.destroy(new Error('reset'))
    },
    end: 'late',
    error: 'DODICI_ERR_STREAM',
  },
  {
    name: 'a silent close before the header',
    serve: (stream, running) => whenRead(stream, running, () => void stream.destroy()),
    end: 'early',
    error: 'DODICI_ERR_STREAM',
  },
  {
    name: 'a silent close in the body',
    serve: servePart,
    drive: async (running) => {
      await running.until(running.watch.receiving)
      running.stream?.destroy()
    },
    end: 'late',
    error: 'DODICI_ERR_STREAM',
  },
]
