/**
 * What is wrong with a page of the site as it is shown, a line each. It is for the page: its source goes there, so it imports nothing.
 *
 * @returns {string[]}
 */
export function inspect() {
  const width = document.documentElement.scrollWidth
  const tooWide =
    width > window.innerWidth ? [`${width} pixels wide, in a window of ${window.innerWidth}`] : []
  return [
    ...new Set([
      ...tooWide,
      ...findCutOff(),
      ...[...document.querySelectorAll('#app *')].flatMap(findPaleText),
    ]),
  ]
}

/** Code whose lines end outside of its frame, and, on a telephone, tables that scroll. */
function findCutOff() {
  const selector = window.innerWidth <= 640 ? '.vp-doc pre, .vp-doc table' : '.vp-doc pre'
  return [...document.querySelectorAll(selector)]
    .filter((element) => element.scrollWidth > element.clientWidth + 1)
    .map((element) => `<${element.localName}> '${element.textContent?.trim().slice(0, 30)}': cut off`)
}

/** The least contrast of text (WCAG 2.2, level AA). */
const LEAST = 4.5

/** @param {Element} element */
function findPaleText(element) {
  const hasText = [...element.childNodes].some(
    (node) => node.nodeType === Node.TEXT_NODE && node.nodeValue?.trim() !== '',
  )
  if (!hasText || !isShown(element)) return []
  const ground = toGround(element)
  const colour = over(toChannels(getComputedStyle(element).color), ground)
  const [light, dark] = [toLuminance(colour), toLuminance(ground)].sort((a, b) => b - a)
  const contrast = (light + 0.05) / (dark + 0.05)
  const text = element.textContent?.trim().slice(0, 30)
  // A colour that can't be read makes it no number, which isn't enough either.
  return contrast >= LEAST
    ? []
    : [`<${element.localName} class="${element.className}"> '${text}': contrast ${contrast.toFixed(2)}`]
}

/** @param {Element} element */
function isShown(element) {
  const { width, height } = element.getBoundingClientRect()
  if (width <= 1 || height <= 1) return false
  return getComputedStyle(element).visibility === 'visible' && isOpaque(element)
}

/** What was found of an element, which the elements within it ask for, too. @type {Map<Element, boolean>} */
const opaque = new Map()
/** @type {Map<Element, number[]>} */
const grounds = new Map()

/** Not so what is shown only while the pointer is over it. @param {Element | null} element @returns {boolean} */
function isOpaque(element) {
  if (element === null) return true
  const known =
    opaque.get(element) ??
    (Number(getComputedStyle(element).opacity) >= 0.1 && isOpaque(element.parentElement))
  opaque.set(element, known)
  return known
}

/**
 * The colour behind an element: those of all its ancestors, one over the other.
 *
 * @param {Element | null} element
 * @returns {number[]}
 */
function toGround(element) {
  if (element === null) return [255, 255, 255, 1]
  const own = grounds.get(element) ?? toChannels(getComputedStyle(element).backgroundColor)
  const ground = own[3] === 1 ? own : over(own, toGround(element.parentElement))
  grounds.set(element, ground)
  return ground
}

/**
 * @param {string} colour
 * @returns {number[]} red, green, blue and alpha
 */
function toChannels(colour) {
  const [red = Number.NaN, green = Number.NaN, blue = Number.NaN, alpha = 1] = (
    /^rgba?\((.*)\)$/.exec(colour)?.[1] ?? ''
  )
    .split(/[ ,/]+/)
    .map(Number)
  return [red, green, blue, alpha]
}

/**
 * @param {number[]} top
 * @param {number[]} ground which is opaque
 */
function over(top, ground) {
  const [, , , alpha = 1] = top
  return [...[0, 1, 2].map((index) => alpha * (top[index] ?? 0) + (1 - alpha) * (ground[index] ?? 0)), 1]
}

/**
 * As WCAG 2.2 defines it.
 *
 * @param {number[]} channels
 */
function toLuminance([red = Number.NaN, green = Number.NaN, blue = Number.NaN]) {
  const [r = 0, g = 0, b = 0] = [red, green, blue].map((channel) => {
    const share = channel / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}
