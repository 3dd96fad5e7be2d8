// WebSocket and EventSource.
import { once } from 'node:events'
import { Agent, CloseEvent, EventSource, MessageEvent, setGlobalDispatcher, WebSocket } from 'undici'

const { WS, PLAIN } = process.env
setGlobalDispatcher(new Agent())

const socket = new WebSocket(WS, { protocols: ['chat'] })
console.log(socket instanceof WebSocket, socket.readyState)
await once(socket, 'open')
console.log(socket.protocol, socket.readyState)
for (const data of ['hello', new Uint8Array([1, 2, 3])]) {
  socket.binaryType = 'arraybuffer'
  socket.send(data)
  const [event] = await once(socket, 'message')
  console.log(
    event instanceof MessageEvent,
    typeof event.data === 'string' ? event.data : [...new Uint8Array(event.data)],
  )
}
socket.close(1000, 'done')
const [end] = await once(socket, 'close')
console.log(end instanceof CloseEvent, end.code, end.reason, end.wasClean)

const failing = new WebSocket('ws://localhost:1')
const [error] = await once(failing, 'error')
console.log(error.type)

const source = new EventSource(`${PLAIN}/events`)
console.log(source instanceof EventSource)
await new Promise((resolve) => {
  source.onmessage = (event) => {
    console.log(event instanceof MessageEvent, event.data, event.lastEventId)
    if (event.lastEventId === '2') resolve()
  }
})
source.close()
console.log(source.readyState === EventSource.CLOSED)

const own = new WebSocket(WS, { dispatcher: new Agent({ bodyTimeout: 0 }) })
await once(own, 'open')
own.send('through its own agent')
console.log((await once(own, 'message'))[0].data)
own.close()
await once(own, 'close')
