import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { connect } from 'node:tls'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { PROGRAM_ENV } from '../../../scripts/program-env.mjs'
import { BEHAVIOURS } from '../../../src/cli/faults/behaviours.ts'
import { Journal } from '../../../src/cli/faults/journal.ts'
import { PRESET_NAMES } from '../../../src/cli/faults/presets.ts'
import { Client, errors } from '../../../src/index.ts'
import * as testing from '../../../src/testing/index.ts'
import { destroyWithTest } from '../../support/clients/agents.ts'
import type { Serve } from '../../support/clients/cli.ts'
import { makeFolder, removeFolder, startFaults } from '../../support/clients/cli.ts'
import { ENGINES } from '../../support/clients/engines.ts'
import { lacks, requireProgram } from '../../support/servers/programs.ts'

const lacksCurl = lacks('curl')

let cache = ''
let faults: Serve

beforeAll(async () => {
  cache = await makeFolder()
  faults = await startFaults(cache, '--verbose')
})

afterAll(async () => {
  await faults?.running.kill()
  await removeFolder(cache)
})

type Options = ConstructorParameters<typeof Client>[1]

function toClient(over: 'h2c' | 'TLS', options: Options): Client {
  const client =
    over === 'h2c'
      ? new Client(faults.plain, { ...options, h2c: true })
      : new Client(faults.secure, { ...options, connect: { ca: faults.ca } })
  onTestFinished(() => client.destroy())
  return client
}

/** The status of a whole response, or the code of the error. */
async function ask(client: Client, path: string, method = 'GET'): Promise<number | string> {
  const body = method === 'POST' ? 'a body' : null
  try {
    const response = await client.request({ path, method, body })
    await response.body.text()
    return response.statusCode
  } catch (error) {
    if (error instanceof errors.DodiciError) return error.code
    throw error
  }
}

/** All paths, as the tables have them. */
const PATHS = BEHAVIOURS.flatMap((behaviour) => [...behaviour.toRoutes(testing).keys()])

describe('the list', () => {
  it('has each behaviour, and each name of the tables of dodici/testing', async () => {
    const client = toClient('TLS', {})
    const { headers, body } = await client.request({ path: '/', method: 'GET' })
    expect(headers['content-type']).toBe('text/plain; charset=utf-8')
    const list = await body.text()
    for (const { does, rightClient } of BEHAVIOURS) {
      expect(list).toContain(`    ${does}\n    A correct client ${rightClient}\n`)
    }
    const words = new Set(list.split(/\s+/))
    expect(PATHS.filter((path) => !words.has(path))).toEqual([])
    const { BAD_FRAMES, BAD_HEADERS, FLOODS } = testing
    for (const [family, table] of Object.entries({ BAD_FRAMES, BAD_HEADERS, FLOODS })) {
      const prefix = { BAD_FRAMES: '/bad-frame/', BAD_HEADERS: '/bad-headers/', FLOODS: '/flood/' }[family]
      const paths = PATHS.filter((path) => path.startsWith(prefix ?? '/'))
      expect(new Set(paths).size).toBe(Object.keys(table).length)
    }
    expect(new Set(PATHS).size).toBe(PATHS.length)
  })

  it('has no alert of TLS where there is no TLS', async () => {
    const client = toClient('h2c', {})
    const { body } = await client.request({ path: '/', method: 'GET' })
    expect(await body.text()).not.toContain('/tls-alert')
    expect(await ask(client, '/tls-alert')).toBe(404)
  })
})

describe.each(
  ENGINES.flatMap((engine) => [
    { engine, over: 'h2c' as const },
    { engine, over: 'TLS' as const },
  ]),
)('engine $engine over $over', ({ engine, over }) => {
  it.each([
    ['/goaway', 200],
    ['/goaway-unprocessed', 200],
    ['/refused', 200],
    ['/each-byte', 200],
    ['/reset/CANCEL', 'DODICI_ERR_STREAM'],
    ['/nowhere', 404],
  ] as const)('%s: %s, and the next request is served', async (path, outcome) => {
    const client = toClient(over, { engine })
    const mine = `${path}?${engine}-${over}`
    expect(await ask(client, mine, 'POST')).toBe(outcome)
    expect(await ask(client, '/')).toBe(200)
  })
})

