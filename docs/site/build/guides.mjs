/** The guides: the repository's own Markdown, with links and marks as the site needs them. */

import { posix } from 'node:path'

const REPOSITORY = 'https://github.com/dodici/dodici'
const OURS =
  /^https:\/\/(?:github\.com\/dodici\/dodici\/blob\/main|raw\.githubusercontent\.com\/dodici\/dodici\/main)\//

/**
 * Pages that the site has under another path than below docs/.
 *
 * @type {Readonly<Record<string, string>>}
 */
const OTHERS = {
  'README.md': 'index.md',
  'docs/README.md': 'documents.md',
  'examples/README.md': 'examples.md',
  'SECURITY.md': 'security-policy.md',
  'CONTRIBUTING.md': 'contributing.md',
  'CHANGELOG.md': 'changelog.md',
}

/** A chart that is on the site: `bench/recorded/NAME.svg`, once for each colour scheme. */
const CHART = /^bench\/recorded\/([\w-]+)\.svg$/

/**
 * @param {string} file a path in the repository
 * @returns {string | null} the path of its page on the site, or null where it isn't a page
 */
export function toSitePath(file) {
  if (OTHERS[file] !== undefined) return OTHERS[file]
  return file.startsWith('docs/') && file.endsWith('.md') ? file.slice('docs/'.length) : null
}

/**
 * @param {string} page a page's path in the repository
 * @param {string} link as it stands on that page
 * @returns {string} the same target on the site, or in the repository where the site doesn't have it
 */
export function toSiteLink(page, link) {
  if (link.startsWith('#') || (/^[a-z]+:/.test(link) && !OURS.test(link))) return link
  const [path = '', anchor] = link.split('#')
  const file = OURS.test(link) ? path.replace(OURS, '') : posix.join(posix.dirname(page), decodeURI(path))
  const hash = anchor === undefined ? '' : `#${anchor}`
  const target = toSitePath(file)
  // The home page has a part of README.md only.
  const isOnSite = target !== null && !(target === 'index.md' && hash !== '')
  if (isOnSite) return `/${target}${hash}`
  const kind = /\.\w+$|^LICENSE$/.test(file) ? 'blob' : 'tree'
  return `${REPOSITORY}/${kind}/main/${file.replace(/\/$/, '')}${hash}`
}

/**
 * @param {string} name
 * @param {string} description
 * @returns {string} the Markdown of a chart: the site shows the one of its own colour scheme
 */
export const toChart = (name, description) =>
  ['<div class="chart" tabindex="0">', '']
    .concat(
      ['light', 'dark'].map((scheme) => `![${description}](/charts/${name}-${scheme}.svg){.${scheme}-only}`),
    )
    .concat(['', '</div>'])
    .join('\n')

/**
 * @param {string} page its path in the repository
 * @param {string} text its Markdown
 * @returns {string} the Markdown for the site
 */
export function toSiteMarkdown(page, text) {
  return outsideOfCode(text, (part) =>
    part
      .replaceAll(/^!\[([^\]]*)\]\(([^)\s]+)\)$/gm, (whole, description, link) => {
        const file = toSiteLink(page, link).replace(`${REPOSITORY}/blob/main/`, '')
        const [, name] = CHART.exec(file) ?? []
        return name === undefined ? whole : toChart(name, description)
      })
      .replaceAll(/(?<=\]\()(?!\/charts\/)([^)\s]+)/g, (link) => toSiteLink(page, link)),
  )
}

/**
 * Takes the marks behind the language of a block of code away: they are for `test/docs/pages`. A block without a language is text.
 *
 * @param {string} text
 * @param {(part: string) => string} change what is done to all that is no block of code
 */
function outsideOfCode(text, change) {
  return text
    .split(/(^```[\s\S]*?^```$)/m)
    .map((part, index) =>
      index % 2 === 0
        ? change(part)
        : part.replace(/^```(\w*)[^\n]*/, (_, language) => `\`\`\`${language || 'text'}`),
    )
    .join('')
}

/**
 * @param {string} text a page
 * @returns {string} its title, as text
 */
export function toTitle(text) {
  const [, title] = /^# (.+)$/m.exec(text) ?? []
  if (title === undefined) throw new Error(`a page has no title: ${text.slice(0, 80)}`)
  return title.replaceAll('`', '')
}

/**
 * @param {string} svg a chart with both colour schemes, which follow the system's
 * @param {'light' | 'dark'} scheme
 * @returns {string} the chart in one of them, whatever the system's is: a reader may choose another one for the site
 */
export function toScheme(svg, scheme) {
  const media = /@media \(prefers-color-scheme: dark\) \{\n([\s\S]*?)\n\}\n/
  if (!media.test(svg)) throw new Error('a chart has no colours for the dark')
  return svg.replace(media, scheme === 'dark' ? '$1\n' : '')
}
