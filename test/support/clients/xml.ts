/** Whether a text is well-formed XML, as far as a text without declarations, comments and CDATA needs it. */

const TAG = /^<(\/?)([a-z][\w:-]*)((?:\s+[a-z][\w:-]*="[^"<]*")*)\s*(\/?)>/i
const TEXT = /^[^<]+/
const ENTITY = /&(?!(?:amp|lt|gt|quot|apos);)/

/**
 * @returns the name of the root element
 * @throws Error that says where it is not well-formed
 */
export function checkXml(text: string): string {
  const open: string[] = []
  let root: string | null = null
  for (let rest = text.trim(); rest !== ''; ) {
    const [tag = '', slash, name = '', attributes = '', isEmpty] = TAG.exec(rest) ?? []
    const piece = tag || (TEXT.exec(rest)?.[0] ?? '')
    if (
      piece === '' ||
      ENTITY.test(tag === '' ? piece : attributes) ||
      (root !== null && open.length === 0)
    ) {
      throw new Error(`not well-formed at '${rest.slice(0, 80)}'`)
    }
    rest = rest.slice(piece.length)
    if (tag === '') continue
    if (slash === '/') {
      if (open.pop() !== name) throw new Error(`</${name}> closes another element`)
      continue
    }
    root ??= name
    if (isEmpty !== '/') open.push(name)
  }
  if (root === null || open.length > 0) throw new Error(`not closed: ${open.join(', ')}`)
  return root
}
