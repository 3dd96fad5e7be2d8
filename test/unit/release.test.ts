import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { loadModule } from '../support/clients/plain-module.ts'

interface Facts {
  readonly status: string
  readonly branch: string
  readonly version: string
  readonly tags: readonly string[]
  readonly changelog: string
}

interface Checks {
  findProblems(facts: Facts): string[]
  hasIdentity(env: NodeJS.ProcessEnv): boolean
  toSections(changelog: string): { title: string; text: string }[]
}

interface Release {
  release(release: {
    root: string
    args: readonly string[]
    env: NodeJS.ProcessEnv
    run: (command: readonly string[]) => boolean
    print: (line: string) => void
  }): number
}

const root = fileURLToPath(new URL('../../', import.meta.url))
const { findProblems, hasIdentity, toSections } = await loadModule<Checks>('scripts/release/release.mjs')
const { release } = await loadModule<Release>('scripts/release/release.mjs')

const CHANGELOG = `# Changelog

## [Unreleased]

## [1.2.0] - 2026-11-25

### Added

- All of it.

## [1.1.0] - 2026-10-01

### Fixed

- A part.

[Unreleased]: https://example.org/compare/v1.2.0...HEAD
[1.2.0]: https://example.org/compare/v1.1.0...v1.2.0
[1.1.0]: https://example.org/releases/tag/v1.1.0
`

const RIGHT: Facts = { status: '', branch: 'main', version: '1.2.0', tags: ['v1.1.0'], changelog: CHANGELOG }

describe('findProblems()', () => {
  it('finds none where all is right', () => {
    expect(findProblems(RIGHT)).toEqual([])
  })

  it.each([
    ['a tree with changes', { status: ' M a.ts' }, ["the tree isn't clean:\n M a.ts"]],
    ['another branch', { branch: 'work' }, ['releases are made of main, and not of work']],
    ['no branch', { branch: '' }, ['releases are made of main, and not of no branch']],
    [
      'a version that is tagged',
      { tags: ['v1.1.0', 'v1.2.0'] },
      ['v1.2.0 is tagged already: package.json needs a new version'],
    ],
    [
      'a version that is not the newest of CHANGELOG.md',
      { version: '1.1.0', tags: [] },
      ["the newest section of CHANGELOG.md has to be '## [1.1.0] - YYYY-MM-DD'"],
    ],
    [
      'a version that CHANGELOG.md has not',
      { version: '1.3.0' },
      [
        "the newest section of CHANGELOG.md has to be '## [1.3.0] - YYYY-MM-DD'",
        'CHANGELOG.md has no link for [1.3.0] at its end',
      ],
    ],
    [
      'a section without a date',
      { changelog: CHANGELOG.replace(' - 2026-11-25', '') },
      ["the newest section of CHANGELOG.md has to be '## [1.2.0] - YYYY-MM-DD'"],
    ],
    [
      'a section without entries',
      { changelog: CHANGELOG.replace('### Added\n\n- All of it.\n', '') },
      ['CHANGELOG.md has nothing in [1.2.0]'],
    ],
    [
      'entries that are left behind',
      { changelog: CHANGELOG.replace('## [Unreleased]\n', '## [Unreleased]\n\n- More.\n') },
      ['CHANGELOG.md has entries in [Unreleased]: they belong to [1.2.0]'],
    ],
    [
      'no place for what comes next',
      { changelog: CHANGELOG.replace('## [Unreleased]\n', '') },
      ['CHANGELOG.md has no section [Unreleased]'],
    ],
  ] as const)('finds %s', (_what, wrong, problems) => {
    expect(findProblems({ ...RIGHT, ...wrong })).toEqual(problems)
  })
})

it.each([
  [true, { GITHUB_ACTIONS: 'true', ACTIONS_ID_TOKEN_REQUEST_URL: 'a', ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'b' }],
  [true, { GITLAB_CI: 'true', SIGSTORE_ID_TOKEN: 'a' }],
  [false, { GITHUB_ACTIONS: 'true' }],
  [false, { GITLAB_CI: 'true' }],
  [false, { CI: 'true', ACTIONS_ID_TOKEN_REQUEST_URL: 'a', ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'b' }],
  [false, {}],
])('hasIdentity() is %s of %o', (expected, env) => {
  expect(hasIdentity(env)).toBe(expected)
})

