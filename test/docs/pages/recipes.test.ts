/** The recipes of docs/integrations.md: each runs as printed, and those that send a request do it over HTTP/2. */

import { execFile } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import type { ServerHttp2Stream } from 'node:http2'
import http2 from 'node:http2'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { CLAUDE_MESSAGE, GPT_COMPLETION } from '../../interop/libraries-responses.ts'
import { lacksPackages } from '../../support/clients/packages.ts'
import { toCertificate } from '../../support/servers/server.ts'
import { findSnippets, readRepository } from '../testing-page/page.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const SNIPPETS = findSnippets(readRepository('docs/integrations.md'))

/** Where `scripts/install-clients.mjs` installs large clients. */
const toModules = (clients: string): string => `test/interop/${clients}/node_modules`

/** Each package, where it is installed, and what its recipe prints. */
const RECIPES = [
  { name: 'ky', from: 'node_modules', prints: "{ name: 'Ada' }" },
  { name: 'axios', from: 'node_modules', prints: "{ name: 'Ada' }" },
  { name: 'openai', from: 'node_modules', prints: 'Hello.' },
  { name: '@anthropic-ai/sdk', from: 'node_modules', prints: 'Hello.' },
  { name: 'gaxios', from: toModules('grpc-clients'), prints: "{ name: 'Ada' }" },
]

const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const KEY = privateKey.export({ type: 'pkcs8', format: 'pem' })

/** Recipes with a file beside them: the origin that the local server stands for, and what the reader has to have. */
const PUSHES = [
  {
    name: 'APNs',
    copied: 'apns.mjs',
    origin: 'https://api.push.apple.com',
    given: `const [key, device] = [${JSON.stringify(KEY)}, 'device']\n`,
  },
  {
    name: 'FCM',
    copied: 'fcm.mjs',
    origin: 'https://fcm.googleapis.com',
    given: "const device = 'device'\n",
  },
]

/** Recipes of clients that find their server by their environment: the package, where it is installed, and what it asks for. */
const SERVICES = [
  { name: '@aws-sdk/client-kinesis', installed: 'aws', path: '/' },
  {
    name: '@google-cloud/pubsub',
    installed: 'grpc-clients',
    path: '/google.pubsub.v1.Publisher/Publish',
  },
] as const

/** A PublishResponse with the id of one message, in the frame of gRPC. */
const PUBLISHED = Buffer.from([0, 0, 0, 0, 3, 0x0a, 1, 0x31])

const PROTO = `syntax = "proto3";
package heroes;
message Hero { int32 id = 1; }
service Heroes { rpc Find (Hero) returns (Hero); }
`

/** Recipes of gRPC that make a client, or wrap one: nothing is sent. */
const GRPC = [
  {
    name: 'NestJS',
    says: "from '@nestjs/microservices'",
    member: 'client.getClientByServiceName',
  },
  {
    name: "OpenTelemetry's exporter",
    says: "from './otlp.mjs'",
    member: "createRequire(import.meta.url)('@opentelemetry/exporter-trace-otlp-grpc').OTLPTraceExporter",
  },
]
const GRPC_PACKAGES = [
  '@grpc/grpc-js',
  'google-gax',
  '@nestjs/microservices',
  '@opentelemetry/exporter-trace-otlp-grpc',
]

const folder = mkdtempSync(join(tmpdir(), 'dodici-recipes-'))
const versions: string[] = []
/** What each request asked for. */
const paths: string[] = []
const server: { origin: string; emulator: string; close(): void } = {
  origin: '',
  emulator: '',
  close: () => {},
}

