// A Pool with retry, redirect and abort.
import { Dispatcher, errors, interceptors, Pool } from 'undici'

const { ORIGIN, CA } = process.env
const pool = new Pool(ORIGIN, { connections: 2, connect: { ca: CA } })
const { redirect, retry } = interceptors
const client = pool.compose(
  retry({ maxRetries: 3, minTimeout: 1, timeoutFactor: 1 }),
  redirect({ maxRedirections: 3 }),
)

const busy = await client.request({ path: '/busy-twice?pool', method: 'GET' })
console.log(busy.statusCode, await busy.body.text())

const moved = await client.request({ path: '/moved', method: 'GET' })
console.log(
  moved.statusCode,
  await moved.body.json(),
  moved.context.history.map(({ pathname }) => pathname),
)

const controller = new AbortController()
const waiting = pool.request({ path: '/never', method: 'GET', signal: controller.signal })
controller.abort()
const error = await waiting.catch((reason) => reason)
console.log(error.name, error.code, error === controller.signal.reason)

const late = await pool.request({ path: '/half', method: 'GET', bodyTimeout: 50 })
const failed = await late.body.text().catch((reason) => reason)
console.log(
  failed.name,
  failed.code,
  failed instanceof errors.BodyTimeoutError,
  failed instanceof errors.UndiciError,
)

const refused = await pool.request({ path: 'no-slash', method: 'GET' }).catch((reason) => reason)
console.log(refused.name, refused.code, refused instanceof errors.InvalidArgumentError, { ...refused }.code)

console.log(pool instanceof Pool, pool instanceof Dispatcher, client instanceof Dispatcher)
console.log(
  await Promise.all(
    [1, 2, 3, 4].map(async (id) => (await pool.request({ path: `/echo?${id}`, method: 'GET' })).statusCode),
  ),
)
await client.close()
console.log(pool.closed, pool.destroyed)
const closed = await pool.request({ path: '/', method: 'GET' }).catch((reason) => reason)
console.log(closed.code, closed instanceof errors.ClientDestroyedError)
