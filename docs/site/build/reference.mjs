/** The reference of the API: typedoc over the sources, one page a symbol, and one for all errors. */

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Application } from 'typedoc'
import ts from 'typescript'
import { load, toGroupsOf } from './reference-plugin.mjs'

/** @param {string} path from this folder */
const toPath = (path) => fileURLToPath(new URL(path, import.meta.url))

/** Types that signatures name and that nobody imports. They stay names, without a page. */
const WITHOUT_PAGE = [
  'ALERTS',
  'Dispatcher',
  'ERROR_CODES',
  'Falsy',
  'Fields',
  'HeadersLike',
  'Malformed',
  'NamedFields',
  'RawHeadersSource',
  'StreamOwner',
  'TopLevel',
  'Undecodable',
]

const OPTIONS = {
  entryPoints: ['index.ts', 'connect/declarations.ts', 'grpc-js/declarations.ts', 'testing/index.ts'].map(
    (path) => toPath(`../../../src/${path}`),
  ),
  tsconfig: toPath('../tsconfig.json'),
  plugin: [fileURLToPath(import.meta.resolve('typedoc-plugin-markdown')), load],
  router: 'dodici',
  name: 'Reference',
  readme: 'none',
  entryFileName: 'index',
  // `npm run typecheck` has done it.
  skipErrorChecking: true,
  // Members of EventEmitter and of streams are Node's to document.
  excludeExternals: true,
  excludeInternal: true,
  excludeProtected: true,
  disableSources: true,
  intentionallyNotExported: WITHOUT_PAGE,
  hideBreadcrumbs: true,
  hidePageHeader: true,
  useCodeBlocks: true,
  indexFormat: 'table',
  parametersFormat: 'table',
  typeDeclarationFormat: 'table',
  validation: { notDocumented: true },
}

/**
 * @param {string} folder where the pages go
 * @returns {Promise<{ text: string, items: { text: string, link: string }[] }[]>} the sidebar
 * @throws Error where typedoc has warned of anything, such as a link that leads nowhere
 */
export async function writeReference(folder) {
  const app = await Application.bootstrapWithPlugins({ ...OPTIONS, out: folder })
  const project = await app.convert()
  if (project === undefined) throw new Error('typedoc could not read the sources')
  app.validate(project)
  await app.generateOutputs(project)
  if (app.logger.hasErrors() || app.logger.hasWarnings())
    throw new Error('typedoc has warned: see above. A link or a name of the TSDoc is wrong.')
  writeFileSync(join(folder, 'index.md'), OVERVIEW)
  writeFileSync(join(folder, 'undici.md'), await toUndiciPage())
  return [
    {
      text: 'Entries',
      items: [
        { text: 'Overview', link: '/reference/' },
        { text: 'dodici/undici', link: '/reference/undici' },
      ],
    },
    ...toGroupsOf(project),
  ]
}

const OVERVIEW = `# Reference

Each name that the package exports, as its TSDoc describes it. Durations are in milliseconds and sizes in bytes, unless it says otherwise.

| Entry | What it has |
| --- | --- |
| [dodici](dodici.md) | the dispatchers, the functions of a request, \`fetch()\`, \`install()\`, and their types |
| [dodici: errors](dodici/errors.md) | the error classes, on one page. [Errors](/errors.md) says what to do with each |
| [dodici/connect](connect.md) | a transport for connect-es |
| [dodici/grpc-js](grpc-js.md) | channels for @grpc/grpc-js |
| [dodici/testing](testing.md) | a server that misbehaves as a test tells it to |
| [dodici/undici](undici.md) | the names of undici |
`

const OWNERS = {
  dodici: "Dodici's",
  both: "a function or class of this entry, over Dodici's, undici's, or both",
  node: "Node's global",
  undici: 'that of the installed undici',
}

/** @returns {Promise<string>} the names of `dodici/undici`, from the table that the entry itself is made by */
async function toUndiciPage() {
  const source = readFileSync(toPath('../../../src/undici/names.ts'), 'utf8')
  const { outputText } = ts.transpileModule(source, {
    compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 },
  })
  const { NAMES } = await import(`data:text/javascript,${encodeURIComponent(outputText)}`)
  const rows = [...NAMES]
    .sort(([a], [b]) => a.localeCompare(b, 'en'))
    .map(([name, { owner, since }]) => `| \`${name}\` | ${OWNERS[owner]} | ${since.join(', ')} |`)
  return `# dodici/undici

\`dodici/undici\` has every name of undici 6, 7 and 8, so that changing the import is the whole migration: [from undici](/migrating.md#from-undici).
Its types are those of the installed undici, and Dodici's where the name is Dodici's.

| Name | Whose it is | Versions of undici that have it |
| --- | --- | --- |
${rows.join('\n')}
`
}
