/**
 * The table.
 */

/**
 * One row of the table; what isn't known stays empty.
 *
 * @typedef {object} Row
 * @property {string} api
 * @property {string} protocol
 * @property {string} status
 * @property {string} bytes
 * @property {string} milliseconds
 * @property {string} headers
 * @property {string | null} failure
 */

/** @type {{ title: string, key: Exclude<keyof Row, 'failure'>, right: boolean }[]} */
const columns = [
  { title: 'API', key: 'api', right: false },
  { title: 'protocol', key: 'protocol', right: false },
  { title: 'status', key: 'status', right: false },
  { title: 'bytes', key: 'bytes', right: true },
  { title: 'ms', key: 'milliseconds', right: true },
  { title: 'headers', key: 'headers', right: false },
]

/**
 * @param {Row[]} rows
 * @returns {string}
 */
export function table(rows) {
  const cells = columns.map(({ title, key, right }) => {
    const column = [title, ...rows.map((row) => row[key])]
    const width = Math.max(...column.map((cell) => cell.length))
    return column.map((cell) => (right ? cell.padStart(width) : cell.padEnd(width)))
  })
  return [-1, ...rows.keys()]
    .map((row) =>
      cells
        .map((column) => column[row + 1])
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
