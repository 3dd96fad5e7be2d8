import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { bundle } from '../support/clients/bundled.ts'
import { startHttp1Proxy, startOrigins } from '../support/servers/proxies.ts'

const [MAJOR = 0] = process.versions.node.split('.').map(Number)
const toPath = bundle({ 'env-proxy': new URL('./children/env-proxy.ts', import.meta.url) })

/** What the child prints, without the text of the responses. */
async function play(env: Record<string, string>, flags: string[] = []): Promise<string[]> {
  const origins = await startOrigins('0.0.0.0')
  const proxy = await startHttp1Proxy()
  const { PATH } = process.env
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--no-warnings', ...flags, toPath('env-proxy')],
    {
      env: { PATH, ORIGIN: origins.http2, PROXY: proxy.url, HTTPS_PROXY: proxy.url, ...env },
    },
  )
  return stdout.trim().split('\n')
}

const BY = 'GET / over 2.0 by the proxy'
const DIRECTLY = 'GET / over 2.0 directly'

describe('the proxy of the environment', () => {
  it('without the switch is for an EnvHttpProxyAgent alone', async () => {
    expect(await play({})).toEqual([
      `at first request(): ${DIRECTLY}`,
      `at first fetch(): ${DIRECTLY}`,
      `at first an Agent: ${DIRECTLY}`,
      `installed: ${DIRECTLY}`,
      `EnvHttpProxyAgent: ${BY}`,
    ])
  })

  it.each([
    { name: 'the variable', env: { NODE_USE_ENV_PROXY: '1' }, flags: [] },
    ...(MAJOR >= 22 ? [{ name: 'the flag', env: {}, flags: ['--use-env-proxy'] }] : []),
  ])('is obeyed where Node obeys it: by $name', async ({ env, flags }) => {
    // Node 20 has no such switch.
    const way = MAJOR >= 22 ? BY : DIRECTLY
    expect(await play(env as unknown as Record<string, string>, flags)).toEqual([
      `at first request(): ${way}`,
      `at first fetch(): ${way}`,
      `at first an Agent: ${DIRECTLY}`,
      `installed: ${way}`,
      `EnvHttpProxyAgent: ${BY}`,
    ])
  })

  it('says also who is reached without it', async () => {
    const lines = await play({ NODE_USE_ENV_PROXY: '1', NO_PROXY: '127.0.0.0/8' })
    expect(lines.map((line) => line.slice(line.indexOf(': ') + 2))).toEqual(new Array(5).fill(DIRECTLY))
  })

  it('is none where the name in lower case is empty, as with the fetch of Node', async () => {
    const lines = await play({ NODE_USE_ENV_PROXY: '1', https_proxy: '' })
    expect(lines).toEqual([
      `at first request(): ${DIRECTLY}`,
      `at first fetch(): ${DIRECTLY}`,
      `at first an Agent: ${DIRECTLY}`,
      `installed: ${DIRECTLY}`,
      // It is given one.
      `EnvHttpProxyAgent: ${BY}`,
    ])
  })

  if (MAJOR >= 24) {
    it('follows http.setGlobalProxyFromEnv(), and its undo', async () => {
      expect(await play({ MODE: 'set', HTTPS_PROXY: '' })).toEqual([
        `at first request(): ${DIRECTLY}`,
        `at first fetch(): ${DIRECTLY}`,
        `at first an Agent: ${DIRECTLY}`,
        `set request(): ${BY}`,
        `set fetch(): ${BY}`,
        `set an Agent: ${DIRECTLY}`,
        `undone request(): ${DIRECTLY}`,
        `undone fetch(): ${DIRECTLY}`,
        `undone an Agent: ${DIRECTLY}`,
        `installed: ${DIRECTLY}`,
        `EnvHttpProxyAgent: ${BY}`,
      ])
    })
  }
})