describe('release()', () => {
  const IDENTITY = {
    GITHUB_ACTIONS: 'true',
    ACTIONS_ID_TOKEN_REQUEST_URL: 'a',
    ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'b',
  }
  const STEPS = ['npm run lint', 'npm run typecheck', 'npm run test:all', 'npm run check:package']
  const PUBLISH = 'npm publish --provenance --access public'

  /** A checkout of its own, in which one commit has all of it. */
  function makeRepository(): string {
    const folder = mkdtempSync(join(tmpdir(), 'dodici-release-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    writeFileSync(join(folder, 'package.json'), '{ "version": "1.2.0" }')
    writeFileSync(join(folder, 'CHANGELOG.md'), CHANGELOG)
    const author = ['-c', 'user.name=Test', '-c', 'user.email=test@example.org', '-c', 'commit.gpgsign=false']
    for (const args of [
      ['init', '-q', '-b', 'main'],
      ['add', '.'],
      [...author, 'commit', '-q', '-m', 'All'],
    ]) {
      execFileSync('git', args, { cwd: folder })
    }
    return folder
  }

  /** Runs no command: it notes them. */
  function play(folder: string, env: NodeJS.ProcessEnv, args: readonly string[] = [], failing = '') {
    const commands: string[] = []
    let said = ''
    const run = (command: readonly string[]): boolean => {
      commands.push(command.join(' '))
      return command.join(' ') !== failing
    }
    const print = (line: string): void => {
      said += `${line}\n`
    }
    const code = release({ root: folder, args, env, run, print })
    return { code, commands, said }
  }

  it('publishes where a CI gives an identity', () => {
    const { code, commands, said } = play(makeRepository(), IDENTITY)
    expect({ code, commands }).toEqual({ code: 0, commands: [...STEPS, PUBLISH] })
    expect(said).toBe('1.2.0 was published. What is left: git tag v1.2.0, and push the tag\n')
  })

  it.each([
    ['outside of a CI', {}, []],
    ['with --dry-run', IDENTITY, ['--dry-run']],
  ])('says what it would do: %s', (_where, env, args) => {
    const { code, commands, said } = play(makeRepository(), env, args)
    expect({ code, commands }).toEqual({ code: 0, commands: STEPS })
    expect(said).toMatch(/^Nothing was published: /)
    expect(said).toContain(`It would be: ${PUBLISH}\n`)
  })

  it('runs nothing where something is wrong', () => {
    const folder = makeRepository()
    writeFileSync(join(folder, 'new.ts'), '')
    execFileSync('git', ['tag', 'v1.2.0'], { cwd: folder })
    const { code, commands, said } = play(folder, IDENTITY)
    expect({ code, commands }).toEqual({ code: 1, commands: [] })
    expect(said).toBe(
      "1.2.0 can't be released:\n- the tree isn't clean:\n?? new.ts\n- v1.2.0 is tagged already: package.json needs a new version\n",
    )
  })

  it('publishes nothing where a step fails', () => {
    const { code, commands, said } = play(makeRepository(), IDENTITY, [], 'npm run typecheck')
    expect({ code, commands }).toEqual({ code: 1, commands: STEPS.slice(0, 2) })
    expect(said).toBe("1.2.0 can't be released: npm run typecheck has failed\n")
  })

  it('says that publishing has failed', () => {
    expect(play(makeRepository(), IDENTITY, [], PUBLISH)).toMatchObject({ code: 1 })
  })

  it('knows no other argument', () => {
    expect(play(makeRepository(), {}, ['--force'])).toMatchObject({ code: 2, commands: [] })
  })
})

describe('CHANGELOG.md', () => {
  const changelog = readFileSync(`${root}CHANGELOG.md`, 'utf8')

  it('has the form of Keep a Changelog 1.1.0', () => {
    const sections = toSections(changelog)
    expect(sections[0]?.title).toBe('[Unreleased]')
    for (const { title, text } of sections) {
      expect(title).toMatch(/^\[(Unreleased|\d+\.\d+\.\d+\] - \d{4}-\d{2}-\d{2})/)
      const kinds = [...text.matchAll(/^### (.*)$/gm)].map(([, kind]) => kind)
      const known = ['Added', 'Changed', 'Deprecated', 'Removed', 'Fixed', 'Security']
      expect(kinds).toEqual(known.filter((kind) => kinds.includes(kind)))
      const [, name = ''] = /^\[(.*?)\]/.exec(title) ?? []
      expect(changelog).toMatch(
        new RegExp(`^\\[${name}\\]: https://github\\.com/dodici/dodici/(compare|releases)/`, 'm'),
      )
    }
  })

  const { version } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'))

  it('is ready for the version of package.json', () => {
    expect(findProblems({ status: '', branch: 'main', version, tags: [], changelog })).toEqual([])
  })

  it('says of the first release what it is, and not what it was before', () => {
    const first = toSections(changelog).at(-1)
    expect(first?.title).toMatch(/^\[0\.1\.0\] - /)
    expect([...(first?.text ?? '').matchAll(/^### .*$/gm)].flat()).toEqual(['### Added'])
    expect(first?.text).not.toMatch(/\b(no longer|any more|used to|as before|was lost|were lost)\b/)
  })
})

it('package.json asks for provenance, so that nothing is published without it', () => {
  const { publishConfig, scripts } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'))
  expect(publishConfig).toEqual({ access: 'public', provenance: true })
  expect(scripts.release).toBe('node scripts/release.mjs')
})
