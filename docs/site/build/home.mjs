/** The home page: made of README.md, so that it says nothing else. */

import { toChart, toSiteLink, toSiteMarkdown } from './guides.mjs'

const PAGE = 'README.md'

/**
 * @param {string} readme the text of README.md
 * @returns {string} the Markdown of the home page
 * @throws Error which says what README.md lacks
 */
export function toHome(readme) {
  const head = `${readme.split('\n## ')[0]}\n\n`
  const [, sentence] = findIn(/^(Dodici is .+)$/m, head, 'a sentence below its title')
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
  const hero = {
    layout: 'home',
    title: 'Dodici',
    titleTemplate: 'HTTP/2-first client for Node.js',
    hero: {
      name: 'Dodici',
      tagline: toText(sentence),
      actions: [
        { theme: 'brand', text: 'Get started', link: '/start' },
        { theme: 'alt', text: 'Reference', link: '/reference/' },
        { theme: 'alt', text: 'GitHub', link: 'https://github.com/dodici/dodici' },
      ],
    },
    features: points,
  }
  // YAML is a superset of JSON.
  return [
    `---\n${JSON.stringify(hero)}\n---`,
    toSiteMarkdown(PAGE, snippet),
    toChart(chart, description),
    toSiteMarkdown(PAGE, toSection(readme, 'Install')),
    '',
  ].join('\n\n')
}

/**
 * @param {string} title
 * @param {string} text the rest of the point; a link at its end leads to more
 */
function toPoint(title, text) {
  const [, link] = /\[[^\]]+\]\(([^)]+)\)\.?\s*$/.exec(text) ?? []
  if (link === undefined) throw new Error(`${PAGE}: '${title}' has no link at its end`)
  // What announces the link, such as `Measured by npm run bench:`, stays a sentence.
  const details = text.replace(/:?\s*\[[^\]]+\]\([^)]+\)\.?\s*$/, '').replace(/([^.])$/, '$1.')
  return {
    title: toText(title),
    details: toText(details),
    link: toSiteLink(PAGE, link).replace('.md', ''),
    linkText: 'More',
  }
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
