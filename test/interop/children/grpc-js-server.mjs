// A server of grpc-js for the tests of gRPC. Messages are bytes as they are: no code is generated. `../grpc-go` is its
// twin, and says what each method does.
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { Metadata, Server, ServerCredentials, status } from '@grpc/grpc-js'

/** Larger than any message of the tests. The default is 4 MiB. */
const MAX_MESSAGE = 64 * 1_024 * 1_024

const text = /** @type {const} */ ({ type: 'string' })
const { values: flags } = parseArgs({
  options: { certificate: text, key: text, port: text, 'max-connection-age': text },
})

/**
 * What became of calls, `seen NAME` and `ended NAME`.
 *
 * @type {Map<string, { known: Promise<string>, tell(text: string): void }>}
 */
const happened = new Map()

/** @param {string} event */
function what(event) {
  let entry = happened.get(event)
  if (entry === undefined) {
    /** @type {(text: string) => void} */
    let tell = () => {}
    const known = new Promise((/** @type {(text: string) => void} */ resolve) => {
      tell = resolve
    })
    entry = { known, tell }
    happened.set(event, entry)
  }
  return entry
}

/** The names that grpc-go has for them. @param {number} code */
function toName(code) {
  const words = status[code].toLowerCase().split('_')
  return words.map((word) => (word === 'ok' ? 'OK' : word[0]?.toUpperCase() + word.slice(1))).join('')
}

/**
 * A field of a protobuf message that has a length, by its number.
 *
 * @param {number} number
 * @param {string | Buffer} value
 */
function toField(number, value) {
  const bytes = Buffer.from(value)
  if (bytes.length > 127)
    throw new Error(`${bytes.length} bytes: the length of this field would take more than one`)
  return Buffer.concat([Buffer.from([(number << 3) | 2, bytes.length]), bytes])
}

/** What a call that fails ends with. @param {{ Code: number, Message: string, Detail?: string }} failure */
function toError({ Code: code, Message: message, Detail: detail }) {
  const metadata = new Metadata()
  if (detail) {
    const any = Buffer.concat([toField(1, 'dodici.test/detail'), toField(2, detail)])
    // google.rpc.Status: code, message, details.
    metadata.set(
      'grpc-status-details-bin',
      Buffer.concat([Buffer.from([1 << 3, code]), toField(2, message), toField(3, any)]),
    )
  }
  return { code, details: message, metadata }
}

/** Why a call was cancelled. @param {import('@grpc/grpc-js').ServerUnaryCall<Buffer, Buffer>} call */
function toReason(call) {
  return Number(call.getDeadline()) <= Date.now() ? 'DeadlineExceeded' : 'Canceled'
}

/** @param {Metadata} metadata @param {string} prefix */
function toPart(metadata, prefix) {
  const part = new Metadata()
  for (const name of Object.keys(metadata.getMap())) {
    if (!name.startsWith(prefix)) continue
    for (const value of metadata.get(name)) part.add(name, value)
  }
  return part
}

/** @type {Record<string, import('@grpc/grpc-js').handleUnaryCall<Buffer, Buffer>>} */
const unary = {
  Echo(call, response) {
    call.sendMetadata(toPart(call.metadata, 'x-initial'))
    response(null, call.request, toPart(call.metadata, 'x-trailing'))
  },
  Fail(call, response) {
    response(toError(JSON.parse(call.request.toString())))
  },
  Deadline(call, response) {
    const left = Number(call.getDeadline()) - Date.now()
    response(null, Buffer.from(Number.isFinite(left) ? `${left}` : 'null'))
  },
  Connection(call, response) {
    response(null, Buffer.from(call.getPeer()))
  },
  Never(call, response) {
    what(`seen ${call.request}`).tell('seen')
    call.on('cancelled', () => {
      what(`ended ${call.request}`).tell(toReason(call))
      response({ code: status.CANCELLED })
    })
  },
  Event(call, response) {
    what(call.request.toString()).known.then((outcome) => response(null, Buffer.from(outcome)))
  },
}

/** @type {Record<string, import('@grpc/grpc-js').UntypedHandleCall>} */
const streams = {
  Collect(
    /** @type {import('@grpc/grpc-js').ServerReadableStream<Buffer, Buffer>} */ call,
    /** @type {import('@grpc/grpc-js').sendUnaryData<Buffer>} */ response,
  ) {
    let count = 0
    let total = 0
    call.on('data', (message) => {
      count++
      total += message.length
    })
    call.on('end', () => response(null, Buffer.from(JSON.stringify({ Count: count, Size: total }))))
  },
  async Expand(/** @type {import('@grpc/grpc-js').ServerWritableStream<Buffer, Buffer>} */ call) {
    const { Count, Size, Failure } = JSON.parse(call.request.toString())
    const message = Buffer.from(`"${'e'.repeat(Size - 2)}"`)
    for (let sent = 0; sent < Count && !call.cancelled; sent++) {
      if (call.write(message)) continue
      await new Promise((resolve) => call.once('drain', resolve).once('cancelled', resolve))
    }
    if (Failure) call.emit('error', toError(Failure))
    else call.end()
  },
  Chat(/** @type {import('@grpc/grpc-js').ServerDuplexStream<Buffer, Buffer>} */ call) {
    const [name] = call.metadata.get('x-name')
    if (name !== undefined) {
      what(`seen ${name}`).tell('seen')
      call.on('cancelled', () => what(`ended ${name}`).tell('Canceled'))
      call.on('finish', () => what(`ended ${name}`).tell(toName(status.OK)))
    }
    call.on('data', (/** @type {Buffer} */ message) => {
      call.write(message)
      if (message.toString() === 'bye') call.end()
    })
    call.on('end', () => call.end())
  },
}

/** @param {string} name @param {boolean} requestStream @param {boolean} responseStream */
function define(name, requestStream, responseStream) {
  const same = (/** @type {Buffer} */ message) => message
  const path = `/dodici.Test/${name}`
  const serializers = { requestSerialize: same, requestDeserialize: same }
  return {
    path,
    requestStream,
    responseStream,
    ...serializers,
    responseSerialize: same,
    responseDeserialize: same,
  }
}

const definition = {
  ...Object.fromEntries(Object.keys(unary).map((name) => [name, define(name, false, false)])),
  Collect: define('Collect', true, false),
  Expand: define('Expand', false, true),
  Chat: define('Chat', true, true),
}

const credentials =
  flags.certificate === undefined || flags.key === undefined
    ? ServerCredentials.createInsecure()
    : ServerCredentials.createSsl(null, [
        { private_key: readFileSync(flags.key), cert_chain: readFileSync(flags.certificate) },
      ])
const server = new Server({
  'grpc.max_receive_message_length': MAX_MESSAGE,
  // In milliseconds; none is for ever.
  'grpc.max_connection_age_ms': Number.parseInt(flags['max-connection-age'] ?? `${2 ** 31 - 1}`, 10),
})
server.addService(definition, { ...unary, ...streams })
server.bindAsync(`127.0.0.1:${flags.port ?? 0}`, credentials, (error, port) => {
  if (error) throw error
  console.log(`listening ${port}`)
})
