import { INTERNAL_ERROR } from '../../support/peers/error-codes.ts'
import type { Api } from './apis.ts'
import type { Case } from './case.ts'
import { LIMIT } from './case.ts'
import type { Outcome } from './outcome.ts'
import { notForTunnels } from './outcome.ts'
import { respondPart, serveNothing, servePart, serveResponse, serveSilence } from './server-side.ts'

const afterTunnel = notForTunnels(
  'the call ends when the tunnel stands: signals and limits have no say any more',
)

/** The server has the stream; of a held body, as much as the peer takes unread may be on its way. */
async function abortAtArrival(running: Case): Promise<void> {
  await running.until(running.arrived)
  running.abort()
}

async function abortAtOnce(running: Case): Promise<void> {
  running.abort()
}

async function abortWhenRead(running: Case): Promise<void> {
  await running.until(running.hasRead)
  running.abort()
}

async function abortWhenReceiving(running: Case): Promise<void> {
  await running.until(running.watch.receiving)
  running.abort()
}

const passTime = (running: Case): Promise<void> => running.passTime()

async function passTimeWhenRead(running: Case): Promise<void> {
  await running.until(running.hasRead)
  await running.passTime()
}

async function passTimeWhenReceiving(running: Case): Promise<void> {
  await running.until(running.watch.receiving)
  await running.passTime()
}

/** Ends by the caller, at each stage. */
export const ABORTS: readonly Outcome[] = [
  {
    name: 'an abort while it is queued',
    stage: 'queued',
    serve: serveResponse,
    drive: abortAtOnce,
    end: 'early',
    error: 'reason',
  },
  {
    name: 'an abort while it connects',
    stage: 'connecting',
    serve: serveResponse,
    drive: abortAtOnce,
    end: 'early',
    error: 'reason',
  },
  {
    name: 'an abort while it sends',
    extent: 'held',
    serve: serveNothing,
    drive: abortAtArrival,
    end: 'early',
    error: 'reason',
  },
  {
    name: "an abort from inside the body's own code",
    extent: 'held',
    onPull: 'abort',
    serve: serveSilence,
    end: 'early',
    error: 'reason',
  },
  {
    name: 'an abort while it waits',
    serve: serveSilence,
    drive: abortWhenRead,
    end: 'early',
    error: 'reason',
  },
  {
    name: 'an abort while it receives',
    serve: servePart,
    drive: abortWhenReceiving,
    end: 'late',
    error: 'reason',
    leftOut: afterTunnel,
  },
  {
    name: 'an abort while it sends and receives',
    extent: 'held',
    serve: respondPart,
    drive: abortWhenReceiving,
    end: 'late',
    error: 'reason',
  },
]

/** Each limit. */
export const TIMEOUTS: readonly Outcome[] = [
  {
    name: 'queueTimeout',
    stage: 'queued',
    limits: { queueTimeout: LIMIT },
    serve: serveResponse,
    drive: passTime,
    end: 'early',
    error: 'DODICI_ERR_QUEUE_TIMEOUT',
  },
  {
    name: 'connectTimeout',
    stage: 'connecting',
    limits: { connectTimeout: LIMIT },
    serve: serveResponse,
    drive: passTime,
    end: 'early',
    error: 'UND_ERR_CONNECT_TIMEOUT',
  },
  {
    name: 'headersTimeout',
    limits: { headersTimeout: LIMIT },
    serve: serveSilence,
    drive: passTimeWhenRead,
    end: 'early',
    error: 'UND_ERR_HEADERS_TIMEOUT',
  },
  {
    name: 'bodyTimeout',
    limits: { bodyTimeout: LIMIT },
    serve: servePart,
    drive: passTimeWhenReceiving,
    end: 'late',
    error: 'UND_ERR_BODY_TIMEOUT',
    leftOut: afterTunnel,
  },
  {
    name: 'uploadTimeout',
    extent: 'held',
    limits: { uploadTimeout: LIMIT },
    serve: serveNothing,
    drive: passTime,
    end: 'early',
    error: 'DODICI_ERR_UPLOAD_TIMEOUT',
  },
  {
    name: 'requestTimeout while it is queued',
    stage: 'queued',
    limits: { requestTimeout: LIMIT },
    serve: serveResponse,
    drive: passTime,
    end: 'early',
    error: 'DODICI_ERR_REQUEST_TIMEOUT',
  },
  {
    name: 'requestTimeout while it waits',
    limits: { requestTimeout: LIMIT },
    serve: serveSilence,
    drive: passTimeWhenRead,
    end: 'early',
    error: 'DODICI_ERR_REQUEST_TIMEOUT',
  },
  {
    name: 'requestTimeout while it receives',
    limits: { requestTimeout: LIMIT },
    serve: servePart,
    drive: passTimeWhenReceiving,
    end: 'late',
    error: 'DODICI_ERR_REQUEST_TIMEOUT',
    leftOut: afterTunnel,
  },
]

