/**
 * The JSON that is asked for and sent, by its size alone, so that servers and clients need tell each other nothing of
 * it.
 */

/** @param {string} path @returns {boolean} whether JSON is asked for, or sent, there */
export const isJsonPath = (path) => path.endsWith('.json')

/** @param {number} id */
const toUser = (id) => ({ id, name: `user ${id}`, email: `user-${id}@example.com`, isActive: true })

/** @param {object} value */
const sizeOf = (value) => JSON.stringify(value).length

/**
 * Objects in a list, as most JSON is. Its text is ASCII: `JSON.stringify()` of it has as many characters as bytes.
 *
 * @param {number} bytes
 * @returns {{ bytes: number, users: ReturnType<typeof toUser>[], rest: string }} `bytes`: the size of its text, by
 *   which a reader can tell that it has got the right one; `rest`: what the users leave of that
 * @throws RangeError there is none that small
 */
export function toJsonDocument(bytes) {
  /** @type {ReturnType<typeof toUser>[]} */
  const users = []
  const document = { bytes, users, rest: '' }
  if (sizeOf(document) > bytes) throw new RangeError(`no document has ${bytes} bytes`)
  while (sizeOf(document) <= bytes) users.push(toUser(users.length + 1))
  users.pop()
  document.rest = 'a'.repeat(bytes - sizeOf(document))
  return document
}
