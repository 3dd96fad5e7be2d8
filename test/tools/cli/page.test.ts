import { execFile } from 'node:child_process'
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { EXIT } from '../../../src/cli/cli-error.ts'
import { COMMANDS } from '../../../src/cli/commands.ts'
import { makeFolder, removeFolder, startServe } from '../../support/clients/cli.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const page = await readFile(`${root}docs/cli.md`, 'utf8')

it('docs/cli.md has each exit code, and no other', () => {
  const [, table = ''] = page.split('**Exit codes**')
  const codes = [...(table.split('\n## ')[0] ?? '').matchAll(/^\| (\d+) \|/gm)].map(([, code]) =>
    Number(code),
  )
  expect(codes).toEqual(Object.values(EXIT))
})

it('docs/cli.md has each command with each of its options and routes', async () => {
  for (const { name, synopsis, load } of COMMANDS) {
    const { help } = await load()
    expect(page).toContain(`\`${`dodici ${name} ${synopsis}`.trim()}\``)
    const [, section = ''] = page.split(`\n## \`dodici ${name}\``)
    // Every command has --help; the top of the page says so.
    const options = (help.match(/--[a-z0-9-]+( [A-Z]+)?/g) ?? []).filter((option) => option !== '--help')
    const routes = help.match(/(?<= |\n)\/[a-z-]+(\/[A-Z]+)?/g) ?? []
    // `dodici ca` has none.
    if (name !== 'ca') expect(options.length).toBeGreaterThan(0)
    // What stands behind it may be a value, or more of one.
    for (const word of [...options, ...routes]) expect(section).toMatch(new RegExp(`\`${word}(?=[\`=: ])`))
  }
})

it('docs/cli.md has snippets that run beside the server', async () => {
  const folder = await makeFolder()
  onTestFinished(() => removeFolder(folder))
  const serve = await startServe(join(folder, '.cache'))
  onTestFinished(() => serve.running.kill())
  // By `npx dodici ca > ca.pem`, as the page says.
  await writeFile(join(folder, 'ca.pem'), serve.ca)
  await mkdir(join(folder, 'node_modules'))
  await symlink(root, join(folder, 'node_modules/dodici'))
  const snippets = [...page.matchAll(/^```js run\n([\s\S]*?)^```$/gm)].map(([, code]) => code ?? '')
  expect(snippets).toHaveLength(2)
  for (const [index, code] of snippets.entries()) {
    const file = join(folder, `snippet-${index}.mjs`)
    const here = code
      .replace('https://localhost:12443', serve.secure)
      .replace('http://localhost:12080', serve.plain)
    await writeFile(file, here)
    const env = { ...process.env, NODE_OPTIONS: '', HOME: folder }
    const { stdout } = await promisify(execFile)(process.execPath, [file], { env, cwd: folder })
    expect(stdout).toContain("httpVersion: '2.0'")
  }
})
