/**
 * What is wrong with a page, a line each. It is for the page: its source goes there, so it imports nothing.
 *
 * @returns {string[]}
 */
export function inspect() {
  const charts = [...document.querySelectorAll('svg')]
  return [
    ...charts.flatMap(findMisplaced),
    ...charts.flatMap(findPaleText),
    ...charts.flatMap(findPaleBars),
    ...findPaleWords(),
    ...(document.documentElement.scrollWidth > window.innerWidth
      ? ['the page is wider than the window']
      : []),
  ]
}

/**
 * A box has the height of a line, which is more than that of its letters: two lines may touch by so much, in pixels.
 */
const LEADING = 3

/** @param {SVGSVGElement} chart */
function findMisplaced(chart) {
  const frame = chart.getBoundingClientRect()
  const texts = [...chart.querySelectorAll('text')].map((element) => {
    return { text: element.textContent, box: element.getBoundingClientRect() }
  })
  return texts.flatMap(({ text, box }, index) => {
    const faults = texts
      .slice(index + 1)
      .filter((other) => touches(box, other.box, LEADING))
      .map((other) => `'${text}' and '${other.text}' overlap`)
    const leaves =
      box.left < frame.left || box.right > frame.right || box.top < frame.top || box.bottom > frame.bottom
    if (leaves) faults.push(`'${text}' leaves its chart`)
    if (box.width === 0) faults.push(`'${text}' takes no room`)
    return faults
  })
}

/**
 * @param {DOMRect} a
 * @param {DOMRect} b
 * @param {number} leading
 */
function touches(a, b, leading) {
  const isBeside = a.right <= b.left || b.right <= a.left
  return !isBeside && a.bottom - leading > b.top && b.bottom - leading > a.top
}

/** @param {SVGSVGElement} chart */
function findPaleText(chart) {
  const shapes = [...chart.querySelectorAll('rect')]
  return [...chart.querySelectorAll('text')].flatMap((text) => {
    const box = text.getBoundingClientRect()
    // The last shape that was drawn before it and that it touches.
    const ground = shapes.findLast(
      (shape) =>
        touches(shape.getBoundingClientRect(), box, 0) &&
        (shape.compareDocumentPosition(text) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0,
    )
    if (ground === undefined) return [`'${text.textContent}' stands on nothing`]
    return demand(`'${text.textContent}'`, 4.5, getComputedStyle(text).fill, getComputedStyle(ground).fill)
  })
}

/** @param {SVGSVGElement} chart */
function findPaleBars(chart) {
  const panel = chart.querySelector('.chart-panel')
  if (panel === null) return ['a chart has no panel']
  return [...chart.querySelectorAll('rect:not(.chart-panel)')].flatMap((bar) =>
    demand('a bar', 3, getComputedStyle(bar).fill, getComputedStyle(panel).fill),
  )
}

function findPaleWords() {
  return [...document.querySelectorAll('body *:not(svg, svg *)')].flatMap((element) => {
    const hasText = [...element.childNodes].some(
      (node) => node.nodeType === 3 && node.nodeValue?.trim() !== '',
    )
    return hasText
      ? demand(`<${element.localName}>`, 4.5, getComputedStyle(element).color, toBackground(element))
      : []
  })
}

/**
 * @param {Element | null} element
 * @returns {string}
 */
function toBackground(element) {
  if (element === null) return 'none'
  const { backgroundColor } = getComputedStyle(element)
  return backgroundColor === 'rgba(0, 0, 0, 0)' ? toBackground(element.parentElement) : backgroundColor
}

/**
 * @param {string} what
 * @param {number} least
 * @param {string} one
 * @param {string} other
 */
function demand(what, least, one, other) {
  const [a, b] = [toLuminance(one), toLuminance(other)]
  const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)
  // A colour that isn't plain makes it no number, which isn't enough either.
  return contrast >= least ? [] : [`${what}: ${one} on ${other} has a contrast of ${contrast}`]
}

/**
 * As WCAG 2.2 defines it.
 *
 * @param {string} colour
 */
function toLuminance(colour) {
  const channels = (/^rgb\((.*)\)$/.exec(colour)?.[1] ?? '').split(',').map((channel) => {
    const share = Number(channel) / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  })
  const [red = Number.NaN, green = Number.NaN, blue = Number.NaN] = channels
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}
