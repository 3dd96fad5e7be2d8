/** The home page: made of README.md, so that it says nothing else. */

import { toChart, toSiteLink, toSiteMarkdown } from './guides.mjs'

const PAGE = 'README.md'

/**
 * The first screen has the sentence, the first snippet and how to install it; below are the chart and the five points.
 *
 * @param {string} readme the text of README.md
 * @param {string} version the package's
 * @returns {string} the Markdown of the home page
 * @throws Error which says what README.md lacks
 */
export function toHome(readme, version) {
  const head = `${readme.split('\n## ')[0]}\n\n`
  const [, sentence] = findIn(/^(Dodici is .+)$/m, head, 'a sentence below its title')
  const [, figure] = findIn(/^(Over TLS, .+)$/m, head, 'a figure above its chart')
  const [, description, chart] = findIn(
    /^!\[([^\]]+)\]\([^)]*?bench\/recorded\/([\w-]+)\.svg\)$/m,
    head,
    'a chart',
  )
  const [snippet] = findIn(/^```js run\n[\s\S]+?^```$/m, head, 'a first snippet')
  const points = [...head.matchAll(/^- \*\*(.+?)\.?\*\* ([\s\S]+?)(?=\n- |\n\n)/gm)].map(([, title, text]) =>
    toPoint(title, text),
  )
  if (points.length !== 5)
    throw new Error(`${PAGE} has ${points.length} points on its first screen, and not five`)
  const matter = { layout: 'home', title: 'Dodici', titleTemplate: 'HTTP/2-first client for Node.js' }
  // YAML is a superset of JSON.
  return [
    `---\n${JSON.stringify(matter)}\n---`,
    '<div class="front"><div class="front-text">',
    '# Dodici',
    `<p class="front-sentence">${toText(sentence)}</p>`,
    `<p class="front-version">Version ${version}, MIT license</p>`,
    // In one line: Markdown makes paragraphs of its own otherwise.
    `<p class="front-actions">${ACTIONS.map(([text, link]) => `<a class="front-action" href="${link}">${text}</a>`).join('')}</p>`,
    '</div><div class="front-code">',
    toSiteMarkdown(PAGE, snippet),
    '</div></div>',
    toSiteMarkdown(PAGE, toSection(readme, 'Install')),
    `## CPU time per request\n\n${toSiteMarkdown(PAGE, figure)}`,
    toChart(chart, description),
    `## Why Dodici\n\n<div class="points">`,
    ...points,
    '</div>',
    '',
  ].join('\n\n')
}

/** @type {readonly (readonly [text: string, link: string])[]} */
const ACTIONS = [
  ['Get started', '/start'],
  ['Migrate', '/migrating'],
  ['Reference', '/reference/'],
]

/**
 * @param {string} title
 * @param {string} text the rest of the point; a link at its end leads to more
 * @returns {string} its HTML
 */
function toPoint(title, text) {
  const [, name, link] = /\[([^\]]+)\]\(([^)]+)\)\.?\s*$/.exec(text) ?? []
  if (link === undefined) throw new Error(`${PAGE}: '${title}' has no link at its end`)
  // What announces the link, such as `Measured by npm run bench:`, stays a sentence.
  const details = text.replace(/:?\s*\[[^\]]+\]\([^)]+\)\.?\s*$/, '').replace(/([^.])$/, '$1.')
  const href = toSiteLink(PAGE, link).replace('.md', '')
  return `<p class="point"><strong>${toText(title)}</strong> ${toText(details)} <a href="${href}">${toText(name)}</a></p>`
}

/** @param {string} markdown a paragraph, as HTML in one line */
function toText(markdown) {
  return markdown
    .replaceAll(/\s+/g, ' ')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll(/\[([^\]]+)\]\([^)]+\)/g, '$1')
    .replaceAll(/`([^`]+)`/g, '<code>$1</code>')
    .trim()
}

/**
 * @param {string} readme
 * @param {string} title
 */
function toSection(readme, title) {
  const section = readme.split(/^(?=## )/m).find((part) => part.startsWith(`## ${title}\n`))
  if (section === undefined) throw new Error(`${PAGE} has no section '${title}'`)
  return section.trim()
}

/**
 * @param {RegExp} pattern
 * @param {string} text
 * @param {string} what
 */
function findIn(pattern, text, what) {
  const match = pattern.exec(text)
  if (match === null) throw new Error(`${PAGE} lacks ${what}`)
  return match
}
