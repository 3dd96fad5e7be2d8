/**
 * The built declarations of `dodici/grpc-js` and `dodici/connect` beside the packages that they are for, as each way of
 * resolving modules finds them: ES modules, CommonJS, and bundlers. Nothing is left unchecked.
 */

import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('../../../', import.meta.url))

/** A client as generators write it, and what a program does with it. */
const GRPC = `
import * as grpc from '@grpc/grpc-js'
import type { ChannelFactoryOptions, ChannelFactoryOverride, GrpcLibrary } from 'dodici/grpc-js'
import { channelFactory } from 'dodici/grpc-js'

interface HelloRequest { name: string }
interface HelloReply { message: string }

const GreeterService = {
  sayHello: {
    path: '/helloworld.Greeter/SayHello',
    requestStream: false,
    responseStream: false,
    requestSerialize: (value: HelloRequest) => Buffer.from(JSON.stringify(value)),
    requestDeserialize: (bytes: Buffer): HelloRequest => JSON.parse(bytes.toString()),
    responseSerialize: (value: HelloReply) => Buffer.from(JSON.stringify(value)),
    responseDeserialize: (bytes: Buffer): HelloReply => JSON.parse(bytes.toString()),
  },
} as const

interface GreeterClient extends grpc.Client {
  sayHello(
    request: HelloRequest,
    callback: (error: grpc.ServiceError | null, response: HelloReply) => void,
  ): grpc.ClientUnaryCall
}
const GreeterClient = grpc.makeGenericClientConstructor(GreeterService, 'helloworld.Greeter') as unknown as {
  new (address: string, credentials: grpc.ChannelCredentials, options?: Partial<grpc.ClientOptions>): GreeterClient
}

const given: ChannelFactoryOptions = { grpc, engine: 'wire', connections: null, pool: { maxSessionAge: 60_000 } }
const channelFactoryOverride: ChannelFactoryOverride = channelFactory(given)
const options: grpc.ClientOptions = { channelFactoryOverride, 'grpc.keepalive_time_ms': 10_000 }
export const client = new GreeterClient('localhost:50051', grpc.credentials.createInsecure(), options)
export const raw = new grpc.Client('localhost:50051', grpc.credentials.createSsl(), {
  channelFactoryOverride: channelFactory(),
})
export const channel: grpc.Channel = channelFactory()('localhost:1', grpc.credentials.createInsecure(), {})
export const call: grpc.ClientUnaryCall = client.sayHello({ name: 'a' }, (_error, { message }) => message)
export const library: GrpcLibrary = grpc

// @ts-expect-error: no engine
channelFactory({ engine: 'quic' })
// @ts-expect-error: the channel decides it
channelFactory({ pool: { headersTimeout: 1 } })
// @ts-expect-error: no copy of grpc-js
channelFactory({ grpc: {} })
// @ts-expect-error: no target
channelFactory()(5, grpc.credentials.createInsecure(), {})
`

const CONNECT = `
import type { GenService } from '@bufbuild/protobuf/codegenv2'
import type { EmptySchema, StringValueSchema } from '@bufbuild/protobuf/wkt'
import type { Client, Transport } from '@connectrpc/connect'
import { createClient } from '@connectrpc/connect'
import { Agent } from 'dodici'
import type { TransportOptions } from 'dodici/connect'
import { compressionBrotli, compressionGzip, createTransport } from 'dodici/connect'

declare const Greeter: GenService<{
  sayHello: { methodKind: 'unary'; input: typeof StringValueSchema; output: typeof StringValueSchema }
  watch: { methodKind: 'server_streaming'; input: typeof EmptySchema; output: typeof StringValueSchema }
}>

const options: TransportOptions = {
  baseUrl: 'https://localhost:50051',
  protocol: 'grpc',
  dispatcher: new Agent({ engine: 'wire' }),
  acceptCompression: [compressionGzip, compressionBrotli],
  sendCompression: compressionGzip,
  interceptors: [(next) => (request) => next(request)],
}
export const transport: Transport = createTransport(options)
export const client: Client<typeof Greeter> = createClient(Greeter, transport)
export const said: Promise<string> = client.sayHello({ value: 'a' }).then(({ value }) => value)
export async function watch(): Promise<string[]> {
  const seen: string[] = []
  for await (const { value } of client.watch({})) seen.push(value)
  return seen
}

// @ts-expect-error: no protocol
createTransport({ baseUrl: 'https://localhost:50051' })
// @ts-expect-error: the dispatcher has connect-node's options
createTransport({ ...options, nodeOptions: {} })
`

