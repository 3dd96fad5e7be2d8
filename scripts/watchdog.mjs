/**
 * Ends the processes of a soak with it, and a soak that hangs: node:http2 can spin or crash natively, and then no timer of the soak could
 * report it. Each message is the list of processes, and a sign of life.
 */

/** After so many milliseconds without a message, the soak hangs. */
const HANGS = 60_000

/** @type {number[]} */
let pids = []
/** @type {NodeJS.Timeout | undefined} */
let alarm

function onHang() {
  process.stderr.write(`WRONG: the soak's event loop has stood still for ${HANGS / 1_000} s; it is killed\n`)
  process.kill(process.ppid, 'SIGKILL')
}

process.on('message', (/** @type {number[]} */ running) => {
  pids = running
  clearTimeout(alarm)
  alarm = setTimeout(onHang, HANGS)
})
process.on('disconnect', () => {
  for (const pid of pids) {
    if (pid === process.pid) continue
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It has ended before.
    }
  }
  process.exit()
})
