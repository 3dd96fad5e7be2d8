import { readFileSync } from 'node:fs'
import { defineConfig } from 'vitepress'

/** Written by build/index.mjs. */
const { version, guides, reference } = JSON.parse(
  readFileSync(new URL('../pages/sidebar.json', import.meta.url), 'utf8'),
)

export default defineConfig({
  lang: 'en',
  title: 'Dodici',
  description: "An HTTP/2-first client dispatcher for Node.js, with undici's programming model",
  srcDir: 'pages',
  cleanUrls: true,
  head: [['link', { rel: 'icon', type: 'image/svg+xml', href: '/icon.svg' }]],
  markdown: {
    // Those of VitePress have text with a contrast of 3.2.
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    // A name such as `start.md` is no host name.
    linkify: false,
    // The anchors of GitHub: the same links work there and here.
    anchor: { slugify: toAnchor },
    image: { lazyLoading: true },
    config: (markdown) => markdown.core.ruler.push('labels', labelCells),
  },
  themeConfig: {
    nav: [
      { text: 'Guide', link: '/start', activeMatch: '^/(?!reference/|$)' },
      { text: 'Reference', link: '/reference/', activeMatch: '^/reference/' },
      { text: `v${version}`, link: '/changelog', activeMatch: '^$' },
    ],
    sidebar: { '/reference/': reference, '/': guides },
    outline: [2, 3],
    search: {
      provider: 'local',
      options: {
        _render: renderForSearch,
        miniSearch: {
          searchOptions: {
            // VitePress takes the text of this function into the pages: it can't use a name of this file.
            boostDocument: (id) => {
              // A guide explains what a page of the reference only names.
              if (id.includes('/reference/')) return 0.4
              // These are for contributors, or lists of what was tested.
              if (
                /^\/(architecture|contributing|internals|conformance|chaos|faults|changelog|documents)/.test(
                  id,
                )
              )
                return 0.4
              return 1
            },
            // A word as it is typed counts more than one that begins with it, or that is alike.
            weights: { prefix: 0.2, fuzzy: 0.05 },
          },
        },
      },
    },
    socialLinks: [{ icon: 'github', link: 'https://github.com/dodici/dodici' }],
    editLink: {
      text: 'This page in the repository',
      // VitePress takes the text of this function into the pages: it can't use a name of this file.
      pattern: ({ frontmatter }) => `https://github.com/dodici/dodici/blob/main/${frontmatter.source}`,
    },
    footer: { message: 'Released under the MIT License.' },
  },
  transformPageData(page) {
    // The reference and the home page are made of more than one file.
    if (page.frontmatter.source === undefined) page.frontmatter.editLink = false
  },
})

/**
 * Gives each cell of a table the title of its column, for narrow windows, where a row is shown as a card. Roles keep it a table
 * for screen readers.
 *
 * @param {{ tokens: import('vitepress').MarkdownRenderer['core']['State']['prototype']['tokens'] }} state
 */
function labelCells({ tokens }) {
  /** The titles of the table's columns. @type {string[]} */
  let titles = []
  let column = 0
  let isHead = false
  for (const [index, token] of tokens.entries()) {
    if (token.type === 'table_open') {
      titles = []
      token.attrSet('role', 'table')
    } else if (token.type === 'thead_open' || token.type === 'tbody_open') {
      isHead = token.type === 'thead_open'
    } else if (token.type === 'tr_open') {
      column = 0
      token.attrSet('role', 'row')
    } else if (token.type === 'th_open') {
      titles.push(toPlainText(tokens[index + 1]))
      token.attrSet('role', 'columnheader')
    } else if (token.type === 'td_open') {
      token.attrSet('role', 'cell')
      // The first cell is the title of its card.
      if (!isHead && column > 0 && titles.length > 2) token.attrSet('data-label', titles[column] ?? '')
      column += 1
    }
  }
}

/** @param {{ children: { type: string, content: string }[] | null } | undefined} inline */
function toPlainText(inline) {
  return (inline?.children ?? []).map(({ content }) => content).join('')
}

/** @param {string} heading */
function toAnchor(heading) {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(' ', '-')
}

/**
 * What people type who look for a page that calls it something else. The search shows it behind the title.
 *
 * @type {Readonly<Record<string, string>>}
 */
const SEARCH_WORDS = {
  'connections.md': 'GOAWAY, keep-alive',
  'errors.md': 'error codes, Protocol error',
  'production.md': 'graceful shutdown, SIGTERM',
  'retries.md': 'retry',
  'timeouts.md': 'abort, AbortSignal, cancel',
  'upstreams.md': 'load balancing, failover',
}

/** Headings of the reference that name no symbol. */
const PARTS = new Set([
  'Accessors',
  'Call Signature',
  'Classes',
  'Constructors',
  'Default',
  'Default Value',
  'Example',
  'Extended by',
  'Extends',
  'Functions',
  'Get Signature',
  'Implements',
  'Interfaces',
  'Methods',
  'Namespaces',
  'Parameters',
  'Properties',
  'Returns',
  'See',
  'Set Signature',
  'Throws',
  'Type Aliases',
  'Type Declaration',
  'Type Parameters',
  'Variables',
])

/**
 * The search finds every word of a guide, and of the reference the names of symbols and of their members: its text would make the index
 * larger, and the guides say the same.
 *
 * @param {string} source
 * @param {import('vitepress').MarkdownEnv} env
 * @param {import('vitepress').MarkdownRenderer} markdown
 * @returns {string} the HTML that is indexed
 */
function renderForSearch(source, env, markdown) {
  const html = markdown.render(source, env)
  if (env.relativePath.startsWith('reference/')) return toNames(html)
  const words = SEARCH_WORDS[env.relativePath]
  return words === undefined
    ? html
    : html.replace(/(<h1[^>]*>)(.*?)(?= *<a class="header-anchor")/, `$1$2 · ${words}`)
}

/**
 * @param {string} html
 * @returns {string} the headings that name a symbol, each one level below the one that it belongs to
 */
function toNames(html) {
  /** The levels of the headings that the next one may belong to. */
  const above = []
  return [...html.matchAll(/<h([1-6])[^>]*>([\s\S]*?)<\/h\1>/g)]
    .flatMap(([, level, content]) => {
      if (PARTS.has(content.replaceAll(/<[^>]*>|\u200b|&ZeroWidthSpace;/g, '').trim())) return []
      while (above.length > 0 && above.at(-1) >= level) above.pop()
      above.push(level)
      // A heading with nothing at all behind it isn't indexed.
      return [`<h${above.length}>${content}</h${above.length}>\n`]
    })
    .join('')
}
