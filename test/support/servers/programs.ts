/** Programs of the system that some tests need: servers, Go, and a browser. */

import { execFile, spawnSync } from 'node:child_process'
import { promisify } from 'node:util'
import { PROGRAM_ENV } from '../../../scripts/program-env.mjs'

/** How to ask for its version, which starts nothing. */
export const PROGRAMS = {
  nghttpd: '--version',
  nginx: '-v',
  h2o: '--version',
  apache2: '-v',
  go: 'version',
  chromium: '--version',
  squid: '-v',
  nghttpx: '--version',
  microsocks: '-h',
  curl: '--version',
  h2load: '--version',
  openssl: 'version',
  script: '--version',
} as const

/** A program that `scripts/install-servers.sh` installs. */
export type Program = keyof typeof PROGRAMS

function isInstalled(program: Program): boolean {
  return spawnSync(program, [PROGRAMS[program]], { env: PROGRAM_ENV }).error === undefined
}

function toReason(program: string): string {
  return `${program} is not installed: scripts/install-servers.sh installs it`
}

/**
 * Whether the tests that need a program are skipped: where it is missing, which is said aloud. With CI=true they never
 * are: there they run, and fail by `requireProgram()`.
 */
export function lacks(program: Program): boolean {
  if (process.env.CI === 'true' || isInstalled(program)) return false
  console.warn(`SKIPPED: the tests that need ${program}. ${toReason(program)}.`)
  return true
}

/** Throws, with what to install, where a program is missing. Called before each start of one. */
export function requireProgram(program: Program): void {
  if (!isInstalled(program)) throw new Error(toReason(program))
}

/** Compiles a program in Go: a file, or the module in a folder. */
export async function buildGo(binary: string, source: { file: string } | { module: string }): Promise<void> {
  requireProgram('go')
  // Without what a debugger would need it is linked in half the time.
  const args = ['build', '-ldflags=-s -w', '-o', binary]
  const [what, cwd] = 'file' in source ? [source.file] : ['.', source.module]
  await promisify(execFile)('go', [...args, what], { cwd, env: PROGRAM_ENV })
}
