import { writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { bundle } from '../support/clients/bundled.ts'
import { runNode } from '../support/clients/child.ts'
import { startHttp1 } from '../support/servers/fallback-http1.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const toScript = bundle({ dodici: new URL('../../src/index.ts', import.meta.url) })
let scripts = 0

/** Runs `body` in a process of its own, which reports the response of an origin that speaks HTTP/1.1. */
async function run(body: string): Promise<string> {
  const server = await startHttp1((_request, response) => response.end('served'), { tls: false })
  // Beside the package.
  const script = toScript(`${scripts++}`)
  const head = [
    "import { createRequire } from 'node:module'",
    "import { Agent, install, uninstall } from './dodici.mjs'",
    `const load = createRequire(${JSON.stringify(root)})`,
    `const origin = ${JSON.stringify(server.origin)}`,
    'const say = async (fetching) => console.log(await fetching.then((a) => a.text(), (e) => String(e.cause)))',
  ]
  await writeFile(script, [...head, body].join('\n'))
  const { stdout, stderr } = await runNode(script)
  expect(stderr).toBe('')
  return stdout.trim()
}

/** Dispatchers of npm undici in the place of the global one, of whose class no new Agent can be made. */
const FOREIGN = {
  'a ProxyAgent': "new undici.ProxyAgent('http://127.0.0.1:1')",
  'a MockAgent': 'new undici.MockAgent()',
  "a class of the caller's own": 'new (class Mine extends undici.Agent {})()',
}

/** No code may see the Agent that undici has put there for a moment. */
const OR_NONE = /^served$|^NotSupportedError: This request needs HTTP\/1\.1/

describe.each(['undici-6', 'undici'])('when %s has put in the place', (name) => {
  it.each(Object.entries(FOREIGN))('%s, install() finds a fallback nevertheless', async (_what, made) => {
    const said = await run(`
      const undici = load('${name}')
      undici.setGlobalDispatcher(${made})
      const agent = new Agent()
      install(agent)
      await say(fetch(origin))
      await agent.close()`)
    expect(said).toBe('served')
  })

  it.each(
    Object.entries(FOREIGN),
  )('%s, the dispatcher of one fetch finds a fallback', async (_what, made) => {
    const said = await run(`
      const undici = load('${name}')
      undici.setGlobalDispatcher(${made})
      const dispatcher = new Agent()
      await say(fetch(origin, { dispatcher }))
      await dispatcher.close()`)
    expect(said).toBe('served')
  })

  it('an agent that was made before undici was imported gives its fetch a fallback, or a clear error', async () => {
    const said = await run(`
      const agent = new Agent()
      const undici = load('${name}')
      undici.setGlobalDispatcher(agent)
      await say(undici.fetch(origin))
      await agent.close()`)
    expect(said).toMatch(OR_NONE)
  })

  it('an agent that was made before undici was imported gives the built-in fetch a fallback', async () => {
    const said = await run(`
      const agent = new Agent()
      const undici = load('${name}')
      undici.setGlobalDispatcher(agent)
      await say(fetch(origin))
      await agent.close()`)
    expect(said).toMatch(OR_NONE)
  })
})
