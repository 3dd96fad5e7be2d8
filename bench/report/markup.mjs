/** What charts and page share: escaping, and colours for light and dark. */

/** @type {Readonly<Record<string, string>>} */
const ENTITIES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

/** Text as it may stand in HTML and SVG, between tags and within quotes. @param {string | number} text */
export const escapeMarkup = (text) =>
  String(text).replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '')

/**
 * @typedef {object} Palette
 * @property {string} panel what everything is drawn on
 * @property {string} ink
 * @property {string} muted text of less weight
 * @property {string} line
 * @property {string} ours Dodici, with engine node
 * @property {string} wire with engine wire
 * @property {string} reference
 * @property {string} other
 * @property {string} floor
 */

/** Text has a contrast of at least 4.5:1 to the panel, bars one of 3:1 (WCAG 2.2, 1.4.3 and 1.4.11). */
/** @type {Palette} */
export const light = {
  panel: '#ffffff',
  ink: '#1f2328',
  muted: '#59636e',
  line: '#d1d9e0',
  ours: '#4f46e5',
  wire: '#0f766e',
  reference: '#b06f10',
  other: '#7b8896',
  floor: '#cf222e',
}

/** @type {Palette} */
export const dark = {
  panel: '#0d1117',
  ink: '#f0f6fc',
  muted: '#9198a1',
  line: '#30363d',
  ours: '#8b87ff',
  wire: '#2dd4bf',
  reference: '#d29922',
  other: '#768390',
  floor: '#ff7b72',
}

/** @param {(palette: Palette) => string} toRules @returns {string} rules for light, and for who prefers it, dark */
export function inBoth(toRules) {
  return `${toRules(light)}\n@media (prefers-color-scheme: dark) {\n${toRules(dark)}\n}`
}

/** Names alone, and no font to fetch. */
export const FONT_FAMILY = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"
