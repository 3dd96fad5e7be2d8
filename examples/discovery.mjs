/**
 * Reads an UpstreamPool's upstreams from a file, and follows its changes. Consul's and etcd's agents and Kubernetes' ConfigMaps write such files.
 * Any other source has the same shape: an async generator that yields the whole set after each change.
 *
 *     node examples/discovery.mjs
 */

// @ts-check

import { once } from 'node:events'
import { watch } from 'node:fs'
import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http2'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { UpstreamPool } from 'dodici'

/**
 * The upstreams in a JSON file, at first and after each change. If it throws, or yields what can't be used, the former upstreams stay, the
 * UpstreamPool emits `discoveryError`, and calls the function again.
 *
 * @param {string} folder
 * @param {string} name
 */
function fromFile(folder, name) {
  /** @param {import('dodici').UpstreamResolverContext} context */
  return async function* fileOfUpstreams({ signal }) {
    // Watches the folder, because a replaced file is another file.
    const watcher = watch(folder, { signal, persistent: false })
    while (!signal.aborted) {
      const changed = once(watcher, 'change', { signal })
      changed.catch(() => {}) // Aborted: the loop ends.
      /** @type {string[]} */
      const upstreams = JSON.parse(await readFile(join(folder, name), 'utf8'))
      yield upstreams
      await changed
    }
  }
}

/** @param {string} name */
async function startServer(name) {
  const server = createServer((_request, response) => response.end(name)).listen(0, 'localhost')
  await once(server, 'listening')
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  return { server, origin: `http://localhost:${port}` }
}

const folder = await mkdtemp(join(tmpdir(), 'upstreams-'))
/** Replaces the file in one step: a reader never sees half of it. @param {string[]} upstreams */
async function write(upstreams) {
  await writeFile(join(folder, 'next.json'), JSON.stringify(upstreams))
  await rename(join(folder, 'next.json'), join(folder, 'upstreams.json'))
}

const [a, b] = [await startServer('a'), await startServer('b')]
await write([a.origin])

const service = new UpstreamPool(fromFile(folder, 'upstreams.json'))
service.on('upstreams', ({ added, removed }) =>
  console.log(`${added.length} added, ${removed.length} removed`),
)
service.on('discoveryError', ({ message }) => console.error(message))

async function ask() {
  const { body } = await service.request({ path: '/', method: 'GET' })
  console.log(`a response of server ${await body.text()}`)
}

await ask()
const changed = once(service, 'upstreams')
await write([b.origin])
await changed
await ask()

await service.close()
for (const { server } of [a, b]) server.close()
await rm(folder, { recursive: true })
