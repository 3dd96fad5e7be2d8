/** Sends push notifications with Apple's APNs, which speaks only HTTP/2, over one connection. */

// @ts-check

import { createPrivateKey, sign } from 'node:crypto'

/** APNs refuses tokens that are older than an hour, and new tokens more often than every 20 minutes. Milliseconds. */
const TOKEN_AGE = 50 * 60_000

/** @param {unknown} value */
const toPart = (value) => Buffer.from(JSON.stringify(value)).toString('base64url')

/** A notification that APNs refused. `reason` is Apple's. If it is `Unregistered`, forget the device token. */
export class PushError extends Error {
  /** @param {number} statusCode @param {string} reason */
  constructor(statusCode, reason) {
    super(`APNs: ${statusCode} ${reason}`)
    this.statusCode = statusCode
    this.reason = reason
  }
}

/**
 * @param {import('dodici').Client} client of `https://api.push.apple.com`, or of `https://api.sandbox.push.apple.com`
 * @param {{ key: string, keyId: string, teamId: string, topic: string }} account `key` is the text of the `.p8` file
 */
export function createPusher(client, { key, keyId, teamId, topic }) {
  const privateKey = createPrivateKey(key)
  let token = ''
  let issued = -Infinity

  function toToken() {
    if (performance.now() - issued < TOKEN_AGE) return token
    issued = performance.now()
    const iat = Math.floor(Date.now() / 1_000)
    const claims = `${toPart({ alg: 'ES256', kid: keyId })}.${toPart({ iss: teamId, iat })}`
    const signature = sign('sha256', Buffer.from(claims), { key: privateKey, dsaEncoding: 'ieee-p1363' })
    token = `${claims}.${signature.toString('base64url')}`
    return token
  }

  /**
   * @param {string} device its token @param {object} payload such as `{ aps: { alert: 'Hello' } }`
   * @param {Record<string, string>} [fields] such as `apns-priority`
   * @returns {Promise<string>} the `apns-id` @throws {PushError}
   */
  return async function push(device, payload, fields = {}) {
    const own = { authorization: `bearer ${toToken()}`, 'apns-topic': topic, 'apns-push-type': 'alert' }
    const { statusCode, headers, body } = await client.request({
      path: `/3/device/${device}`,
      method: 'POST',
      headers: { ...own, ...fields },
      body: JSON.stringify(payload),
    })
    const text = await body.text()
    if (statusCode !== 200) throw new PushError(statusCode, JSON.parse(text).reason)
    return String(headers['apns-id'])
  }
}
