// Starts `dodici serve`, asks it over h2c and over TLS, ends it, and prints both statuses and the exit code.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { Agent, request } from 'dodici'

const args = ['node_modules/dodici/dist/cli.js', 'serve', '--port', '0', '--tls-port', '0']
const server = spawn(process.execPath, args, {
  env: { ...process.env, XDG_CACHE_HOME: process.argv[2] },
  stdio: ['ignore', 'pipe', 'inherit'],
})
let text = ''
for await (const line of createInterface(server.stdout)) {
  text += `${line}\n`
  if (line.startsWith('Ctrl-C')) break
}
const [plain, secure] = text.match(/https?:\/\/localhost:\d+/g)
const [, caPath] = text.match(/NODE_EXTRA_CA_CERTS=(\S+)/)
const dispatcher = new Agent({ h2c: true, connect: { ca: await readFile(caPath) } })
const statuses = []
for (const origin of [plain, secure]) {
  const { statusCode, body } = await request(`${origin}/headers`, { dispatcher })
  const { httpVersion } = await body.json()
  if (httpVersion !== '2.0') throw new Error(`${origin} spoke HTTP/${httpVersion}`)
  statuses.push(statusCode)
}
await dispatcher.close()
server.kill('SIGINT')
const [code] = await once(server, 'close')
console.log(...statuses, code)
