/** Which session takes the next call: the least loaded one. */
import { loadSource } from './harness.mjs'

/** @type {typeof import('../../src/scheduler/session-heap.ts')} */
const { SessionHeap } = await loadSource('scheduler/session-heap.ts')

class Session {
  heapIndex = -1
  streams = 0

  /** @param {number} id */
  constructor(id) {
    this.id = id
  }
}

/** @typedef {{ readonly first: Session | null, set(session: Session): void }} Sessions */

/** Looks at all of them each time, and has nothing to keep in order. @implements {Sessions} */
class ScannedSessions {
  /** @type {Session[]} */
  #sessions = []

  get first() {
    /** @type {Session | null} */
    let first = null
    // In the order of their ids, so the oldest of the least loaded ones wins.
    for (const session of this.#sessions)
      if (first === null || session.streams < first.streams) first = session
    return first
  }

  /** @param {Session} session */
  set(session) {
    if (session.heapIndex === -1) session.heapIndex = this.#sessions.push(session) - 1
  }
}

/**
 * A call is opened on the least loaded session, and one ends on some session.
 *
 * @param {new () => Sessions} Sessions @param {number} count
 */
function fill(Sessions, count) {
  const sessions = new Sessions()
  const all = Array.from({ length: count }, (_, id) => new Session(id))
  for (const session of all) sessions.set(session)
  let turn = 0

  const open = () => {
    const session = sessions.first
    if (session === null) throw new Error('There is no session')
    session.streams++
    sessions.set(session)
    return session.id
  }
  // Each holds some before the first is measured, and half of them one more: which are the least loaded changes all the
  // time.
  for (let i = 0; i < 8 * count + count / 2; i++) open()

  return () => {
    const opened = open()
    // A stride that meets every session, in no order that suits either way.
    turn = (turn + 7) % count
    const session = all[turn]
    if (session === undefined) throw new Error('There is no such session')
    session.streams--
    sessions.set(session)
    return opened
  }
}

export const comparisons = [1, 4, 16, 100, 1_000].map((count) => ({
  title: `a call is opened on the least loaded of ${count}, another one ends`,
  ways: {
    SessionHeap: fill(SessionHeap, count),
    'a linear scan': fill(ScannedSessions, count),
  },
}))
