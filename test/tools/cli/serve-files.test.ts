import { spawnSync } from 'node:child_process'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Client } from '../../../src/index.ts'
import type { Serve } from '../../support/clients/cli.ts'
import { makeFolder, removeFolder, startServe } from '../../support/clients/cli.ts'

const BIG = Buffer.alloc(1_000_000, 'a piece of a file, ')

let folder = ''
let serve: Serve
let client: Client

beforeAll(async () => {
  folder = await makeFolder()
  const site = join(folder, 'site')
  await mkdir(join(site, 'sub'), { recursive: true })
  await mkdir(join(site, '.git'))
  await mkdir(join(folder, 'site-secret'))
  const files = {
    'site/index.html': '<p>root',
    'site/sub/index.html': '<p>sub',
    'site/a.txt': 'abcdef',
    'site/größe 1.json': '{}',
    'site/echo': 'a file',
    'site/.env': 'secret',
    'site/.git/config': 'secret',
    'site/sub/.hidden': 'secret',
    'site-secret/file': 'secret',
    secret: 'secret',
  }
  for (const [path, text] of Object.entries(files)) await writeFile(join(folder, path), text)
  await writeFile(join(site, 'big.bin'), BIG)
  const links = {
    inside: 'a.txt',
    'folder-inside': 'sub',
    outside: '../secret',
    'outside-folder': '..',
    sibling: '../site-secret/file',
    'to-dotfile': '.env',
    'to-dot-folder': '.git',
    loop: 'loop',
    broken: 'nothing',
    passwd: '/etc/passwd',
  }
  for (const [name, target] of Object.entries(links)) await symlink(target, join(site, name))
  spawnSync('mkfifo', [join(site, 'pipe')])
  serve = await startServe(join(folder, 'cache'), '--no-tls', site)
  client = new Client(serve.plain, { h2c: true })
})

afterAll(async () => {
  await client?.close()
  await serve?.running.kill()
  await removeFolder(folder)
})

async function get(path: string, headers: Record<string, string> = {}, method = 'GET') {
  const { statusCode, headers: fields, body } = await client.request({ path, method, headers })
  return { status: statusCode, fields, text: await body.text() }
}

describe('a file', () => {
  it.each([
    { path: '/a.txt', text: 'abcdef', type: 'text/plain; charset=utf-8' },
    { path: '/a.txt?query=../..', text: 'abcdef', type: 'text/plain; charset=utf-8' },
    { path: '/%61.txt', text: 'abcdef', type: 'text/plain; charset=utf-8' },
    { path: '/gr%C3%B6%C3%9Fe%201.json', text: '{}', type: 'application/json' },
    { path: '/', text: '<p>root', type: 'text/html; charset=utf-8' },
    { path: '/sub/', text: '<p>sub', type: 'text/html; charset=utf-8' },
    { path: '/inside', text: 'abcdef', type: 'text/plain; charset=utf-8' },
    { path: '/folder-inside/index.html', text: '<p>sub', type: 'text/html; charset=utf-8' },
  ])('$path: is served with its type', async ({ path, text, type }) => {
    const response = await get(path)
    expect(response).toMatchObject({ status: 200, text })
    expect(response.fields).toMatchObject({ 'content-type': type, 'x-content-type-options': 'nosniff' })
  })

  it('comes whole, with its length', async () => {
    const { fields, text } = await get('/big.bin')
    expect(fields).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-length': `${BIG.length}`,
    })
    expect(text === BIG.toString()).toBe(true)
  })

  it('has no body for HEAD', async () => {
    const { status, fields, text } = await get('/a.txt', {}, 'HEAD')
    expect({ status, text, length: fields['content-length'] }).toEqual({ status: 200, text: '', length: '6' })
  })

  it('takes no other method', async () => {
    const { status, fields } = await get('/a.txt', {}, 'DELETE')
    expect({ status, allow: fields.allow }).toEqual({ status: 405, allow: 'GET, HEAD' })
  })
})

