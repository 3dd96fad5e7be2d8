/**
 * A client that suffers one attack, in a process of its own, started with --expose-gc. It tells its figures.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { serve } from '../../scripts/child.mjs'
import * as dodici from '../../src/index.ts'
import { sufferAttack } from '../../test/support/clients/attack-client.ts'
import { findAttack } from '../../test/support/peers/attacks.ts'

/**
 * @typedef {object} Job
 * @property {string} name of the attack
 * @property {string} origin
 * @property {'node' | 'wire'} engine
 * @property {number} bytes
 * @property {number} calls of a client that repeats its request
 * @property {number} patience milliseconds
 *
 * @typedef {object} Figures
 * @property {string} call how the attacked call ended
 * @property {string} sibling how a call beside it on the same connection ended
 * @property {string} next how the next call of the same client ended
 * @property {number} bytesRead
 * @property {number} cpu milliseconds, of all threads
 * @property {number} peak bytes: how much more resident memory the process had at most than before
 * @property {number} held bytes: heap and buffers that the client keeps when all is sent, after a collection
 */

/** Requests before the attack: the code that serves them is compiled then, and the memory that it needs is there. */
const WARMUP = 2_000
/** Milliseconds. */
const SETTLED = 100
const STATUS = '/proc/self/status'

/** @type {Job} */
const { name, ...job } = JSON.parse(process.argv[2] ?? '{}')

/** Bytes of resident memory: the highest figure so far, or since {@link resetPeak}. */
function readPeak() {
  try {
    const kilobytes = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(STATUS, 'latin1'))?.[1]
    return Number(kilobytes) * 1_024
  } catch {
    return process.resourceUsage().maxRSS * 1_024
  }
}

/** Linux alone can forget the highest figure. Elsewhere what was needed before counts as before. */
function resetPeak() {
  try {
    writeFileSync('/proc/self/clear_refs', '5')
  } catch {
    // There is no such file: the figure is an upper bound then.
  }
}

function readHeld() {
  globalThis.gc?.()
  globalThis.gc?.()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

const before = { cpu: process.cpuUsage(), peak: 0, held: 0 }
const figures = { cpu: 0, peak: 0, held: 0 }

/** @type {import('../../test/support/clients/attack-client.ts').AttackMeter} */
const meter = {
  begin() {
    before.held = readHeld()
    resetPeak()
    before.peak = readPeak()
    before.cpu = process.cpuUsage()
  },
  async end() {
    const { user, system } = process.cpuUsage(before.cpu)
    figures.cpu = (user + system) / 1_000
    figures.peak = Math.max(0, readPeak() - before.peak)
    // A connection that has ended is let go of in a later turn.
    await setTimeout(SETTLED)
    figures.held = Math.max(0, readHeld() - before.held)
  },
}

const methods = {
  suffer: async () => ({ ...(await sufferAttack(dodici, findAttack(name), job, meter, WARMUP)), ...figures }),
}
serve(methods)

/** @typedef {typeof methods} Methods */
