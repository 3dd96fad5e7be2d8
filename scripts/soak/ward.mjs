/**
 * What a child process of the soak does for its parent: it ends with it, and it ends a parent that hangs. node:http2 can spin
 * or crash natively, and then no timer of the soak could report it.
 */

/** After so many milliseconds without a message, the soak hangs, and no timer of its own can report it. */
const HANGS = 60_000

/** Processes to end with the soak, if it could not end them itself. @type {number[]} */
let wards = []
/** @type {NodeJS.Timeout | null} */
let alarm = null

function endWards() {
  for (const pid of wards) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It has ended before.
    }
  }
}

function onHang() {
  process.stderr.write(`WRONG: the soak's event loop has stood still for ${HANGS / 1_000} s; it is killed\n`)
  process.kill(process.ppid, 'SIGKILL')
}

/**
 * @param {() => unknown} toTally what to send for each message `tally`; a message with `wards` says that the parent is alive
 * @param {(message: Record<string, unknown>) => void} [onOther] hears of all other messages
 */
export function serveParent(toTally, onOther = () => {}) {
  process.on('message', (/** @type {any} */ message) => {
    if (message === 'tally') {
      process.send?.(toTally())
      return
    }
    if (message.wards === undefined) {
      onOther(message)
      return
    }
    wards = message.wards
    if (alarm !== null) clearTimeout(alarm)
    alarm = setTimeout(onHang, HANGS)
  })
  process.on('disconnect', () => {
    endWards()
    process.exit()
  })
}
