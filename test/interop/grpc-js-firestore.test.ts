/** Google's client of Firestore, as it is, over grpc-js' own channels and over those of dodici/grpc-js. */

import type {
  handleUnaryCall,
  ServerDuplexStream,
  ServerWritableStream,
  UntypedServiceImplementation,
} from '@grpc/grpc-js'
import * as ownGrpc from '@grpc/grpc-js'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { ChannelFactoryOptions } from '../../src/grpc-js/declarations.ts'
import { lacksPackages, loadPackage } from '../support/clients/packages.ts'
import {
  countConnections,
  GOOGLE,
  startServices,
  toGaxOptions,
  toGoogleDefinitions,
} from './grpc-clients-rig.ts'
import type { Transport } from './grpc-js-rig.ts'
import { OURS, TRANSPORTS } from './grpc-js-rig.ts'

const { status } = ownGrpc

interface Snapshot {
  readonly exists: boolean
  readonly id: string
  data(): unknown
}

interface Query {
  where(field: string, operator: string, value: unknown): Query
  orderBy(field: string): Query
  get(): Promise<{ readonly docs: Snapshot[] }>
  stream(): AsyncIterable<Snapshot>
  count(): { get(): Promise<{ data(): { count: number } }> }
  onSnapshot(
    onNext: (snapshot: { readonly docs: Snapshot[] }) => void,
    onError: (error: Error) => void,
  ): () => void
}

interface DocumentReference {
  get(): Promise<Snapshot>
  set(data: object): Promise<unknown>
}

/** What is used of `@google-cloud/firestore`. */
interface FirestorePackage {
  Firestore: new (
    options: object,
  ) => {
    doc(path: string): DocumentReference
    collection(path: string): Query
    getAll(...references: DocumentReference[]): Promise<Snapshot[]>
    batch(): {
      set(reference: DocumentReference, data: object): void
      delete(reference: DocumentReference): void
      commit(): Promise<unknown[]>
    }
    runTransaction<T>(
      run: (transaction: {
        get(reference: DocumentReference): Promise<Snapshot>
        set(reference: DocumentReference, data: object): void
      }) => Promise<T>,
    ): Promise<T>
    terminate(): Promise<void>
  }
}

type Fields = Record<string, { integerValue?: string }>

interface Kept {
  readonly fields: Fields
  readonly updated: number
}

interface Write {
  readonly update?: { readonly name: string; readonly fields: Fields }
  readonly delete?: string
}

interface Where {
  readonly fieldFilter?: { readonly value: { readonly integerValue: string } }
}

interface ListenRequest {
  readonly addTarget?: { readonly targetId: number }
}

const NOW = { seconds: '1700000000', nanos: 0 }

/** A database of documents whose fields are integers; queries know `n >= value`, and nothing else. */
class FirestoreService {
  readonly documents = new Map<string, Kept>()
  readonly listeners = new Map<ServerDuplexStream<ListenRequest, object>, number>()
  /** The statuses of the next commits. */
  readonly failures: number[] = []
  /** Counts what has changed. */
  #version = 0

