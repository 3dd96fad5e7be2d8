/** What GitHub reads: the workflows, dependabot's list, the templates. */

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))
const read = (path: string): string => readFileSync(`${root}${path}`, 'utf8')
const list = (folder: string): string[] => readdirSync(`${root}${folder}`).map((name) => `${folder}/${name}`)

const WORKFLOWS = list('.github/workflows')
const TEMPLATES = [...list('.github/ISSUE_TEMPLATE'), '.github/pull_request_template.md']

/** What the groups of a pattern match, at each place. */
const findAll = (text: string, pattern: RegExp): string[] =>
  [...text.matchAll(pattern)].map((match) => match[1] ?? '')

const scripts = Object.keys(JSON.parse(read('package.json')).scripts)

describe.each(WORKFLOWS)('%s', (path) => {
  const text = read(path)

  it('pins each action by its digest, with its version beside it', () => {
    const uses = findAll(text, /uses: (.*)/g)
    expect(uses).not.toEqual([])
    for (const action of uses) expect(action).toMatch(/^[\w-]+(\/[\w-]+)+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/)
  })

  it('may only read, where a job does not say more', () => {
    expect(text).toMatch(/^permissions:\n {2}contents: read\n(?! )/m)
  })

  it('ends a job that hangs', () => {
    const jobs = text.slice(text.indexOf('\njobs:'))
    const limits = findAll(jobs, /^ {4}timeout-minutes: (\d+)$/gm)
    expect(limits).toHaveLength(findAll(jobs, /^ {2}([\w-]+):$/gm).length)
  })
})

it('one version of an action is one digest, in all workflows', () => {
  const versions = new Map<string, Set<string>>()
  for (const action of WORKFLOWS.flatMap((path) => findAll(read(path), /uses: (.*)/g))) {
    const [repository = ''] = action.split(/\/(?:init|analyze|upload-sarif)@|@/)
    versions.set(repository, (versions.get(repository) ?? new Set()).add(action.replace(/.*@/, '')))
  }
  for (const [action, digests] of versions) expect([action, digests.size]).toEqual([action, 1])
})

it.each([...WORKFLOWS, ...TEMPLATES])('%s names scripts and programs that there are', (path) => {
  const text = read(path)
  for (const name of findAll(text, /npm run ([\w:-]+)/g)) expect(scripts).toContain(name)
  for (const file of findAll(text, /(?<![\w/])(scripts\/[\w./-]+)/g))
    expect(existsSync(root + file), file).toBe(true)
})

it('CI runs the tests on each line of Node that the project installs', () => {
  const lines = findAll(read('scripts/install-node.sh'), /^ {2}(\d+)\)/gm)
  expect(lines).toHaveLength(4)
  expect(findAll(read('.github/workflows/ci.yml'), /\{ node: (\d+), scope/g)).toEqual(lines)
})

it('dependabot looks at each folder that has dependencies for people', () => {
  const [folders = ''] = findAll(read('.github/dependabot.yml'), /directories: \[(.*)\]/g)
  for (const folder of folders.split(', '))
    expect(existsSync(`${root}${folder}/package-lock.json`), folder).toBe(true)
})

describe('the templates', () => {
  it('report a vulnerability where SECURITY.md does', () => {
    const [url = 'none'] = findAll(read('.github/ISSUE_TEMPLATE/config.yml'), /url: (\S+)/g)
    expect(read('SECURITY.md')).toContain(url)
  })

  it('ask for what a bug needs: versions, the engine, and how to see it', () => {
    const ids = findAll(read('.github/ISSUE_TEMPLATE/bug.yml'), /^ {4}id: (\w+)$/gm)
    expect(ids).toEqual(['what', 'how', 'engine', 'versions'])
  })
})
