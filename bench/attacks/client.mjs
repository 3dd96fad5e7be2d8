/**
 * A client that suffers one attack, in a process of its own, started with --expose-gc. It tells its figures.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { serve } from '../../scripts/child.mjs'
import * as dodici from '../../src/index.ts'
import { sufferAttack } from '../../test/support/clients/attack-client.ts'
import { findAttack } from '../../test/support/peers/attacks.ts'

/** Requests before the attack: the code that serves them is compiled then, and the memory that it needs is there. */
const WARMUP = 2_000
/** Milliseconds. */
const SETTLED = 100
const STATUS = '/proc/self/status'

/**
 * `bytes`: of the attack; `calls`: of a client that repeats its request; `patience`: in milliseconds.
 *
 * @type {{ name: string, origin: string, engine: 'node' | 'wire', bytes: number, calls: number, patience: number }}
 */
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
/** Milliseconds of all threads; bytes of resident memory beyond what there was; bytes that the client keeps when all is sent, after a collection. */
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