  readonly services: Record<string, UntypedServiceImplementation> = {
    'google.firestore.v1.Firestore': {
      commit: ((call, callback) => {
        const code = this.failures.shift()
        if (code !== undefined) return callback({ code, details: 'not now' })
        for (const { update, delete: name } of call.request.writes) {
          if (update) this.documents.set(update.name, { fields: update.fields, updated: ++this.#version })
          else if (name) this.documents.delete(name)
        }
        callback(null, {
          writeResults: call.request.writes.map(() => ({ updateTime: NOW })),
          commitTime: NOW,
        })
        for (const [stream, targetId] of this.listeners) this.tell(stream, targetId)
      }) satisfies handleUnaryCall<{ writes: Write[] }, object>,
      beginTransaction: ((_call, callback) => {
        callback(null, { transaction: Buffer.from('transaction') })
      }) satisfies handleUnaryCall<object, object>,
      rollback: ((_call, callback) => callback(null, {})) satisfies handleUnaryCall<object, object>,
      batchGetDocuments: (
        call: ServerWritableStream<{ documents: string[]; newTransaction?: object }, object>,
      ) => {
        if (call.request.newTransaction) call.write({ transaction: Buffer.from('transaction') })
        for (const name of call.request.documents) {
          const found = this.#toDocument(name)
          call.write(found === null ? { missing: name, readTime: NOW } : { found, readTime: NOW })
        }
        call.end()
      },
      runQuery: (call: ServerWritableStream<{ structuredQuery: { where?: Where } }, object>) => {
        for (const document of this.#find(call.request.structuredQuery.where))
          call.write({ document, readTime: NOW })
        call.write({ readTime: NOW })
        call.end()
      },
      runAggregationQuery: (
        call: ServerWritableStream<
          { structuredAggregationQuery: { aggregations: { alias: string }[] } },
          object
        >,
      ) => {
        const [{ alias } = { alias: '' }] = call.request.structuredAggregationQuery.aggregations
        call.write({
          result: { aggregateFields: { [alias]: { integerValue: `${this.documents.size}` } } },
          readTime: NOW,
        })
        call.end()
      },
      listen: (call: ServerDuplexStream<ListenRequest, object>) => {
        call.on('data', ({ addTarget }) => {
          if (!addTarget) return
          this.listeners.set(call, addTarget.targetId)
          call.write({ targetChange: { targetChangeType: 'ADD', targetIds: [addTarget.targetId] } })
          this.tell(call, addTarget.targetId)
        })
        call.on('cancelled', () => this.listeners.delete(call))
        call.on('end', () => {
          this.listeners.delete(call)
          call.end()
        })
      },
    },
  }

  /** All documents, and that they are all. */
  tell(stream: ServerDuplexStream<ListenRequest, object>, targetId: number): void {
    for (const name of this.documents.keys())
      stream.write({ documentChange: { document: this.#toDocument(name), targetIds: [targetId] } })
    const resumeToken = Buffer.from(`${++this.#version}`)
    const change = { targetIds: [targetId], resumeToken, readTime: NOW }
    stream.write({ targetChange: { targetChangeType: 'CURRENT', ...change } })
    stream.write({ targetChange: { targetChangeType: 'NO_CHANGE', resumeToken, readTime: NOW } })
  }

  #toDocument(name: string): object | null {
    const kept = this.documents.get(name)
    if (kept === undefined) return null
    const updateTime = { ...NOW, nanos: kept.updated }
    return { name, fields: kept.fields, createTime: NOW, updateTime }
  }

  #find(where: Where | undefined): (object | null)[] {
    const least = Number(where?.fieldFilter?.value.integerValue ?? Number.NEGATIVE_INFINITY)
    const names = [...this.documents].filter(([, { fields }]) => Number(fields.n?.integerValue) >= least)
    return names.map(([name]) => this.#toDocument(name))
  }
}

const LACKING = lacksPackages('grpc-clients')
const PROTOS = '@google-cloud/firestore/build/protos/v1.json'

async function start(transport: Transport, options: ChannelFactoryOptions = {}) {
  const service = new FirestoreService()
  const server = await startServices(toGoogleDefinitions(PROTOS), service.services)
  const { Firestore } = loadPackage<FirestorePackage>('grpc-clients', '@google-cloud/firestore')
  const firestore = new Firestore({
    ...GOOGLE,
    host: '127.0.0.1',
    port: server.port,
    ssl: false,
    ...toGaxOptions(transport, options),
  })
  onTestFinished(() => firestore.terminate())
  return { service, server, firestore }
}

describe.skipIf(LACKING).each(TRANSPORTS)('@google-cloud/firestore › $name', (transport) => {
  it('sets and gets documents', async () => {
    const made = countConnections()
    const { firestore } = await start(transport)
    await firestore.doc('things/a').set({ n: 1 })
    expect((await firestore.doc('things/a').get()).data()).toEqual({ n: 1 })
    expect((await firestore.doc('things/b').get()).exists).toBe(false)
    expect(made.connections).toBe(transport.isOurs ? 1 : 0)
  })

  it('commits a batch, and gets all of its documents by one call', async () => {
    const { service, firestore } = await start(transport)
    const documents = Array.from({ length: 50 }, (_, index) => firestore.doc(`things/${index}`))
    const batch = firestore.batch()
    for (const [n, document] of documents.entries()) batch.set(document, { n })
    batch.delete(firestore.doc('things/none'))
    expect(await batch.commit()).toHaveLength(51)
    expect(service.documents.size).toBe(50)
    const snapshots = await firestore.getAll(...documents)
    expect(snapshots.map((snapshot) => snapshot.data())).toEqual(documents.map((_, n) => ({ n })))
  })

  it('runs queries: all at once, as a stream, and counted', async () => {
    const { firestore } = await start(transport)
    for (const n of [1, 2, 3]) await firestore.doc(`things/${n}`).set({ n })
    const query = firestore.collection('things').where('n', '>=', 2)
    expect((await query.get()).docs.map(({ id }) => id)).toEqual(['2', '3'])
    const ids: string[] = []
    for await (const { id } of query.stream()) ids.push(id)
    expect(ids).toEqual(['2', '3'])
    expect((await firestore.collection('things').count().get()).data()).toEqual({ count: 3 })
  })

  it('runs a transaction, and again when it is aborted', async () => {
    const { service, firestore } = await start(transport)
    const document = firestore.doc('things/a')
    await document.set({ n: 1 })
    service.failures.push(status.ABORTED)
    let runs = 0
    await firestore.runTransaction(async (transaction) => {
      runs++
      const { n } = (await transaction.get(document)).data() as { n: number }
      transaction.set(document, { n: n + 1 })
    })
    expect(runs).toBe(2)
    expect((await document.get()).data()).toEqual({ n: 2 })
  })

  it('listens to a query, until the listener is taken off', async () => {
    const { service, firestore } = await start(transport)
    await firestore.doc('things/a').set({ n: 1 })
    const seen: unknown[] = []
    const stop = firestore.collection('things').onSnapshot(
      ({ docs }) => seen.push(docs.map((snapshot) => snapshot.data())),
      (error) => seen.push(error),
    )
    await expect.poll(() => seen).toEqual([[{ n: 1 }]])
    await firestore.doc('things/b').set({ n: 2 })
    await expect.poll(() => seen).toEqual([[{ n: 1 }], [{ n: 1 }, { n: 2 }]])
    stop()
    await expect.poll(() => service.listeners.size).toBe(0)
  })

  it('throws the status of a refusal', async () => {
    const { service, firestore } = await start(transport)
    service.failures.push(status.PERMISSION_DENIED)
    await expect(firestore.doc('things/a').set({ n: 1 })).rejects.toMatchObject({
      code: status.PERMISSION_DENIED,
      details: 'not now',
    })
  })
})

describe.skipIf(LACKING).each(TRANSPORTS)('@google-cloud/firestore on a bad day › $name', (transport) => {
  it('listens again when the server has been restarted', async () => {
    const { service, server, firestore } = await start(transport)
    await firestore.doc('things/a').set({ n: 1 })
    const seen: unknown[] = []
    const stop = firestore.collection('things').onSnapshot(
      ({ docs }) => seen.push(docs.map((snapshot) => snapshot.data())),
      (error) => seen.push(error),
    )
    onTestFinished(stop)
    await expect.poll(() => seen).toEqual([[{ n: 1 }]])
    server.kill()
    await expect.poll(() => service.listeners.size).toBe(0)
    await startServices(toGoogleDefinitions(PROTOS), service.services, { port: server.port })
    await expect.poll(() => service.listeners.size).toBe(1)
    await firestore.doc('things/a').set({ n: 2 })
    await expect.poll(() => seen.at(-1)).toEqual([{ n: 2 }])
  })

  it('closes once its listeners are gone, and leaves nothing to the server', async () => {
    const { service, firestore } = await start(transport)
    const errors: unknown[] = []
    const stop = firestore.collection('things').onSnapshot(
      () => {},
      (error) => errors.push(error),
    )
    await expect.poll(() => service.listeners.size).toBe(1)
    await expect(firestore.terminate()).rejects.toThrow('onSnapshot')
    stop()
    await firestore.terminate()
    await expect.poll(() => service.listeners.size).toBe(0)
    expect(errors).toEqual([])
  })
})

describe.skipIf(LACKING)('@google-cloud/firestore over dodici/grpc-js', () => {
  // It makes a client, and so a channel, for each hundred calls at a time.
  it.each(OURS)('has its channels share a connection: $name', async (transport) => {
    const { server, firestore } = await start(transport)
    await Promise.all(Array.from({ length: 300 }, (_, n) => firestore.doc(`things/${n}`).set({ n })))
    expect(server.peers.size).toBe(1)
  })

  it.each(OURS)('takes a factory of another copy of grpc-js: $name', async (transport) => {
    const { service, firestore } = await start(transport, { grpc: ownGrpc })
    await firestore.doc('things/a').set({ n: 1 })
    expect((await firestore.doc('things/a').get()).data()).toEqual({ n: 1 })
    service.failures.push(status.PERMISSION_DENIED)
    await expect(firestore.doc('things/a').set({ n: 1 })).rejects.toMatchObject({
      code: status.PERMISSION_DENIED,
    })
  })
})
