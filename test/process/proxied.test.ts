import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { bundle } from '../support/clients/bundled.ts'
import { ENGINES } from '../support/clients/engines.ts'
import {
  startHttp1Proxy,
  startHttp2Proxy,
  startOrigins,
  startSocksProxy,
} from '../support/servers/proxies.ts'

const toPath = bundle({ proxied: new URL('./children/proxied.ts', import.meta.url) })
const PROXIES = {
  'HTTP/1.1': () => startHttp1Proxy(),
  'HTTP/2': () => startHttp2Proxy(),
  SOCKS5: () => startSocksProxy(),
}

describe.each(ENGINES)('engine %s', (ENGINE) => {
  it.each(
    Object.entries(PROXIES),
  )('a process with an idle tunnel of %s ends by itself', async (_name, start) => {
    const [origins, proxy] = [await startOrigins(), await start()]
    const { PATH } = process.env
    const env = { PATH, ENGINE, ORIGIN: origins.http2, PROXY: proxy.url, CA: origins.ca }
    const child = promisify(execFile)(process.execPath, ['--no-warnings', toPath('proxied')], { env })
    const { stdout } = await child
    expect(stdout).toBe('GET / over 2.0\n')
    expect(proxy.asked).toHaveLength(1)
  })
})
