/** A project that has the built Dodici installed, and one version of undici or none, and programs that run there. */

import { execFile, execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { onTestFinished } from 'vitest'
import { isSample } from '../../support/clocks/sample.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))

/** The folders of node_modules that have the versions. Their names are Dodici's own. */
export const UNDICIS = { 'undici 6': 'undici-6', 'undici 7': 'undici', 'undici 8': 'undici-8' } as const

export type Version = keyof typeof UNDICIS

export const VERSIONS: readonly Version[] = ['undici 6', 'undici 7', 'undici 8']

/** undici 8 needs a newer Node. */
const isOldNode = Number(process.versions.node.split('.')[0]) < 22

/** The versions that the running Node can load. */
export const LOADABLE = VERSIONS.filter((version) => version !== 'undici 8' || !isOldNode)

/** What undici itself does with our dispatchers is played with each version on the oldest and the newest line, and else with the newest. */
export const PLAYED = isSample ? LOADABLE.slice(-1) : LOADABLE

/** A Node that can load undici 8: the running one, or else the pinned Node 22. */
export function findNodeForUndici8(): string {
  if (!isOldNode) return process.execPath
  return execFileSync(join(root, 'scripts/install-node.sh'), ['22'], { encoding: 'utf8' }).trim()
}

/** The folder of a new project. It is removed when the test ends. */
export function makeProject(version: Version | null): string {
  const folder = mkdtempSync(join(tmpdir(), 'dodici-undici-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  // A copy: from a link, Node would look for undici where Dodici's own development is.
  mkdirSync(join(folder, 'node_modules/dodici'), { recursive: true })
  cpSync(join(root, 'dist'), join(folder, 'node_modules/dodici/dist'), { recursive: true })
  cpSync(join(root, 'package.json'), join(folder, 'node_modules/dodici/package.json'))
  if (version !== null) {
    symlinkSync(join(root, 'node_modules', UNDICIS[version]), join(folder, 'node_modules/undici'))
  }
  return folder
}

/** What a program has printed on each stream. */
export interface Printed {
  readonly stdout: string
  readonly stderr: string
}

/**
 * Runs a program in a project.
 *
 * @param source an ES module; CommonJS if it calls require()
 */
export async function run(
  folder: string,
  source: string,
  env: object = {},
  node = process.execPath,
): Promise<Printed> {
  const file = join(folder, source.includes('require(') ? 'program.cjs' : 'program.mjs')
  writeFileSync(file, source)
  return promisify(execFile)(node, [file], {
    cwd: folder,
    // A program that leaves something open would run for ever.
    timeout: 120_000,
    env: { PATH: process.env.PATH, NO_COLOR: '1', ...env },
  })
}

/** One of the eight programs, as it was written for undici. */
export function readProgram(name: string): string {
  return readFileSync(new URL(`programs/${name}.mjs`, import.meta.url), 'utf8')
}
