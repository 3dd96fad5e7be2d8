/** Makes `pages/`, which VitePress builds the site of: the guides, the home page and the reference of the API. */

import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { LIST, toGroups } from './groups.mjs'
import { toScheme, toSiteMarkdown, toSitePath, toTitle } from './guides.mjs'
import { toHome } from './home.mjs'
import { writeReference } from './reference.mjs'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const pages = fileURLToPath(new URL('../pages/', import.meta.url))

/** @param {string} file */
const read = (file) => readFileSync(join(root, file), 'utf8')

/**
 * @param {string} path below `pages/`
 * @param {string} text
 */
function write(path, text) {
  const file = join(pages, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}

/** @param {string} file a page's path in the repository */
function writeGuide(file) {
  const path = toSitePath(file)
  if (path === null) throw new Error(`${file} can't be a page of the site`)
  // `source` is for the link that leads to the page in the repository.
  write(path, `---\nsource: ${file}\n---\n\n${toSiteMarkdown(file, read(file))}`)
  return { text: toTitle(read(file)), link: `/${path.replace(/\.md$/, '')}` }
}

rmSync(pages, { recursive: true, force: true })
const groups = toGroups(read(LIST)).map(({ text, pages: files }) => ({ text, items: files.map(writeGuide) }))
const others = { text: 'More', items: [LIST, 'CHANGELOG.md'].map(writeGuide) }
const { version } = JSON.parse(read('package.json'))
write('index.md', toHome(read('README.md'), version))
for (const name of ['readme-cpu', 'all-cpu', 'all-throughput'])
  for (const scheme of /** @type {const} */ (['light', 'dark']))
    write(`public/charts/${name}-${scheme}.svg`, toScheme(read(`bench/recorded/${name}.svg`), scheme))
// Twelve, in Roman numerals.
write(
  'public/icon.svg',
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="6" fill="#4f46e5"/><path d="M6 9l8 14M14 9L6 23M19.5 9v14M26 9v14" stroke="#fff" stroke-width="2.6"/></svg>\n`,
)
const reference = await writeReference(join(pages, 'reference'))
write(
  'sidebar.json',
  // What is for contributors comes last.
  JSON.stringify(
    { version, guides: [...groups.slice(0, -1), others, ...groups.slice(-1)], reference },
    null,
    2,
  ),
)
