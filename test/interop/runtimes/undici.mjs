// The entry dodici/undici, with and without npm's undici, on every runtime.
import { Agent, getGlobalDispatcher, MockAgent, request, setGlobalDispatcher, WebSocket } from 'dodici/undici'

const agent = new Agent()
setGlobalDispatcher(agent)
const { code } = await request('https://localhost:65534').catch((error) => error)
console.log(
  `ours: ${getGlobalDispatcher() === agent && code === 'ECONNREFUSED' && typeof WebSocket === 'function'}`,
)

function mock() {
  const made = new MockAgent({ agent })
  made.get('https://mocked.test').intercept({ path: '/' }).reply(200, 'a mock')
  return made
}

try {
  const { body } = await request('https://mocked.test/', { dispatcher: mock() })
  console.log(`undici's: ${await body.text()}`)
} catch (error) {
  console.log(`undici's: ${error.code}`)
}
