// Hands each byte on a while after it has come, both ways: node slow-link.mjs PORT TARGET MILLISECONDS
import { connect, createServer } from 'node:net'

const [port, target, delay] = process.argv.slice(2).map(Number)

function relay(from, to) {
  from.setNoDelay()
  from.on('data', (chunk) => setTimeout(() => to.write(chunk), delay))
  from.on('end', () => setTimeout(() => to.end(), delay))
  from.on('error', () => to.destroy())
}

const server = createServer({ allowHalfOpen: true }, (near) => {
  const far = connect({ port: target, allowHalfOpen: true })
  relay(near, far)
  relay(far, near)
})
server.listen(port, () => console.log('listening'))
