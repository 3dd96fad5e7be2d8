import {
  BalancedPool,
  Client,
  EnvHttpProxyAgent,
  MockAgent,
  Pool,
  ProxyAgent,
  Agent as Undici7,
} from 'undici'
import { Agent as Undici6 } from 'undici-6'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Agent } from '../../../../src/index.ts'
import {
  findBuiltinClass,
  peekBuiltinClass,
  readInstallation,
  readSlots,
  SLOTS,
  writeInstallation,
} from '../../../../src/scheduler/fallback/builtin.ts'

const before = readSlots()

function put(legacy: unknown, native: unknown = undefined): void {
  Reflect.set(globalThis, SLOTS.legacy, legacy)
  Reflect.set(globalThis, SLOTS.native, native)
}

beforeEach(() => put(undefined))

afterEach(() => {
  put(before.legacy, before.native)
  writeInstallation(undefined)
})

describe('the class of the global dispatcher', () => {
  it.each([
    { name: 'an Agent of undici 6', made: new Undici6(), agentClass: Undici6 },
    { name: 'an Agent of undici 7', made: new Undici7(), agentClass: Undici7 },
    {
      name: "an Agent of the caller's own",
      made: new (class Mine extends Undici7 {})(),
      agentClass: Undici7,
    },
    { name: 'one of the same name', made: new (class Agent extends Undici7 {})(), agentClass: Undici7 },
    { name: 'the Agent of a MockAgent', made: new MockAgent(), agentClass: Undici7 },
    { name: 'the Agent of an EnvHttpProxyAgent', made: new EnvHttpProxyAgent(), agentClass: Undici7 },
    { name: 'the Agent of a ProxyAgent', made: new ProxyAgent('http://127.0.0.1:1'), agentClass: Undici7 },
  ])('is that of $name', ({ made, agentClass }) => {
    put(made)
    expect(peekBuiltinClass()).toBe(agentClass)
    put(undefined, made)
    expect(peekBuiltinClass()).toBe(agentClass)
  })

  it('is that under the newer symbol when both are set', () => {
    put(new Undici6(), new Undici7())
    expect(peekBuiltinClass()).toBe(Undici7)
  })

  it.each([
    { name: 'nothing', made: undefined },
    { name: 'null', made: null },
    { name: 'one of ours', made: new Agent() },
    { name: 'one without a prototype', made: Object.create(null) },
    { name: 'a plain object', made: { dispatch: () => true } },
    { name: 'a Pool, which reaches one origin only', made: new Pool('http://127.0.0.1:1') },
    { name: 'a Client', made: new Client('http://127.0.0.1:1') },
    { name: 'a BalancedPool', made: new BalancedPool(['http://127.0.0.1:1']) },
    { name: "a Pool of the caller's own", made: new (class Agent extends Pool {})('http://127.0.0.1:1') },
  ])('is null for $name', ({ made }) => {
    put(made)
    expect(peekBuiltinClass()).toBe(null)
  })
})

describe('the search for the class', () => {
  it('finds the dispatcher that install() has saved, whatever is the global dispatcher now', () => {
    const ours = new Agent()
    put(ours, ours)
    writeInstallation({ dispatcher: ours, legacy: ours, native: ours, agentClass: Undici7 })
    expect(findBuiltinClass()).toBe(Undici7)
    expect(readSlots()).toEqual({ legacy: ours, native: ours })
  })

  it('restores the dispatcher that it has replaced', () => {
    const mine = { dispatch: () => true }
    put(mine, mine)
    findBuiltinClass()
    expect(readSlots().legacy).toBe(mine)
    expect(readSlots().native).toBe(mine)
  })
})

describe('the record of an installation', () => {
  it('exists until it is removed', () => {
    const installation = { dispatcher: new Agent(), legacy: 1, native: 2, agentClass: null }
    expect(readInstallation()).toBeUndefined()
    writeInstallation(installation)
    expect(readInstallation()).toBe(installation)
    expect(Object.keys(globalThis)).not.toContain(String(Symbol.for('dodici.installation.1')))
    writeInstallation(undefined)
    expect(readInstallation()).toBeUndefined()
  })
})
