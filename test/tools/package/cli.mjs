// Starts `dodici serve` and `dodici faults`, asks each over h2c and over TLS, ends it, and prints both statuses and the
// exit code.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { Agent, request } from 'dodici'

/** @param {string} command @param {string} path that gets a 200 */
async function play(command, path) {
  const args = ['node_modules/dodici/dist/cli.js', command, '--port', '0', '--tls-port', '0']
  const server = spawn(process.execPath, args, {
    env: { ...process.env, XDG_CACHE_HOME: process.argv[2] },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let text = ''
  for await (const line of createInterface(server.stdout)) {
    text += `${line}\n`
    if (line.includes('Ctrl-C')) break
  }
  const [plain, secure] = text.match(/https?:\/\/localhost:\d+/g)
  const [, caPath] = text.match(/NODE_EXTRA_CA_CERTS=(\S+)/)
  const dispatcher = new Agent({ h2c: true, fallback: null, connect: { ca: await readFile(caPath) } })
  const statuses = []
  for (const origin of [plain, secure]) {
    const { statusCode, body } = await request(`${origin}${path}`, { dispatcher })
    await body.dump()
    statuses.push(statusCode)
  }
  await dispatcher.close()
  server.kill('SIGINT')
  const [code] = await once(server, 'close')
  console.log(...statuses, code)
}

await play('serve', '/headers')
await play('faults', '/refused')
