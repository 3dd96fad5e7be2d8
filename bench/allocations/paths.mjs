/**
 * The paths that are held to a figure. They are asked for by the adapters of `e2e/clients`, whose own closures and
 * objects are in the figures too: a change there, or here, is a reason to record them anew.
 */
import { pathToFileURL } from 'node:url'
import { dodici } from '../e2e/clients/dispatchers.mjs'
import { open as openBare } from '../e2e/clients/node-http2.mjs'

const openDodici = dodici.open

/** What every response has, in bytes. */
export const ANSWER_BYTES = 1024

/**
 * @typedef {import('../e2e/clients/index.mjs').Done} Done
 * @typedef {{ start(done: Done): void, close(): Promise<void> }} Opened
 * @typedef {(origin: string, dodici: string) => Promise<Opened>} Open `dodici` is the file of a build
 */

/** @typedef {import('../e2e/clients/index.mjs').OpenOptions['engine']} Engine */

/**
 * @param {import('../e2e/clients/index.mjs').Adapter['open']} open @param {string} api
 * @param {Buffer | null} [body] null for a GET @param {Engine} [engine]
 * @returns {Open}
 */
function by(open, api, body = null, engine = 'node') {
  const method = body === null ? 'GET' : 'POST'
  return async (origin, entry) => {
    const target = {
      origin: undefined,
      path: '/',
      url: `${origin}/`,
      method,
      body,
      isStreamed: false,
      authority: '',
    }
    const options = { connections: 1, maxStreams: 100, ca: undefined, api, engine, entry }
    const { apis, close } = await open([origin], options)
    const start = apis[api]
    if (start === undefined) throw new Error(`There is no ${api}`)
    return { start: (done) => start(target, done), close }
  }
}

/** The adapters read text alone. @param {Engine} engine @returns {Open} */
function byJson(engine) {
  return async (origin, dodici) => {
    /** @type {typeof import('dodici')} */
    const { Client } = await import(pathToFileURL(dodici).href)
    const client = new Client(origin, { engine })

    /** @param {Done} done */
    async function ask(done) {
      const headers = { accept: '*/*', 'user-agent': 'bench' }
      const { statusCode, body } = await client.request({ path: '/', method: 'GET', headers })
      const { text } = /** @type {{ text: string }} */ (await body.json())
      done(null, statusCode, '{"text":""}'.length + text.length)
    }

    return { start: (done) => void ask(done), close: () => client.close() }
  }
}

const body = Buffer.alloc(1024, 'a')

/** By name; the names are those in `allocations.json`. @type {Readonly<Record<string, Open>>} */
export const paths = {
  'bare node:http2, GET': by(openBare, 'session.request'),
  'bare node:http2, POST': by(openBare, 'session.request', body),
  'dispatch(), GET': by(openDodici, 'dispatch'),
  'dispatch(), POST of a Buffer': by(openDodici, 'dispatch', body),
  'request() and text()': by(openDodici, 'request'),
  'request() and json()': byJson('node'),
  'stream()': by(openDodici, 'stream'),
  'pipeline()': by(openDodici, 'pipeline'),
  'fetch() and text()': by(openDodici, 'fetch'),
  'wire: dispatch(), GET': by(openDodici, 'dispatch', null, 'wire'),
  'wire: dispatch(), POST of a Buffer': by(openDodici, 'dispatch', body, 'wire'),
  'wire: request() and text()': by(openDodici, 'request', null, 'wire'),
  'wire: request() and json()': byJson('wire'),
  'wire: stream()': by(openDodici, 'stream', null, 'wire'),
  'wire: pipeline()': by(openDodici, 'pipeline', null, 'wire'),
  'wire: fetch() and text()': by(openDodici, 'fetch', null, 'wire'),
}

/** What to compare a path with, to see what we add to it. @param {string} path */
export function bareOf(path) {
  return path.includes('POST') ? 'bare node:http2, POST' : 'bare node:http2, GET'
}
