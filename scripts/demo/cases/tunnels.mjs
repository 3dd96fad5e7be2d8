/**
 * Tunnels: CONNECT and extended CONNECT. The demo's own server sends back what it gets.
 */
import { text } from 'node:stream/consumers'
import { differs, firstOf, upload } from '../case.mjs'

/** @typedef {import('../case.mjs').Case} Case */
/** @typedef {import('../case.mjs').Context} Context */
/** @typedef {import('../case.mjs').Outcome} Outcome */

/** The target of the tunnel. */
const authority = 'echo.example:7'

/**
 * @param {Context} context
 * @param {import('dodici').ConnectData<null>} data
 * @param {string} wanted the target that the server must report
 * @returns {Promise<Outcome>}
 */
async function echo({ isOwn }, { statusCode: status, headers, socket }, wanted) {
  socket.on('error', () => {})
  if (!isOwn) {
    // On any other server the tunnel's target is unknown: it is enough that there is a tunnel.
    socket.destroy()
    return { status, bytes: 0, headers, problem: null }
  }
  socket.write(upload)
  socket.end(upload)
  const back = await text(socket)
  return {
    status,
    bytes: Buffer.byteLength(back),
    headers,
    problem: firstOf(differs(upload.repeat(2), back), differs(wanted, String(headers['x-tunnel']))),
  }
}

/** @type {readonly Case[]} */
export const tunnelCases = [
  {
    api: 'connect, echo',
    path: authority,
    // Some servers never respond to CONNECT, not even with a refusal.
    elsewhere: 'left out',
    run: async (context) => echo(context, await context.client.connect({ path: context.path }), authority),
  },
  {
    api: 'connect(url), echo',
    path: authority,
    elsewhere: 'left out',
    run: async (context) =>
      echo(context, await context.dodici.connect(context.origin, { path: context.path }), authority),
  },
  {
    api: 'upgrade, :protocol websocket, echo',
    // It isn't sent to a server that doesn't offer it (RFC 8441 §3).
    elsewhere: 'may be refused',
    run: async (context) =>
      echo(context, await context.client.upgrade({ path: context.path, protocol: 'websocket' }), 'websocket'),
  },
  {
    api: 'upgrade(url), :protocol websocket, echo',
    elsewhere: 'may be refused',
    run: async (context) =>
      echo(context, await context.dodici.upgrade(`${context.origin}${context.path}`), 'websocket'),
  },
]
