import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import type { Exit } from '../support/child.ts'
import { runNode } from '../support/child.ts'
import { findFreePort } from '../support/free-port.ts'
import { lacksNghttpd, startNghttpd } from '../support/nghttpd.ts'

const scripts = new URL('../../scripts/', import.meta.url)

/** As `npm run demo` runs it, on what `npm run build` made. */
function runDemo(...args: string[]): Promise<Exit> {
  return runNode(fileURLToPath(new URL('demo.mjs', scripts)), ...args)
}

/** The names of all APIs that the demo shows. */
async function loadApis(): Promise<string[]> {
  const cases: unknown = (await import(new URL('demo/cases.mjs', scripts).href)).cases
  if (!Array.isArray(cases)) throw new Error('The demo has no cases')
  return cases.map((entry: unknown) => {
    if (typeof entry !== 'object' || entry === null || !('api' in entry)) throw new Error('A case has no api')
    return String(entry.api)
  })
}

/** The table's rows below its head, by protocol: the API and the status of each. */
function readTable(stdout: string): Record<string, { api: string; status: string }[]> {
  const [, ...lines] = stdout.trimEnd().split('\n')
  const rows: Record<string, { api: string; status: string }[]> = {}
  for (const line of lines) {
    const [api = '', protocol = '', status = ''] = line.split(/ {2,}/)
    rows[protocol] ??= []
    rows[protocol].push({ api, status })
  }
  return rows
}

async function toRows(status: string): Promise<{ api: string; status: string }[]> {
  return (await loadApis()).map((api) => ({ api, status }))
}

describe('the demo', () => {
  it('without a URL shows every API over h2 and over h2c against a server of its own, and ends by itself', async () => {
    const { code, signal, stdout, stderr } = await runDemo()
    expect(stderr).toBe('')
    expect([code, signal]).toEqual([0, null])
    expect(stdout.split('\n')[0]).toMatch(/^API +protocol +status +bytes +ms +headers$/)
    const rows = await toRows('200')
    expect(rows.map(({ api }) => api)).toContain('dispatch')
    expect(readTable(stdout)).toEqual({ h2: rows, h2c: rows })
  })

  describe.skipIf(lacksNghttpd)('with the URL of nghttpd', () => {
    const files = { 'index.html': '<p>Hello from nghttpd</p>' }

    it('over h2c shows every API', async () => {
      const { origin } = await startNghttpd({ files })
      const { code, signal, stdout, stderr } = await runDemo(origin)
      expect(stderr).toBe('')
      expect([code, signal]).toEqual([0, null])
      expect(readTable(stdout)).toEqual({ h2c: await toRows('200') })
    })

    it('over TLS with --insecure shows every API', async () => {
      const { origin } = await startNghttpd({ tls: true, files })
      const { code, signal, stdout, stderr } = await runDemo(`${origin}/index.html`, '--insecure')
      expect(stderr).toBe('')
      expect([code, signal]).toEqual([0, null])
      expect(readTable(stdout)).toEqual({ h2: await toRows('200') })
    })

    it('over TLS without --insecure ends with 1, and says that the certificate is not trusted', async () => {
      const { origin } = await startNghttpd({ tls: true, files })
      const { code, stderr } = await runDemo(origin)
      expect(code).toBe(1)
      expect(stderr).toMatch(/certificate isn't trusted.*--insecure/)
    })
  })

  it.each([
    'http',
    'https',
  ])('when nobody listens at a URL of %s, ends with 1 and says so', async (scheme) => {
    const origin = `${scheme}://127.0.0.1:${await findFreePort()}`
    const { code, signal, stdout, stderr } = await runDemo(origin)
    expect([code, signal]).toEqual([1, null])
    expect(stdout).toBe('')
    expect(stderr).toContain(`Can't reach ${origin}: `)
    expect(stderr).toContain('ECONNREFUSED')
  })

  it.each([
    'nonsense',
    'ftp://127.0.0.1',
    'http://',
  ])('when the URL is %j, ends with 1 and says so', async (url) => {
    const { code, signal, stdout, stderr } = await runDemo(url)
    expect([code, signal]).toEqual([1, null])
    expect(stdout).toBe('')
    expect(stderr).toBe(`Not an http: or https: URL: ${url}\n`)
  })
})
