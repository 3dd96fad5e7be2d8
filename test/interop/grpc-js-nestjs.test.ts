/** A gRPC client of NestJS, as it is, over grpc-js' own channels and over those of dodici/grpc-js. */

import { fileURLToPath } from 'node:url'
import type {
  handleUnaryCall,
  Metadata,
  ServerDuplexStream,
  ServerWritableStream,
  UntypedServiceImplementation,
} from '@grpc/grpc-js'
import { status } from '@grpc/grpc-js'
import { describe, expect, it, onTestFinished } from 'vitest'
import { lacksPackages, loadPackage } from '../support/clients/packages.ts'
import { countConnections, loadGrpc, startServices, toDefinitions } from './grpc-clients-rig.ts'
import type { Transport } from './grpc-js-rig.ts'
import { TRANSPORTS } from './grpc-js-rig.ts'

interface Id {
  readonly id: number
}

interface Hero {
  readonly id: number
  readonly name: string
}

interface Observable<T> {
  subscribe(observer: { next?: (value: T) => void; error?: (error: unknown) => void }): {
    unsubscribe(): void
  }
}

/** What is used of `rxjs`. */
interface Rx {
  from<T>(values: readonly T[]): Observable<T>
  firstValueFrom<T>(values: Observable<T>): Promise<T>
  toArray(): unknown
}

interface Heroes {
  findOne(id: Id, metadata?: Metadata, options?: { deadline: number }): Observable<Hero>
  list(id: Id): Observable<Hero>
  findMany(ids: Observable<Id>): Observable<Hero>
}

/** What is used of `@nestjs/microservices`. */
interface Microservices {
  Transport: { GRPC: unknown }
  ClientProxyFactory: { create(options: object): { getService(name: string): Heroes; close(): void } }
}

const LACKING = lacksPackages('grpc-clients')
const PROTO = fileURLToPath(new URL('children/heroes.proto', import.meta.url))
const toHero = ({ id }: Id): Hero => ({ id, name: `hero ${id}` })

/** Hero 0 is unknown, -1 never comes, and a list from -1 stays open. */
async function start(transport: Transport) {
  const seen: { cancelled: number; fields: unknown[] } = { cancelled: 0, fields: [] }
  const open: ServerWritableStream<Id, Hero>[] = []
  const services: Record<string, UntypedServiceImplementation> = {
    'heroes.Heroes': {
      FindOne: ((call, callback) => {
        seen.fields.push(...call.metadata.get('x-name'))
        if (call.request.id === 0) callback({ code: status.NOT_FOUND, details: 'no such hero' })
        else if (call.request.id === -1) call.on('cancelled', () => seen.cancelled++)
        else callback(null, toHero(call.request))
      }) satisfies handleUnaryCall<Id, Hero>,
      List: (call: ServerWritableStream<Id, Hero>) => {
        call.on('cancelled', () => seen.cancelled++)
        for (let id = 1; id <= 100; id++) call.write(toHero({ id }))
        if (call.request.id === -1) open.push(call)
        else call.end()
      },
      FindMany: (call: ServerDuplexStream<Id, Hero>) => {
        call.on('data', (id: Id) => call.write(toHero(id)))
        call.on('end', () => call.end())
      },
    },
  }
  const server = await startServices(toDefinitions(PROTO), services)
  // As in a module of NestJS: `ClientsModule.register()` calls this factory.
  const { ClientProxyFactory, Transport: kinds } = loadPackage<Microservices>(
    'grpc-clients',
    '@nestjs/microservices',
  )
  const factory = transport.toFactory({ grpc: loadGrpc() })
  const client = ClientProxyFactory.create({
    transport: kinds.GRPC,
    options: {
      url: `127.0.0.1:${server.port}`,
      package: 'heroes',
      protoPath: PROTO,
      channelOptions: factory === null ? {} : { channelFactoryOverride: factory },
    },
  })
  onTestFinished(() => client.close())
  return {
    seen,
    open,
    client,
    heroes: client.getService('Heroes'),
    rx: loadPackage<Rx>('grpc-clients', 'rxjs'),
  }
}

/** All values, once the Observable is complete. */
function collect<T>(values: Observable<T>): Promise<T[]> {
  return new Promise((resolve, reject) => {
    const all: T[] = []
    const complete = () => resolve(all)
    values.subscribe({ next: (value: T) => void all.push(value), error: reject, complete } as object)
  })
}

describe.skipIf(LACKING).each(TRANSPORTS)('a gRPC client of NestJS › $name', (transport) => {
  it('calls a method, with metadata', async () => {
    const made = countConnections()
    const { seen, heroes, rx } = await start(transport)
    const metadata = new (loadGrpc().Metadata)()
    metadata.set('x-name', 'value')
    expect(await rx.firstValueFrom(heroes.findOne({ id: 1 }, metadata))).toEqual(toHero({ id: 1 }))
    expect(seen.fields).toEqual(['value'])
    expect(made.connections).toBe(transport.isOurs ? 1 : 0)
  })

  it('gets a stream, and sends one', async () => {
    const { heroes, rx } = await start(transport)
    const ids = Array.from({ length: 100 }, (_, index) => ({ id: index + 1 }))
    expect(await collect(heroes.list({ id: 1 }))).toEqual(ids.map(toHero))
    expect(await collect(heroes.findMany(rx.from(ids)))).toEqual(ids.map(toHero))
  })

  it('throws the status of a call', async () => {
    const { heroes, rx } = await start(transport)
    await expect(rx.firstValueFrom(heroes.findOne({ id: 0 }))).rejects.toMatchObject({
      code: status.NOT_FOUND,
      details: 'no such hero',
    })
  })

  it('ends a call by its deadline', async () => {
    const { seen, heroes, rx } = await start(transport)
    await rx.firstValueFrom(heroes.findOne({ id: 1 }))
    const late = heroes.findOne({ id: -1 }, new (loadGrpc().Metadata)(), { deadline: Date.now() + 500 })
    await expect(rx.firstValueFrom(late)).rejects.toMatchObject({ code: status.DEADLINE_EXCEEDED })
    await expect.poll(() => seen.cancelled).toBe(1)
  })

  it('cancels the call of an Observable that is left', async () => {
    const { seen, heroes } = await start(transport)
    const got: Hero[] = []
    const subscription = heroes.list({ id: -1 }).subscribe({ next: (hero) => void got.push(hero) })
    await expect.poll(() => got.length).toBe(100)
    subscription.unsubscribe()
    await expect.poll(() => seen.cancelled).toBe(1)
  })

  it('closes amid a stream, which goes on to its end', async () => {
    const { open, client, heroes } = await start(transport)
    const all = collect(heroes.list({ id: -1 }))
    await expect.poll(() => open.length).toBe(1)
    client.close()
    open[0]?.write(toHero({ id: 101 }))
    open[0]?.end()
    expect(await all).toHaveLength(101)
  })
})
