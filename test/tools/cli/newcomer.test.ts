/**
 * A newcomer's session: lines of the quick starts of curl and h2load, played by those programs and by `dodici`, with the
 * same flags, against the same server.
 */

import { execFile } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Serve } from '../../support/clients/cli.ts'
import { CLI, makeFolder, removeFolder, startServe } from '../../support/clients/cli.ts'
import { runHere } from '../../support/clients/cli-here.ts'
import { lacks } from '../../support/servers/programs.ts'

let folder = ''
let serve: Serve

beforeAll(async () => {
  folder = await makeFolder()
  const site = join(folder, 'site')
  await mkdir(site)
  await writeFile(join(site, 'page.txt'), 'a page\n'.repeat(100))
  await writeFile(join(folder, 'body.txt'), 'a body')
  serve = await startServe(folder, site)
})

afterAll(async () => {
  await serve.running.kill()
  await removeFolder(folder)
})

interface Said {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

function run(program: string, args: readonly string[], name: string): Promise<Said> {
  return new Promise((resolve) => {
    const cwd = join(folder, name)
    execFile(program, args, { cwd }, (error, stdout, stderr) => {
      const code = error === null ? 0 : Number(error.code)
      resolve({ code, stdout, stderr })
    })
  })
}

/** The words of a line, with the URLs of the server. */
function toArgs(line: string): string[] {
  const words = line.match(/'[^']*'|\S+/g) ?? []
  return words.map((word) => {
    const text = word.replace(/^'(.*)'$/s, '$1').replaceAll('BODY', join(folder, 'body.txt'))
    const { port } = new URL(serve.plain)
    return text
      .replaceAll('PLAIN', serve.plain)
      .replaceAll('SECURE', serve.secure)
      .replaceAll('CA', serve.caPath)
      .replaceAll('PORT', port)
  })
}

/** What changes from call to call. */
function toLasting(text: string): string {
  return text.replace(/^date: .*\r\n|"time":"[^"]*"/gim, '')
}

/** With prior knowledge: without it curl would begin with HTTP/1.1. */
const H2C = '--http2-prior-knowledge'

describe.skipIf(lacks('curl'))('the same line for curl and for dodici: the same output', () => {
  it.each([
    `-s ${H2C} PLAIN/page.txt`,
    `-s ${H2C} PLAIN/status/404`,
    `-s ${H2C} -d a=1 -d b=2 PLAIN/echo`,
    `-s ${H2C} --data-raw @x PLAIN/echo`,
    `-s ${H2C} --data-binary @BODY PLAIN/echo`,
    `-s ${H2C} --data-urlencode 'q=a&b' PLAIN/echo`,
    `-s ${H2C} -T BODY PLAIN/echo`,
    `-sI ${H2C} PLAIN/page.txt`,
    `-si ${H2C} PLAIN/page.txt`,
    `-s ${H2C} -H 'range: bytes=0-5' -i PLAIN/page.txt`,
    `-sN ${H2C} PLAIN/sse?count=2&interval=1`,
    `-s ${H2C} -o /dev/null -w '%{http_code} %{http_version} %{size_download} %{content_type}\\n' PLAIN/page.txt`,
    `-s ${H2C} -o /dev/null --write-out '%{response_code} %{num_redirects} %{url_effective}\\n' PLAIN/status/204`,
    `-s ${H2C} --max-time 10 --fail PLAIN/page.txt`,
    `-s ${H2C} --compressed PLAIN/page.txt`,
    `-s ${H2C} --resolve localhost:PORT:127.0.0.1 PLAIN/page.txt`,
    `-s ${H2C} -u me:secret -A agent/1 -e http://a.test/ -b a=1 PLAIN/page.txt`,
    `-sO ${H2C} PLAIN/page.txt`,
    `-s --http2 --cacert CA SECURE/page.txt`,
    `-sG --http2 --cacert CA -d a=1 -w '%{url_effective}' SECURE/page.txt`,
  ])('%s', async (line) => {
    const args = toArgs(line)
    await Promise.all(['curl', 'dodici'].map((name) => mkdir(join(folder, name), { recursive: true })))
    const [theirs, ours] = await Promise.all([
      run('curl', args, 'curl'),
      run(process.execPath, [CLI, ...args], 'dodici'),
    ])
    expect([ours.code, toLasting(ours.stdout)]).toEqual([theirs.code, toLasting(theirs.stdout)])
    expect([theirs.code, ours.stderr]).toEqual([0, ''])
  })

  it('-O has written the same file', async () => {
    const [theirs, ours] = await Promise.all(
      ['curl', 'dodici'].map((name) => readFile(join(folder, name, 'page.txt'), 'utf8')),
    )
    expect([ours, theirs]).toEqual(['a page\n'.repeat(100), ours])
  })

  it.each([
    `-sf ${H2C} PLAIN/status/404`,
    `-s --http2 SECURE/page.txt`,
    `-s ${H2C} -m 0.2 PLAIN/delay/60000`,
    `-s ${H2C} http://127.0.0.1:1/`,
    `-s ${H2C} http://no-such-host.invalid/`,
  ])('%s: both fail', async (line) => {
    const [theirs, ours] = await Promise.all([
      run('curl', toArgs(line), ''),
      run(process.execPath, [CLI, ...toArgs(line)], ''),
    ])
    expect([theirs.code > 0, ours.code > 0]).toEqual([true, true])
    expect(ours.stderr).toMatch(/^dodici: /)
  })
})

describe.skipIf(lacks('h2load'))('the same line for h2load and for dodici load: as many responses', () => {
  it.each([
    ['-n 10 PLAIN/page.txt', 10],
    ['--requests=8 --clients=2 --max-concurrent-streams=2 --threads=1 PLAIN/page.txt', 8],
    ['-n 6 PLAIN/page.txt PLAIN/status/200', 6],
    ['-n 4 SECURE/page.txt', 4],
  ])('%s', async (line, count) => {
    const args = toArgs(line)
    const own = line.includes('SECURE') ? ['-k', ...args] : args
    const [theirs, ours] = await Promise.all([
      run('h2load', args, ''),
      run(process.execPath, [CLI, 'load', '--json', ...own], ''),
    ])
    expect(theirs.stdout).toContain(` ${count} succeeded, 0 failed`)
    expect(JSON.parse(ours.stdout)).toMatchObject({ responses: count, errors: {} })
  })
})

describe('an option of curl that dodici has not', () => {
  it.each([
    ['--http1.1', 'dodici speaks only HTTP/2'],
    ['--http3', 'dodici speaks only HTTP/2'],
    ['-r 0-5', "-H 'range: bytes=0-99' asks for a part"],
    ['-C -', "-H 'range: bytes=0-99' asks for a part"],
    ['-c jar', 'dodici stores no cookies'],
    ['-D -', '--include shows the header section'],
    ['--connect-timeout 3', '--timeout limits the whole call'],
    ['--retry 3', 'dodici makes only one attempt'],
    ['-4', '--resolve HOST:PORT:ADDRESS chooses the address'],
    ['-U me:pw', 'put the credentials in --proxy http://USER:PASSWORD@HOST'],
    ['--oauth2-bearer x', "-H 'authorization: Bearer TOKEN' sends it"],
    ['-#', '--silent shows only errors'],
    ['--verbos', "Did you mean '--verbose'?"],
    ['--max-tme 3', "Did you mean '--max-time'?"],
    ['-q', 'Available: --request'],
    ['--json {}', '--json takes no value: -d DATA sends a body'],
  ])('%s: is refused, and the message says what there is', async (line, message) => {
    const { code, stderr } = await runHere([...line.split(' '), 'http://localhost:1/'])
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)])
  })
})