describe('a folder', () => {
  it('has its address with a slash behind it', async () => {
    const { status, fields } = await get('/sub')
    expect({ status, location: fields.location }).toEqual({ status: 308, location: '/sub/' })
  })
})

/** Each would lead to what isn't to be served: by its encoding, by a link, or by its name. */
const FORBIDDEN = [
  ...['/.env', '/%2eenv', '/.git/config', '/.git/', '/.git', '/sub/.hidden', '/sub/%2Ehidden'],
  ...['/to-dotfile', '/to-dot-folder/config', '/outside', '/outside-folder/secret', '/sibling', '/passwd'],
  ...['/outside-folder/', '/outside-folder', '/folder-inside/../a.txt', '/loop', '/broken', '/pipe'],
  ...['/../secret', '/..', '/../', '/./a.txt', '/sub/../a.txt', '/sub/../../secret', '/%2e%2e/secret'],
  ...['/.%2e/secret', '/%2E%2E%2Fsecret', '/..%2fsecret', '/sub%2f..%2f..%2fsecret', '/%252e%252e/secret'],
  ...['/..%5csecret', '/..\\secret', '/%5c..%5csecret', '/%c0%ae%c0%ae/secret', '/%c0%af', '/..%c0%afsecret'],
  ...['/%u002e%u002e/secret', '/%', '/%2', '/%zz', '/a.txt%00', '/a.txt%00.html', '/%00', '/a.txt/'],
  ...['//etc/passwd', '//a.txt', '/sub//index.html', '/sub%2findex.html', '/%2fetc%2fpasswd', '/;/../secret'],
  ...['/..;/secret', '/...', '/%20', '/~', '/a.txt%2f', '/%e2%80%a5/secret', '/%ef%bc%8e%ef%bc%8e/secret'],
  ...['/../site-secret/file', '/%2e%2e/site-secret/file', '/../site/a.txt', '/echo/', '/echo/x'],
  ...['/../../../../../../../../etc/passwd', '/%2e%2e%2f%2e%2e%2f%2e%2e%2f%2e%2e%2fetc/passwd'],
  ...[`/${'x'.repeat(5_000)}`, `/${'sub/'.repeat(2_000)}`],
]

describe('what lies elsewhere, or is hidden', () => {
  it('is not found, by none of many paths', async () => {
    const responses = FORBIDDEN.map(async (path) => ({ path, ...(await get(path)) }))
    const found = (await Promise.all(responses)).filter(({ status, text }) => {
      return status !== 404 || text !== 'Not found.\n'
    })
    expect(found).toEqual([])
  })

  it('is not found over HTTP/1.1 either', async () => {
    const responses = FORBIDDEN.map(async (path) => ({ path, ...(await getRaw(path)) }))
    const found = (await Promise.all(responses)).filter(({ status, text }) => {
      return ![400, 404].includes(status) || /secret|root:/.test(text)
    })
    expect(found).toEqual([])
  })

  it.each([
    'http://localhost/a.txt',
    'a.txt',
    '*',
    '../secret',
  ])('is not found, over HTTP/1.1: %s', async (target) => {
    const { status, text } = await getRaw(target)
    expect([400, 404]).toContain(status)
    expect(text).not.toContain('secret')
  })
})

describe('a built-in route', () => {
  it('comes before a file of its name', async () => {
    const { body } = await client.request({ path: '/echo', method: 'POST', body: 'back' })
    expect(await body.text()).toBe('back')
  })
})

/** Sends a request target as it is. */
async function getRaw(target: string): Promise<{ status: number; text: string }> {
  const socket = connect(Number(new URL(serve.plain).port), '127.0.0.1')
  socket.write(`GET ${target} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`)
  let text = ''
  for await (const bytes of socket) text += bytes
  return { status: Number(text.split(' ')[1]), text: text.slice(text.indexOf('\r\n\r\n')) }
}
