import { readFileSync } from 'node:fs'
import { defineConfig } from 'vitepress'

/** Written by build/index.mjs. */
const { guides, reference } = JSON.parse(
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
  },
  themeConfig: {
    nav: [
      { text: 'Guide', link: '/start', activeMatch: '^/(?!reference/|$)' },
      { text: 'API', link: '/reference/', activeMatch: '^/reference/' },
    ],
    sidebar: { '/reference/': reference, '/': guides },
    outline: [2, 3],
    search: {
      provider: 'local',
      options: {
        _render: renderForSearch,
        miniSearch: {
          searchOptions: {
            // A guide explains what a page of the reference only names.
            boostDocument: (id) => (id.includes('/reference/') ? 0.5 : 1),
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

/** @param {string} heading */
function toAnchor(heading) {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(' ', '-')
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
  return env.relativePath.startsWith('reference/') ? toNames(html) : html
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