describe('an option that means something else in h2load', () => {
  it.each([
    ['-w 16', "the client's windows are fixed"],
    ['-W 16', "the client's windows are fixed"],
    ['-r 100', "in h2load it sets connections per second; '--rate' sets requests per second"],
    ['--rps 5', "'--rate' sets requests per second, for all sessions"],
    ['-T 3', "'--timeout' limits each request"],
    ['-B http://a', "'--connect-to HOST:PORT' chooses the address"],
    ['--h1', 'dodici speaks only HTTP/2'],
    ['-p h2c', 'an http: URL means h2c'],
    ['--log-file x', "'--hdr FILE' writes the latencies"],
    ['-f 16384', 'all URLs need the same origin'],
  ])('%s: is refused', async (line, message) => {
    const { code, stderr } = await runHere(['load', ...line.split(' '), 'http://localhost:1/'])
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)])
  })

  it('-d FILE: the name would be the body; @FILE sends the file', async () => {
    const path = join(folder, 'body.txt')
    const { code, stderr } = await runHere(['load', '-n', '1', '-d', path, `${serve.plain}/echo`])
    expect([code, stderr]).toEqual([2, expect.stringContaining(`'${path}' is a file, and @${path} sends it`)])
    expect((await runHere(['load', '-n', '1', '-d', `@${path}`, `${serve.plain}/echo`])).code).toBe(0)
  })
})