const onlyFor =
  (kind: Api['kind'], reason: string) =>
  (api: Api): string | null =>
    api.kind === kind ? null : reason

const onlyDispatch = onlyFor('dispatch', 'only dispatch() takes a handler of the shape that has it')

function onlyWithCallback(api: Api): string | null {
  return api.hasCallback ? null : 'it takes no callback here'
}

const HANDLERS = ['onRequestStart', 'onResponseStart', 'onResponseData', 'onResponseEnd'] as const

/** The caller's code throws. */
export const THROWS: readonly Outcome[] = [
  ...HANDLERS.map(
    (throwsIn): Outcome => ({
      name: `a handler that throws in ${throwsIn}`,
      throwsIn,
      serve: serveResponse,
      end: 'early',
      error: 'fault',
      leftOut: onlyDispatch,
    }),
  ),
  {
    name: 'a handler that throws in onResponseError',
    throwsIn: 'onResponseError',
    serve: (stream) => stream.close(INTERNAL_ERROR),
    end: 'early',
    error: 'DODICI_ERR_STREAM',
    isUncaught: true,
    leftOut: onlyDispatch,
  },
  {
    name: 'a factory that throws',
    throwsIn: 'factory',
    serve: serveResponse,
    end: 'early',
    error: 'fault',
    leftOut: (api) =>
      api.kind === 'stream' || api.kind === 'pipeline' ? null : 'only stream() and pipeline() have one',
  },
  {
    name: 'a body whose own code throws',
    extent: 'held',
    onPull: 'throw',
    serve: serveSilence,
    end: 'early',
    error: 'fault',
  },
  {
    name: 'a callback that throws at the response',
    throwsIn: 'callback',
    serve: serveResponse,
    end: 'dropped',
    isUncaught: true,
    leftOut: onlyWithCallback,
  },
  {
    name: 'a callback that throws at the error',
    throwsIn: 'callback',
    serve: (stream) => stream.close(INTERNAL_ERROR),
    end: 'early',
    error: 'DODICI_ERR_STREAM',
    isUncaught: true,
    leftOut: onlyWithCallback,
  },
]

/** No call is retried: the calls are POSTs and tunnels. */
export const DEATHS: readonly Outcome[] = [
  {
    name: 'a lost connection while it sends',
    death: 'session',
    extent: 'held',
    serve: serveNothing,
    drive: async ({ rig }) => rig.breakOff(),
    end: 'early',
    error: 'UND_ERR_SOCKET',
  },
  {
    name: 'a lost connection while it waits',
    death: 'session',
    serve: serveSilence,
    drive: async (running) => {
      await running.until(running.hasRead)
      running.rig.breakOff()
    },
    end: 'early',
    error: 'UND_ERR_SOCKET',
  },
  {
    name: 'a lost connection while it receives',
    death: 'session',
    serve: servePart,
    drive: async (running) => {
      await running.until(running.watch.receiving)
      running.rig.breakOff()
    },
    end: 'late',
    error: 'UND_ERR_SOCKET',
  },
  {
    name: 'GOAWAY with an error while it waits',
    death: 'session',
    serve: serveSilence,
    drive: async (running) => {
      await running.until(running.hasRead)
      const session = running.rig.server.sessions.at(-1)
      session?.goaway(INTERNAL_ERROR)
      // Engine wire lets accepted streams go on, as long as the peer is there.
      setImmediate(() => session?.destroy())
    },
    end: 'early',
    error: 'UND_ERR_SOCKET',
  },
  {
    name: 'the end of its client while it waits',
    death: 'client',
    serve: serveSilence,
    drive: async (running) => {
      await running.until(running.hasRead)
      await running.rig.client.destroy()
    },
    end: 'early',
    error: 'UND_ERR_DESTROYED',
  },
  {
    name: 'the end of its client while it receives',
    death: 'client',
    serve: servePart,
    drive: async (running) => {
      await running.until(running.watch.receiving)
      await running.rig.client.destroy()
    },
    end: 'late',
    error: 'UND_ERR_DESTROYED',
  },
]
