/**
 * Runs all cases against one server.
 */
import { performance } from 'node:perf_hooks'
import { cases } from './cases.mjs'
import { describeHeaders, lastProtocol } from './observed.mjs'
import { codeOf, explain, withinLimit } from './support.mjs'

/** @typedef {import('./case.mjs').Case} Case */
/** @typedef {import('./case.mjs').Context} Context */
/** @typedef {import('./case.mjs').Outcome} Outcome */
/** @typedef {import('./table.mjs').Row} Row */

/**
 * A server to send requests to.
 *
 * @typedef {object} Target
 * @property {string} origin
 * @property {string | null} path where all cases go; null: each has a path of its own
 * @property {import('dodici').ConnectTlsOptions} connect
 * @property {'node' | 'wire'} [engine] the default one by default
 * @property {string | null} probed the protocol that a handshake of our own got; null: the server reports it
 */

/**
 * @param {Outcome['headers']} headers
 * @param {string} name
 * @returns {string | undefined}
 */
function headerValue(headers, name) {
  const value = Array.isArray(headers) ? headers[headers.indexOf(name) + 1] : headers[name]
  return typeof value === 'string' ? value : undefined
}

/**
 * Whether an error means that there is no tunnel on this server: it said so, offers none, or reset the stream.
 *
 * @param {typeof import('dodici')} dodici
 * @param {unknown} error
 * @returns {boolean}
 */
function isRefusal({ errors }, error) {
  return [errors.TunnelRefusedError, errors.NotSupportedError, errors.StreamError].some(
    (errorClass) => error instanceof errorClass,
  )
}

/**
 * @param {Case} testCase
 * @param {Outcome} outcome
 * @returns {string | null}
 */
function judge(testCase, { status, problem }) {
  const expected = testCase.status ?? '200'
  return `${status}` === expected ? problem : `the status is not ${expected}`
}

/**
 * @param {Target} target
 * @param {Omit<Context, 'path'>} context
 * @param {Case} testCase
 * @returns {Promise<Row>}
 */
async function runCase(target, context, testCase) {
  const { api } = testCase
  const before = performance.now()
  const elapsed = () => (performance.now() - before).toFixed(1)
  try {
    const path = target.path ?? testCase.path ?? '/'
    const outcome = await withinLimit(testCase.run({ ...context, path }))
    const { status, bytes, headers } = outcome
    return {
      api,
      // A server that isn't the demo's own need only respond.
      protocol:
        (target.probed === null ? headerValue(headers, 'x-protocol') : (lastProtocol() ?? target.probed)) ??
        'unknown',
      status: `${status}`,
      bytes: `${bytes}`,
      milliseconds: elapsed(),
      headers: describeHeaders(headers),
      failure: target.probed === null ? judge(testCase, outcome) : null,
    }
  } catch (error) {
    const row = { api, bytes: '', milliseconds: elapsed(), headers: '' }
    const mayRefuse = target.probed !== null && testCase.elsewhere === 'may be refused'
    if (mayRefuse && isRefusal(context.dodici, error)) {
      return { ...row, protocol: lastProtocol() ?? `${target.probed}`, status: 'refused', failure: null }
    }
    return { ...row, protocol: '', status: codeOf(error), failure: explain(error) }
  }
}

/**
 * @param {typeof import('dodici')} dodici
 * @param {Target} target
 * @returns {Promise<Row[]>}
 */
export async function runCases(dodici, target) {
  const { origin, connect } = target
  const common = {
    connect,
    fallback: null,
    ...(target.engine === undefined ? {} : { engine: target.engine }),
  }
  const isOwn = target.probed === null
  // What the server can't do over HTTP/2 is to be seen.
  const client = new dodici.Client(origin, common)
  const agent = new dodici.Agent({ ...common, h2c: true })
  dodici.setGlobalDispatcher(agent)
  const rows = []
  try {
    for (const testCase of cases) {
      if (isOwn || testCase.elsewhere !== 'left out') {
        rows.push(await runCase(target, { dodici, client, agent, origin, isOwn }, testCase))
      }
    }
    // After a failure there may be a request that never ends, and close() would wait for it.
    if (rows.every(({ failure }) => failure === null)) {
      await withinLimit(Promise.all([client.close(), agent.close()]))
    }
  } finally {
    await Promise.all([client.destroy(), agent.destroy()])
  }
  return rows
}