interface Resolution {
  readonly name: string
  /** Of the file that asks: it says whether that is an ES module, to Node. */
  readonly ending: 'mts' | 'cts' | 'ts'
  readonly module: ts.ModuleKind
  readonly moduleResolution: ts.ModuleResolutionKind
  /** The declarations that it has to find. */
  readonly found: 'd.ts' | 'd.cts'
}

const { Node16, ESNext } = ts.ModuleKind
const Way = ts.ModuleResolutionKind
const RESOLUTIONS: readonly Resolution[] = [
  { name: 'node16, ESM', ending: 'mts', module: Node16, moduleResolution: Way.Node16, found: 'd.ts' },
  { name: 'node16, CommonJS', ending: 'cts', module: Node16, moduleResolution: Way.Node16, found: 'd.cts' },
  { name: 'bundler', ending: 'ts', module: ESNext, moduleResolution: Way.Bundler, found: 'd.ts' },
]

/** Libraries are bound once for all programs. */
const sources = new Map<string, ts.SourceFile | undefined>()

/** What the compiler says of a file that exists only in memory, and which declarations of this package it reads. */
function compile(
  text: string,
  libs: readonly string[],
  { ending, module, moduleResolution }: Resolution,
): { readonly errors: string[]; readonly own: string[] } {
  // A folder from which packages are found. `dodici` is this package.
  const path = join(root, 'examples', `peer-entry.${ending}`)
  const options: ts.CompilerOptions = {
    ...{ module, moduleResolution, target: ts.ScriptTarget.ES2022 },
    lib: ['lib.es2023.d.ts', 'lib.esnext.disposable.d.ts', ...libs],
    types: ['node'],
    ...{ strict: true, exactOptionalPropertyTypes: true, noEmit: true, skipLibCheck: false },
  }
  const host = ts.createCompilerHost(options)
  const { fileExists, readFile, getSourceFile } = host
  host.fileExists = (name) => name === path || fileExists(name)
  host.readFile = (name) => (name === path ? text : readFile(name))
  host.getSourceFile = (name, languageVersion, ...rest) => {
    if (name === path) return ts.createSourceFile(name, text, languageVersion, true)
    const format = typeof languageVersion === 'object' ? languageVersion.impliedNodeFormat : undefined
    const key = `${module} ${format} ${name}`
    if (!sources.has(key)) sources.set(key, getSourceFile(name, languageVersion, ...rest))
    return sources.get(key)
  }
  const program = ts.createProgram([path], options, host)
  const errors = ts.getPreEmitDiagnostics(program).map(({ file, start, messageText }) => {
    const line =
      file === undefined || start === undefined ? 0 : file.getLineAndCharacterOfPosition(start).line
    return `${file?.fileName.slice(root.length)}:${line + 1}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`
  })
  const names = program.getSourceFiles().map(({ fileName }) => fileName.slice(root.length))
  return { errors, own: names.filter((name) => name.startsWith('dist/') || name.startsWith('src/')) }
}

describe.each(RESOLUTIONS)('the declarations of entries for other packages › $name', (resolution) => {
  it.each([
    ['grpc-js', GRPC, []],
    // The declarations of connect-es name HeadersInit, which browsers' types have.
    ['connect', CONNECT, ['lib.dom.d.ts', 'lib.dom.iterable.d.ts']],
  ] as const)('dodici/%s', (entry, text, libs) => {
    const { errors, own } = compile(text, libs, resolution)
    expect(errors).toEqual([])
    expect(own).toContain(`dist/${entry}.${resolution.found}`)
    // No second copy of the package, and no sources.
    expect(own.filter((name) => name.startsWith('src/'))).toEqual([])
  })
})