beforeAll(async () => {
  const { private: key, cert } = await toCertificate()
  writeFileSync(join(folder, 'ca.pem'), cert)
  const secure = http2.createSecureServer({ key, cert, allowHTTP1: true }, (request, response) => {
    versions.push(request.httpVersion)
    response.setHeader('content-type', 'application/json')
    const path = String(request.url)
    paths.push(path)
    if (path.endsWith('/chat/completions')) response.end(JSON.stringify(GPT_COMPLETION))
    else if (path.endsWith('/messages')) response.end(JSON.stringify(CLAUDE_MESSAGE))
    else request.pipe(response)
  })
  secure.listen(0, '127.0.0.1')
  await once(secure, 'listening')
  server.origin = `https://localhost:${(secure.address() as AddressInfo).port}`
  const plain = http2.createServer()
  plain.on('stream', (stream: ServerHttp2Stream, headers) => {
    versions.push('2.0')
    paths.push(String(headers[':path']))
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
    stream.resume().on('end', () => stream.end(PUBLISHED))
  })
  plain.listen(0, '127.0.0.1')
  await once(plain, 'listening')
  server.emulator = `localhost:${(plain.address() as AddressInfo).port}`
  server.close = () => {
    secure.close()
    plain.close()
  }
  const linked = [
    ...RECIPES,
    ...GRPC_PACKAGES.map((name) => ({ name, from: toModules('grpc-clients') })),
    ...SERVICES.map(({ name, installed }) => ({ name, from: toModules(installed) })),
  ]
  for (const { name, from } of linked) {
    const link = join(folder, 'node_modules', name)
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(join(root, from, name), link)
  }
  for (const file of ['apns.mjs', 'aws.mjs', 'fcm.mjs', 'otlp.mjs'])
    copyFileSync(join(root, 'examples/integrations', file), join(folder, file))
  // A token of Google's takes an account and a network.
  const auth = join(folder, 'node_modules/google-auth-library')
  mkdirSync(auth)
  writeFileSync(
    join(auth, 'index.mjs'),
    "export class GoogleAuth { getAccessToken() { return Promise.resolve('token') } }",
  )
  writeFileSync(join(auth, 'package.json'), '{ "exports": "./index.mjs" }')
  writeFileSync(join(folder, 'heroes.proto'), PROTO)
  symlinkSync(root, join(folder, 'node_modules/dodici'))
})

beforeEach(() => {
  versions.length = 0
  paths.length = 0
})

afterAll(() => {
  server.close()
  rmSync(folder, { recursive: true })
})

/** The one recipe whose code says something. */
function findRecipe(says: string): string {
  const [snippet, ...others] = SNIPPETS.filter(({ code }) => code.includes(says))
  expect(others).toEqual([])
  return snippet?.code ?? ''
}

/** @returns what the program prints */
async function play(code: string): Promise<string> {
  const file = join(folder, 'recipe.mjs')
  writeFileSync(file, code)
  const { stdout } = await promisify(execFile)(process.execPath, [file], {
    cwd: folder,
    env: {
      ...process.env,
      NODE_OPTIONS: '',
      NO_COLOR: '1',
      NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem'),
      OPENAI_API_KEY: 'key',
      OPENAI_BASE_URL: `${server.origin}/v1`,
      ANTHROPIC_API_KEY: 'key',
      ANTHROPIC_BASE_URL: server.origin,
      AWS_ENDPOINT_URL: server.origin,
      AWS_ACCESS_KEY_ID: 'id',
      AWS_SECRET_ACCESS_KEY: 'secret',
      PUBSUB_EMULATOR_HOST: server.emulator,
      PUBSUB_PROJECT_ID: 'project',
    },
  })
  return stdout.trim()
}

describe.each(RECIPES)('$name', ({ name, from, prints }) => {
  it.skipIf(from !== 'node_modules' && lacksPackages('grpc-clients'))('goes over HTTP/2', async () => {
    const recipe = findRecipe(`from '${name}'`)
    expect(await play(recipe.replaceAll('https://example.com', server.origin))).toBe(prints)
    expect(versions).toEqual(['2.0'])
  })
})

describe.each(PUSHES)('$name', ({ copied, origin, given }) => {
  it('goes over HTTP/2', async () => {
    const recipe = findRecipe(`from './${copied}'`)
    expect(recipe).toContain(origin)
    expect(await play(given + recipe.replaceAll(origin, server.origin))).toBe('')
    expect(versions).toEqual(['2.0'])
  })
})

describe.each(SERVICES)('$name', ({ name, installed, path }) => {
  it.skipIf(lacksPackages(installed))('goes over HTTP/2', async () => {
    expect(await play(findRecipe(`from '${name}'`))).toBe('')
    expect(versions).toEqual(['2.0'])
    expect(paths).toEqual([path])
  })
})

describe.each(GRPC)('$name', ({ says, member }) => {
  it.skipIf(lacksPackages('grpc-clients'))('runs as printed', async () => {
    expect(await play(`${findRecipe(says)}\nconsole.log(typeof ${member})\n`)).toBe('function')
  })
})
