/**
 * Runs each pair of programs of docs/migrating*.md: before and after, they print the same. And each map names every
 * option of the client that it is about.
 */

import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import http2 from 'node:http2'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { connectNodeAdapter } from '@connectrpc/connect-node'
import * as grpc from '@grpc/grpc-js'
import { AxiosError } from 'axios'
import { Options as GotOptions } from 'got'
import ts from 'typescript'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { toCertificate } from '../support/servers/server.ts'
import { GreetService } from './migrating/greet-service.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const PAGES = readdirSync(join(root, 'docs')).filter((file) => /^migrating.*\.md$/.test(file))
const readPage = (page: string): string => readFileSync(join(root, 'docs', page), 'utf8')

interface Pair {
  /** Its heading, behind that of its section. */
  readonly name: string
  readonly before: string
  readonly after: string
}

/** Each `###` with programs has one before and one after. */
function toPairs(text: string): Pair[] {
  return text.split(/^## /m).flatMap((section) => {
    const [title = ''] = section.split('\n')
    return section
      .split(/^### /m)
      .slice(1)
      .filter((part) => /^```js /m.test(part))
      .map((part) => {
        const [before = '', after = ''] = [...part.matchAll(/^```js [^\n]*\n(.*?)^```$/gms)].map(
          ([, code = '']) => code,
        )
        return { name: `${title} › ${part.split('\n')[0]}`, before, after }
      })
  })
}

const folder = mkdtempSync(join(tmpdir(), 'dodici-migrating-'))
const server: { origin: string; close(): void } = { origin: '', close: () => {} }
const grpcServer = new grpc.Server()
const gRPC = { port: 0 }

/** What a form says, whatever its boundary is. */
async function toFields(request: http2.Http2ServerRequest): Promise<string> {
  const chunks = await request.toArray()
  const headers = { 'content-type': String(request.headers['content-type']) }
  const form = await new Response(Buffer.concat(chunks), { headers }).formData()
  return JSON.stringify([...form.entries()])
}

const respond = async (
  request: http2.Http2ServerRequest,
  response: http2.Http2ServerResponse,
): Promise<void> => {
  response.setHeader('content-type', 'application/json')
  if (request.url === '/items') {
    response.end(JSON.stringify([{ id: 1 }, { id: 2 }]))
  } else if (request.url === '/echo') {
    request.pipe(response)
  } else if (request.url === '/form') {
    response.end(await toFields(request))
  } else {
    response.statusCode = request.url === '/length' ? 200 : request.url === '/busy' ? 503 : 404
    request.resume().on('end', () => response.end())
  }
}

/** Speaks HTTP/2 and HTTP/1.1, and Connect. */
async function startSecure(): Promise<void> {
  const { private: key, cert } = await toCertificate()
  writeFileSync(join(folder, 'ca.pem'), cert)
  const handler = connectNodeAdapter({
    routes: (router) => router.service(GreetService, { greet: (message: object) => message }),
    fallback: (request, response) =>
      void respond(request as http2.Http2ServerRequest, response as http2.Http2ServerResponse),
  })
  const secure = http2.createSecureServer({ key, cert, allowHTTP1: true }, handler)
  secure.listen(0, '127.0.0.1')
  await once(secure, 'listening')
  server.origin = `https://localhost:${(secure.address() as AddressInfo).port}`
  server.close = () => secure.close()
}

async function startGrpc(): Promise<void> {
  const toSame = (value: Buffer): Buffer => value
  const serializers = {
    ...{ requestSerialize: toSame, requestDeserialize: toSame },
    ...{ responseSerialize: toSame, responseDeserialize: toSame },
  }
  const greet = { path: '/greet.v1.GreetService/Greet', requestStream: false, responseStream: false }
  grpcServer.addService(
    { greet: { ...greet, ...serializers } },
    {
      greet: (call: grpc.ServerUnaryCall<Buffer, Buffer>, callback: grpc.sendUnaryData<Buffer>) =>
        callback(null, call.request),
    },
  )
  const bind = promisify(grpcServer.bindAsync.bind(grpcServer))
  gRPC.port = await bind('127.0.0.1:0', grpc.ServerCredentials.createInsecure())
}

beforeAll(async () => {
  await Promise.all([startSecure(), startGrpc()])
})

afterAll(() => {
  server.close()
  grpcServer.forceShutdown()
  rmSync(folder, { recursive: true })
})

async function run(program: string): Promise<string> {
  const code = program
    .replaceAll('https://example.com', server.origin)
    .replaceAll('localhost:50051', `127.0.0.1:${gRPC.port}`)
    .replaceAll('./gen/greet_pb.js', './test/interop/migrating/greet-service.mjs')
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', code], {
    cwd: root,
    env: { ...process.env, NODE_OPTIONS: '', NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem'), NO_COLOR: '1' },
  })
  return stdout
}

describe.each(PAGES)('docs/%s', (page) => {
  const pairs = toPairs(readPage(page))

  it('has pairs of programs', () => {
    expect(pairs.length).toBeGreaterThan(1)
    for (const { before, after } of pairs) {
      expect(before).not.toMatch(/from 'dodici/)
      expect(after).toMatch(/from 'dodici/)
    }
  })

  it.each(pairs)('$name: both print the same', async ({ before, after }) => {
    const printed = await run(before)
    expect(printed).not.toBe('')
    expect(await run(after)).toBe(printed)
  })
})

const isMember = (
  node: ts.Node,
): node is (ts.TypeElement & { name: ts.PropertyName }) | (ts.ClassElement & { name: ts.PropertyName }) =>
  ts.isPropertySignature(node) ||
  ts.isMethodSignature(node) ||
  ts.isPropertyDeclaration(node) ||
  ts.isMethodDeclaration(node) ||
  ts.isGetAccessor(node)

/** The members of the interfaces, the classes and the type aliases with one of these names. */
function toMembers(file: string, ...names: string[]): string[] {
  const source = ts.createSourceFile(file, readFileSync(join(root, 'node_modules', file), 'utf8'), 99, true)
  const members: string[] = []
  const visit = (node: ts.Node): void => {
    const isNamed =
      ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node) || ts.isClassDeclaration(node)
    if (isNamed && names.includes(node.name?.text ?? '')) collect(node)
    ts.forEachChild(node, visit)
  }
  const collect = (node: ts.Node): void => {
    if (isMember(node)) members.push(node.name.getText().replaceAll(/^['"]|['"]$/g, ''))
    else ts.forEachChild(node, collect)
  }
  visit(source)
  return [...new Set(members)]
}

/** The classes that a file declares. */
function toClasses(file: string): string[] {
  const text = readFileSync(join(root, 'node_modules', file), 'utf8')
  return [...text.matchAll(/^ *export (?:declare )?class (\w+)/gm)].map(([, name = '']) => name)
}

const CONNECT = '@connectrpc/connect-node/dist/esm'
const GRPC = '@grpc/grpc-js/build/src'
const GOT = 'got/dist/source/core'
const UNDICIS = ['undici-types-6', 'undici-types-7', 'undici-types-8']
const toGot = (): string[] => {
  const options = new GotOptions()
  const own = Object.entries(Object.getOwnPropertyDescriptors(GotOptions.prototype))
  return [
    ...own.filter(([, { set }]) => set !== undefined).map(([name]) => name),
    ...Object.keys(options.hooks).map((name) => `hooks.${name}`),
    ...Object.keys(options.timeout).map((name) => `timeout.${name}`),
    ...Object.keys(options.retry).map((name) => `retry.${name}`),
  ].filter((name) => !['hooks', 'timeout', 'retry'].includes(name))
}

/** Which section of a page is the map of which client, and what it has to name. */
const MAPS: readonly (readonly [page: string, section: string, toNames: () => string[]])[] = [
  [
    'migrating-axios.md',
    'Options',
    () => [
      ...toMembers('axios/index.d.ts', 'AxiosRequestConfig', 'AxiosProxyConfig', 'TransitionalOptions'),
      ...toMembers('axios/index.d.ts', 'AxiosResponse'),
      ...Object.values(AxiosError).filter((value) => typeof value === 'string'),
    ],
  ],
  [
    'migrating-got.md',
    'From got',
    () => [
      ...toGot(),
      ...toMembers(`${GOT}/options.d.ts`, 'HttpsOptions', 'PaginationOptions', 'CacheOptions'),
      ...toMembers(`${GOT}/response.d.ts`, 'PlainResponse', 'Response'),
      ...['errors', 'response'].flatMap((file) => toClasses(`${GOT}/${file}.d.ts`)),
    ],
  ],
  [
    'migrating-got.md',
    'From ky',
    () => [
      ...toMembers('ky/distribution/types/options.d.ts', 'KyOptions'),
      ...toMembers('ky/distribution/types/retry.d.ts', 'RetryOptions'),
      ...toMembers('ky/distribution/types/hooks.d.ts', 'Hooks'),
    ],
  ],
  [
    'migrating-grpc.md',
    'From grpc-js',
    () => [
      ...toMembers(`${GRPC}/channel-options.d.ts`, 'ChannelOptions'),
      ...toMembers(`${GRPC}/client.d.ts`, 'CallOptions', 'ClientOptions'),
      ...toMembers(`${GRPC}/call.d.ts`, 'SurfaceCall'),
      ...toMembers(`${GRPC}/channel.d.ts`, 'Channel'),
    ],
  ],
  [
    'migrating-grpc.md',
    'From connect-node',
    () => [
      ...toMembers(`${CONNECT}/connect-transport.d.ts`, 'ConnectTransportOptions'),
      ...toMembers(`${CONNECT}/node-transport-options.d.ts`, 'NodeHttp2TransportOptions'),
      ...toMembers(`${CONNECT}/http2-session-manager.d.ts`, 'Http2SessionOptions'),
    ],
  ],
  [
    'migrating-http2.md',
    'From node:http2',
    () =>
      toMembers(
        '@types/node/http2.d.ts',
        ...['SessionOptions', 'ClientSessionOptions', 'SecureClientSessionOptions'],
        ...['ClientSessionRequestOptions', 'Http2SessionEventMap', 'ClientHttp2SessionEventMap'],
        ...['Http2StreamEventMap', 'ClientHttp2StreamEventMap', 'ClientHttp2Stream', 'Http2Stream'],
        ...['ClientHttp2Session', 'Http2Session'],
      ),
  ],
  [
    'migrating-http2.md',
    'From fetch-h2',
    () => [
      ...toMembers('fetch-h2/dist/lib/context.d.ts', 'ContextOptions'),
      ...toMembers('fetch-h2/dist/lib/core.d.ts', 'RequestInitWithoutBody', 'RequestInit', 'FetchInit'),
    ],
  ],
  [
    'migrating.md',
    'From undici',
    () =>
      UNDICIS.flatMap((types) => [
        ...['client', 'pool', 'agent'].flatMap((file) => toMembers(`${types}/${file}.d.ts`, 'Options')),
        ...toMembers(`${types}/dispatcher.d.ts`, 'DispatchOptions', 'RequestOptions', 'ConnectOptions'),
        ...toMembers(`${types}/dispatcher.d.ts`, 'UpgradeOptions', 'PipelineOptions', 'BodyMixin'),
        ...toMembers(`${types}/dispatcher.d.ts`, 'DispatchHandler', 'DispatchHandlers', 'DispatchController'),
        ...['proxy-agent', 'env-http-proxy-agent'].flatMap((file) =>
          toMembers(`${types}/${file}.d.ts`, 'Options'),
        ),
        ...toMembers(`${types}/connector.d.ts`, 'BuildOptions'),
        ...toClasses(`${types}/errors.d.ts`),
      ]),
  ],
  ['migrating.md', "From Node's fetch", () => toMembers('undici-types-7/fetch.d.ts', 'RequestInit')],
]

/** What every emitter has. */
const EMITTER = /^(?:add|emit|listener|off|on|once|prepend|raw|remove[AL])/

it.each(MAPS)('docs/%s, %s: maps every option and event', (page, section, toNames) => {
  const [, text = ''] = new RegExp(`^## ${section}$(.*?)(?=^## |$(?![^]))`, 'ms').exec(readPage(page)) ?? []
  const cells = [...text.matchAll(/^\| ([^|]*) \|/gm)].map(([, cell]) => cell).join(' ')
  const all = toNames().filter((name) => !EMITTER.test(name))
  const isNamed = (name: string): boolean =>
    new RegExp(`(?<![\\w.-])${name.replaceAll('.', '\\.')}(?![\\w-])`).test(cells)
  expect(all.length).toBeGreaterThan(10)
  expect([...new Set(all)].filter((name) => !isNamed(name))).toEqual([])
})
