/** The ways in which a request gets to an agent of ours. */

import { Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { finished } from 'node:stream/promises'
import * as undici7 from 'undici'
import * as undici6 from 'undici-6'
import type { Agent } from '../../src/index.ts'
import { install, request, uninstall } from '../../src/index.ts'
import { Recorder } from '../support/clients/recorder.ts'

/** Sends a GET, and gives the response's body once all of it has come. */
export type Way = (agent: Agent, origin: string, path: string) => Promise<string>

/** undici 8 doesn't load on Node 20. */
const undici8 = process.versions.node.startsWith('20.') ? null : await import('undici-8')

const ours: Record<string, Way> = {
  'request()': async (agent, origin, path) => {
    const { body } = await agent.request({ origin, path, method: 'GET' })
    return body.text()
  },
  'request() with a callback': (agent, origin, path) =>
    new Promise((resolve, reject) => {
      agent.request({ origin, path, method: 'GET' }, (error, data) => {
        if (error === null) resolve(data.body.text())
        else reject(error)
      })
    }),
  'the top-level request()': async (agent, origin, path) => {
    const { body } = await request(`${origin}${path}`, { dispatcher: agent })
    return body.text()
  },
  'stream()': async (agent, origin, path) => {
    const chunks: Buffer[] = []
    const target = new Writable({
      write: (chunk: Buffer, _encoding, callback) => {
        chunks.push(chunk)
        callback()
      },
    })
    await agent.stream({ origin, path, method: 'GET' }, () => target)
    return Buffer.concat(chunks).toString()
  },
  'pipeline()': async (agent, origin, path) => {
    const duplex = agent.pipeline({ origin, path, method: 'GET' }, ({ body }) => body)
    const [body] = await Promise.all([text(duplex.end()), finished(duplex)])
    return body
  },
  'dispatch()': async (agent, origin, path) => {
    const call = new Recorder()
    agent.dispatch({ origin, path, method: 'GET' }, call)
    await call.settled
    if (call.errors.length > 0) throw call.error
    return call.text
  },
  'a composed request()': async (agent, origin, path) => {
    const composed = agent.compose((dispatch) => (options, handler) => dispatch(options, handler))
    const { body } = await composed.request({ origin, path, method: 'GET' })
    return body.text()
  },
}

const theirs: Record<string, Way> = {
  "Node's fetch": async (agent, origin, path) => {
    const response = await fetch(`${origin}${path}`, { dispatcher: agent })
    return response.text()
  },
  "Node's fetch where the agent is installed": async (agent, origin, path) => {
    install(agent)
    try {
      const response = await fetch(`${origin}${path}`)
      return await response.text()
    } finally {
      uninstall()
    }
  },
  "undici 6's fetch": async (agent, origin, path) => {
    const response = await undici6.fetch(`${origin}${path}`, { dispatcher: agent })
    return response.text()
  },
  "undici 6's request()": async (agent, origin, path) => {
    const { body } = await undici6.request(`${origin}${path}`, { dispatcher: agent })
    return body.text()
  },
  "undici 7's fetch": async (agent, origin, path) => {
    const response = await undici7.fetch(`${origin}${path}`, { dispatcher: agent })
    return response.text()
  },
  "undici 7's request()": async (agent, origin, path) => {
    const { body } = await undici7.request(`${origin}${path}`, { dispatcher: agent })
    return body.text()
  },
}

if (undici8 !== null) {
  theirs["undici 8's fetch"] = async (agent, origin, path) => {
    const response = await undici8.fetch(`${origin}${path}`, { dispatcher: agent })
    return response.text()
  }
  theirs["undici 8's request()"] = async (agent, origin, path) => {
    const { body } = await undici8.request(`${origin}${path}`, { dispatcher: agent })
    return body.text()
  }
}

export const WAYS: readonly [string, Way][] = Object.entries({ ...ours, ...theirs })