describe('engine wire', () => {
  it.each(
    PATHS.filter((path) => path.split('/').length === 3),
  )('%s: fails, or has a whole response; then the next request is served', async (path) => {
    const client = toClient('TLS', { engine: 'wire' })
    const outcome = await ask(client, path, 'POST')
    // A whole response may count; so may a large header section. HTTP_1_1_REQUIRED is obeyed.
    const mayServe = /behind-end-stream$|^\/header-bomb\//.test(path)
    if (path === '/reset/HTTP_1_1_REQUIRED') expect(outcome).toBe(505)
    else if (!mayServe || outcome !== 200) expect(outcome).toMatch(/^(UND|DODICI)_ERR_/)
    expect(await ask(client, '/')).toBe(200)
  })

  it.each([
    ['/tls-alert', 'UND_ERR_SOCKET'],
    ['/long', 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH'],
  ])('%s: %s, and the next request is served', async (path, outcome) => {
    const client = toClient('TLS', { engine: 'wire' })
    expect(await ask(client, path, 'POST')).toBe(outcome)
    expect(await ask(client, '/')).toBe(200)
  })
})

describe('a request that is for another server', () => {
  it.each([
    { headers: { ':path': '/', ':authority': 'evil.example' }, status: 421 },
    { headers: { ':path': '/refused', ':authority': 'evil.example' }, status: 421 },
    { headers: { ':method': 'CONNECT', ':authority': 'localhost:1' }, status: 501 },
  ])('gets a $status: $headers', async ({ headers, status }) => {
    const session = connectHttp2(faults.plain)
    onTestFinished(() => session.destroy())
    const [response] = await once(session.request(headers), 'response')
    expect(response[':status']).toBe(status)
  })
})

describe('--verbose', () => {
  it('says each frame, behind the number of its connection', async () => {
    const client = toClient('h2c', { engine: 'wire' })
    await ask(client, '/reset/CANCEL?verbose', 'POST')
    await client.destroy()
    await faults.running.says('/reset/CANCEL?verbose\n')
    const [, number = ''] =
      /\n(#\d+) HEADERS 1 POST \/reset\/CANCEL\?verbose\n/.exec(faults.running.stdout) ?? []
    await faults.running.says(`\n${number} closed\n`)
    const lines = faults.running.stdout.split('\n').filter((line) => line.startsWith(`${number} `))
    const said = lines.map((line) => line.slice(number.length + 1))
    expect(said[0]).toBe('connected')
    expect(said[1]).toMatch(/^SETTINGS .*ENABLE_PUSH=0 .*INITIAL_WINDOW_SIZE=\d+/)
    expect(said).toContain('DATA 1 6 B END_STREAM')
    expect(said.at(-1)).toBe('closed')
  })

  it("says what isn't HTTP/2", async () => {
    const { port } = new URL(faults.secure)
    const socket = connect({ port: Number(port), host: '127.0.0.1', ca: faults.ca, ALPNProtocols: ['h2'] })
    onTestFinished(() => void socket.destroy())
    socket.write('GET / HTTP/1.1\r\n\r\n')
    await once(socket.resume(), 'close')
    await faults.running.says(' Not the HTTP/2 preface: "GET /')
    const [, number = ''] = /\n(#\d+) Not the HTTP\/2 preface/.exec(faults.running.stdout) ?? []
    await faults.running.says(`\n${number} closed\n`)
  })
})

describe('a black hole', () => {
  it.each(['h2c', 'TLS'] as const)('is closed when its client has left: %s', async (over) => {
    const client = toClient(over, { engine: 'wire', headersTimeout: 100 })
    expect(await ask(client, `/silent?left-${over}`)).toBe('UND_ERR_HEADERS_TIMEOUT')
    // A busy machine may tell the client first.
    await faults.running.says(` /silent?left-${over}\n`)
    await client.destroy()
    const [, number = ''] =
      new RegExp(`\\n(#\\d+) .* /silent\\?left-${over}\\n`).exec(faults.running.stdout) ?? []
    await faults.running.says(`\n${number} closed\n`)
  })
})

describe('the journal', () => {
  it('keeps no frames, and nothing of connections that have ended', async () => {
    await using server = await testing.createFaultServer({ h2c: true })
    new Journal(null).addTo(server, false)
    const client = destroyWithTest(new Client(server.origin, { engine: 'wire', h2c: true }))
    for (let request = 0; request < 3; request++) expect(await ask(client, '/', 'POST')).toBe(200)
    const [connection] = server.connections
    expect(connection?.streams.map(({ chunks }) => chunks.length)).toEqual([0, 0, 0])
    expect([server.frames, connection?.frames]).toEqual([[], []])
    await client.destroy()
    await server.waitFor(() => server.connections.length === 0)
    expect(server.requests).toEqual([])
  })
})

describe('--preset', () => {
  it('does as the real server, beside the behaviours', async () => {
    const retiring = await startFaults(
      ...[cache, '--no-tls', '-v', '--preset', 'nginx-that-retires', '--requests', '2'],
    )
    onTestFinished(() => retiring.running.kill())
    const client = destroyWithTest(new Client(retiring.plain, { engine: 'wire', h2c: true }))
    for (let request = 0; request < 5; request++) expect(await ask(client, '/')).toBe(200)
    await retiring.running.says('#3 HEADERS 1 END_STREAM GET /\n')
    expect(retiring.running.stdout).not.toContain('#1 HEADERS 5')
    retiring.running.child.kill('SIGINT')
    expect(await retiring.running.exit()).toMatchObject({ code: 0, stderr: '' })
  })

  it('knows each of dodici/testing', () => {
    const names = Object.keys(testing.presets).map((name) => name.replace(/[A-Z]/g, '-$&').toLowerCase())
    expect(PRESET_NAMES).toEqual(names)
  })
})

describe.skipIf(lacksCurl)('curl', () => {
  const curl = async (...args: string[]) => {
    requireProgram('curl')
    const common = ['--silent', '--show-error', '--noproxy', '*', '--write-out', ' %{http_code}']
    return promisify(execFile)('curl', [...common, ...args], { env: PROGRAM_ENV }).then(
      ({ stdout }) => stdout,
      ({ code }: { code: number }) => code,
    )
  }

  it('sends a refused request again, and fails where it has to', async () => {
    const get = (path: string) => curl('--http2-prior-knowledge', `${faults.plain}${path}`)
    expect(await get('/refused?curl')).toBe('GET /refused?curl 200')
    // CURLE_HTTP2_STREAM.
    expect(await get('/reset/CANCEL')).toBe(92)
    expect(await get('/bad-frame/data-on-stream-0')).toEqual(expect.any(Number))
    await faults.running.says('GOAWAY PROTOCOL_ERROR DATA: stream_id == 0')
  })

  it('is served over TLS by an address of the certificate', async () => {
    const { port } = new URL(faults.secure)
    const text = await curl('--cacert', faults.caPath, `https://127.0.0.1:${port}/goaway`)
    expect(text).toBe('GET /goaway 200')
  })

  it('gets the list over HTTP/1.1, and a 505 for all else', async () => {
    const text = await curl(faults.plain)
    expect(text).toMatch(/^How this server responds/)
    expect(text).toMatch(/ 200$/)
    expect(await curl(`${faults.plain}/refused`)).toMatch(/--http2-prior-knowledge, for example\.\n 505$/)
    expect(await curl('--header', 'host: evil.example', faults.plain)).toMatch(/ 421$/)
  })
})
