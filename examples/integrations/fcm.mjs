/** Sends push notifications with Firebase Cloud Messaging (FCM), HTTP v1, over one connection. */

// @ts-check

/**
 * A message that FCM refused. `reason` is FCM's. If it is `UNREGISTERED`, forget the device token. If it is `QUOTA_EXCEEDED` or `UNAVAILABLE`, `retryAfter`
 * may say how many seconds to wait.
 */
export class SendError extends Error {
  /** @param {number} statusCode @param {string} reason @param {number | null} retryAfter */
  constructor(statusCode, reason, retryAfter) {
    super(`FCM: ${statusCode} ${reason}`)
    this.statusCode = statusCode
    this.reason = reason
    this.retryAfter = retryAfter
  }
}

/**
 * @param {import('dodici').Client} client of `https://fcm.googleapis.com`
 * @param {{ projectId: string, getToken: () => Promise<string | null | undefined> }} account `getToken` is called for each message: google-auth-library
 *   keeps a token as long as it is valid
 */
export function createSender(client, { projectId, getToken }) {
  const path = `/v1/projects/${projectId}/messages:send`

  /**
   * @param {object} message such as `{ token: device, notification: { title: 'Hello' } }`
   * @returns {Promise<string>} its name @throws {SendError}
   */
  return async function send(message) {
    const { statusCode, headers, body } = await client.request({
      path,
      method: 'POST',
      headers: { authorization: `Bearer ${await getToken()}`, 'content-type': 'application/json' },
      body: JSON.stringify({ message }),
    })
    const text = await body.text()
    if (statusCode === 200) return JSON.parse(text).name
    const retryAfter = Number(headers['retry-after'])
    throw new SendError(statusCode, toReason(text), Number.isFinite(retryAfter) ? retryAfter : null)
  }
}

/** @param {string} text of a response that isn't JSON if an intermediary made it */
function toReason(text) {
  try {
    const { status, details = [] } = JSON.parse(text).error
    const found = details.find((/** @type {{ errorCode?: string }} */ one) => one.errorCode !== undefined)
    return String(found?.errorCode ?? status)
  } catch {
    return text
  }
}
