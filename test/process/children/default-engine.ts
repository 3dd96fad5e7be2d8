/** Reports which engine runs the sessions of dispatchers that name none, by what DODICI_ENGINE says. */

import type { Socket } from 'node:net'
import { Agent, Client, getGlobalDispatcher, install, Pool, request } from '../../../src/index.ts'
import { createFaultServer } from '../../../src/testing/fault-server.ts'
import type { ClientStats, EngineName, PoolStats } from '../../../types/index.ts'
import { report } from './report.ts'

const [, , mode = '', origin = ''] = process.argv
const GET = { path: '/', method: 'GET' } as const
const VARIABLE = 'DODICI_ENGINE'
/** Self-signed. */
const connect = { rejectUnauthorized: false }

type Stats = Pick<ClientStats | PoolStats, 'sessions'>

/** The engines of all sessions that there are. */
function toEngines(stats: Stats | Readonly<Record<string, Stats>>): string {
  const all = Array.isArray(stats.sessions) ? [stats as Stats] : Object.values(stats as Record<string, Stats>)
  return all.flatMap(({ sessions }) => sessions.map(({ engine }) => engine)).join()
}

async function ask(client: Client | Pool): Promise<string> {
  const { body } = await client.request(GET)
  await body.dump()
  const engines = toEngines(client.stats)
  await client.close()
  return engines
}

async function askAgent(agent: Agent, send: () => Promise<unknown>): Promise<string> {
  await send()
  const engines = toEngines(agent.stats)
  await agent.destroy()
  return engines
}

function toClient(engine?: EngineName | null): Client {
  return new Client(origin, { connect, ...(engine === undefined ? {} : { engine: engine as EngineName }) })
}

/** What making a dispatcher, or sending by one, throws. */
async function toError(act: () => unknown): Promise<object> {
  try {
    await act()
    return { name: 'none' }
  } catch (error) {
    const { name, code, message } = Object(error)
    return { name, code, message }
  }
}

async function playAll(): Promise<object> {
  const agent = new Agent({ connect })
  const installed = new Agent({ connect })
  install(installed)
  return {
    client: await ask(toClient()),
    pool: await ask(new Pool(origin, { connect })),
    agent: await askAgent(agent, async () => (await agent.request({ ...GET, origin })).body.dump()),
    fetch: await askAgent(installed, async () => (await fetch(origin)).text()),
  }
}

/** The dispatcher that nobody has made takes its certificates from the environment. */
async function playTopLevel(): Promise<object> {
  process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0'
  const agent = getGlobalDispatcher()
  if (!(agent instanceof Agent)) throw new Error('The global dispatcher is no Agent')
  return { request: await askAgent(agent, async () => (await request(origin)).body.dump()) }
}

async function playNamed(): Promise<object> {
  return {
    node: await ask(toClient('node')),
    wire: await ask(toClient('wire')),
    null: await ask(toClient(null)),
  }
}

async function playUnknown(): Promise<object> {
  return {
    client: await toError(() => toClient()),
    again: await toError(() => new Agent()),
    request: await toError(() => request(origin)),
    named: await ask(toClient('wire')),
  }
}

async function playChanged(): Promise<object> {
  // It names its engine: the variable isn't read for it.
  const named = toClient('node')
  process.env[VARIABLE] = 'wire'
  const first = toClient()
  process.env[VARIABLE] = 'node'
  const second = toClient()
  process.env[VARIABLE] = 'bogus'
  const third = toClient()
  return {
    named: await ask(named),
    first: await ask(first),
    second: await ask(second),
    third: await ask(third),
  }
}

async function playDuplex(): Promise<object> {
  const server = await createFaultServer({ h2c: true })
  const client = new Client(server.origin, {
    // The types permit only sockets, as undici's do.
    connect: (_options, callback) => callback(null, server.connect() as Socket),
  })
  const engines = await ask(client)
  await server.close()
  return { duplex: engines, socket: await ask(toClient()) }
}

const MODES: Readonly<Record<string, () => Promise<object>>> = {
  all: playAll,
  'top level': playTopLevel,
  named: playNamed,
  unknown: playUnknown,
  changed: playChanged,
  duplex: playDuplex,
}

report((await MODES[mode]?.()) ?? 'no such mode')
