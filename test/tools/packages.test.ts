import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { hasPackages } from '../../scripts/packages.mjs'

type Packages = Record<string, { version?: string; optional?: boolean }>

/** A folder with a lock file, and what is installed there; null: nothing is. */
function toFolder(lock: Packages, installed: Packages | null): string {
  const folder = mkdtempSync(join(tmpdir(), 'dodici-packages-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify({ packages: { '': {}, ...lock } }))
  if (installed === null) return folder
  mkdirSync(join(folder, 'node_modules'))
  const text = JSON.stringify({ packages: installed })
  writeFileSync(join(folder, 'node_modules/.package-lock.json'), text)
  return folder
}

const ONE = { 'node_modules/one': { version: '1.0.0' } }

describe('a folder with a package.json apart', () => {
  it.each([
    ['nothing is installed', ONE, null, false],
    ['all is installed', ONE, ONE, true],
    ['more is installed', ONE, { ...ONE, 'node_modules/two': { version: '1.0.0' } }, true],
    ['a package is missing', ONE, {}, false],
    ['a version is another', ONE, { 'node_modules/one': { version: '1.0.1' } }, false],
    [
      'only what is for another system is missing',
      { 'node_modules/one': { version: '1.0.0', optional: true } },
      {},
      true,
    ],
  ])('when %s', (_when, lock, installed, expected) => {
    expect(hasPackages(toFolder(lock, installed))).toBe(expected)
  })

  it.each([
    'bench',
    'docs/site',
    'test/interop/aws',
    'test/interop/grpc-clients',
    'test/interop/user-tools',
  ])('%s names no registry in its lock file, and exact versions', (name) => {
    const folder = fileURLToPath(new URL(`../../${name}/`, import.meta.url))
    expect(readdirSync(folder)).toContain('package-lock.json')
    expect(readFileSync(join(folder, 'package-lock.json'), 'utf8')).not.toContain('"resolved"')
    const { dependencies = {}, devDependencies = {} } = JSON.parse(
      readFileSync(join(folder, 'package.json'), 'utf8'),
    )
    for (const version of Object.values({ ...dependencies, ...devDependencies }))
      expect(version).toMatch(/^\d+\.\d+\.\d+(-|$)/)
  })
})
