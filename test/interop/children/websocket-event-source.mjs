// Node's own EventSource, which a flag brings: says what it hears, a line each.
import { Agent, install } from '../../../src/index.ts'
import { listenTo } from '../websocket-event-source.ts'

const [origin, ca, how] = process.argv.slice(2)
const agent = new Agent({ connect: { ca } })
if (how === 'installed') install(agent)
// The time until it asks again, and an idle connection, keep no process.
const hold = setInterval(() => {}, 60_000)
const heard = await listenTo(globalThis.EventSource, origin, how === 'installed' ? null : agent, 3)
for (const event of heard) console.log(JSON.stringify(event))
clearInterval(hold)
await agent.destroy()
