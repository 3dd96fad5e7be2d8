/**
 * One call moves every fetch in the process to HTTP/2: your own, and those of packages that use Node's fetch.
 *
 *     npx dodici serve
 *     node examples/install.mjs
 */

// @ts-check

import { Agent, install, uninstall } from 'dodici'

const url = new URL('/headers', process.argv[2] ?? 'http://localhost:12080')

/** Node's own fetch, as a package would call it. */
async function ask() {
  const response = await fetch(url)
  const { httpVersion } = /** @type {{ httpVersion: string }} */ (await response.json())
  return `HTTP/${httpVersion}`
}

console.log('before:', await ask())
// `https:` origins need no options. `h2c: true` is for this server, which has no TLS.
const agent = new Agent({ h2c: true })
install(agent)
console.log('installed:', await ask())
uninstall()
console.log('after:', await ask())
await agent.close()
