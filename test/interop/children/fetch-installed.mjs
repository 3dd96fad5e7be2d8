// A process of its own for each test of `install()`: the two places in which fetch looks are shared by the whole
// process.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

const [, , what, esm, cjs, origin, certificate, from, name] = process.argv
const PLACES = ['undici.globalDispatcher.1', 'undici.globalDispatcher.2'].map((name) => Symbol.for(name))
const ca = readFileSync(certificate)
const require = createRequire(from)
const facts = {}

/** The dispatchers in both places. */
function look() {
  return PLACES.map((place) => globalThis[place])
}

/** The dispatchers, by descriptor: reading these makes Node load nothing. */
function describe() {
  return PLACES.map((place) => Object.getOwnPropertyDescriptor(globalThis, place))
}

function isSame(some, others) {
  return some.every((one, index) => one === others[index])
}

async function loadFetch() {
  return name === 'built-in' ? fetch : (await import(pathToFileURL(require.resolve(name)).href)).fetch
}

async function load() {
  return [await import(pathToFileURL(esm).href), require(cjs)]
}

/** The response's protocol, as the server has it, or how it failed: only our agents trust the server's certificate. */
async function ask(fetch) {
  try {
    const response = await fetch(`${origin}/file`)
    return `${response.headers.get('x-protocol')} ${await response.text()}`
  } catch (error) {
    return error.cause?.code ?? `${error}`
  }
}

function toAgent({ Agent }) {
  return new Agent({ connect: { ca } })
}

/** Whether it has brought a request. */
function wasUsed(agent) {
  return Object.keys(agent.stats).length > 0
}

const TESTS = {
  /** The package, then fetch. */
  async before() {
    const [ours] = await load()
    const agent = toAgent(ours)
    ours.install(agent)
    const fetch = await loadFetch()
    facts.installed = await ask(fetch)
    facts.wasUsed = wasUsed(agent)
    ours.uninstall()
    facts.isLeft = look().includes(agent)
    facts.uninstalled = await ask(fetch)
    await agent.close()
  },

  /** Fetch, then the package. */
  async after() {
    const fetch = await loadFetch()
    facts.before = await ask(fetch)
    const before = look()
    const [ours] = await load()
    const agent = toAgent(ours)
    ours.install(agent)
    facts.isThere = isSame(look(), [agent, agent])
    facts.installed = await ask(fetch)
    facts.wasUsed = wasUsed(agent)
    ours.uninstall()
    // Where nothing stood, Node may have put its own meanwhile.
    facts.isRestored = look().every((place, index) => place === before[index] || before[index] === undefined)
    facts.isLeft = look().includes(agent)
    facts.uninstalled = await ask(fetch)
    await agent.close()
  },

  async import() {
    facts.before = describe()
    await load()
    facts.after = describe()
    // And where other code has set a dispatcher before.
    Reflect.get(globalThis, 'Headers')
    facts.isLoaded = look().some((place) => place !== undefined)
  },

  /** Where Node has loaded its own before. */
  async importLate() {
    Reflect.get(globalThis, 'Headers')
    const before = describe()
    await load()
    const after = describe()
    facts.isSame = isSame(
      before.map((place) => place?.value),
      after.map((place) => place?.value),
    )
    facts.before = before.map((place) => place && { ...place, value: null })
    facts.after = after.map((place) => place && { ...place, value: null })
  },

  async foreign() {
    const [ours] = await load()
    Reflect.get(globalThis, 'Headers')
    const before = look()
    const agent = toAgent(ours)
    const other = { dispatch: () => true }
    facts.theirs = []
    for (const [index, place] of PLACES.entries()) {
      ours.install(agent)
      globalThis[place] = other
      ours.uninstall()
      facts.theirs.push(isSame(look(), replace(before, index, other)))
      globalThis[place] = before[index]
    }
    // Nothing is installed: nothing is taken away.
    ours.uninstall()
    facts.isKept = isSame(look(), before)
  },

  async twice() {
    const [ours] = await load()
    const fetch = await loadFetch()
    Reflect.get(globalThis, 'Headers')
    const before = look()
    const [first, second] = [toAgent(ours), toAgent(ours)]
    ours.install(first)
    ours.install(second)
    facts.installed = await ask(fetch)
    facts.used = [wasUsed(first), wasUsed(second)]
    ours.uninstall()
    facts.isRestored = isSame(look(), before)
    facts.uninstalled = await ask(fetch)
  },

  /** Each copy installs, and the other one uninstalls. */
  async copies() {
    const copies = await load()
    const fetch = await loadFetch()
    Reflect.get(globalThis, 'Headers')
    const before = look()
    facts.areTwo = copies[0].Agent !== copies[1].Agent
    facts.installed = []
    facts.isRestored = []
    for (const [ours, others] of [copies, [...copies].reverse()]) {
      const agent = toAgent(ours)
      ours.install(agent)
      facts.installed.push(await ask(fetch))
      others.uninstall()
      facts.isRestored.push(isSame(look(), before))
      // Over another dispatcher: uninstall() restores the first one.
      ours.install(agent)
      const another = toAgent(others)
      others.install(another)
      facts.installed.push(await ask(fetch))
      facts.isRestored.push(!isSame(look(), before) && wasUsed(another))
      ours.uninstall()
      facts.isRestored.push(isSame(look(), before))
      await Promise.all([agent.close(), another.close()])
    }
    facts.uninstalled = await ask(fetch)
  },
}

function replace(values, index, value) {
  return values.map((one, at) => (at === index ? value : one))
}

await TESTS[what]()
// A place that is empty is null in what is reported.
console.log(JSON.stringify(facts))
