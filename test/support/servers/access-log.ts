/** What a server wrote down of one request. */
export interface AccessLine {
  /** Names the connection that brought it, as far as the server can tell connections apart. */
  readonly connection: string
  readonly method: string
  readonly path: string
  readonly status: string
}

/** Reads lines of the form `connection method path status`. */
export function parseAccessLog(log: string): AccessLine[] {
  return log
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [connection = '', method = '', path = '', status = ''] = line.split(' ')
      return { connection, method, path, status }
    })
}

/** How many connections brought requests. */
export function countConnections(lines: readonly AccessLine[]): number {
  return new Set(lines.map(({ connection }) => connection)).size
}

/** How often each request was taken up, by `method path`. */
export function countRequests(lines: readonly AccessLine[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { method, path } of lines) {
    const name = `${method} ${path}`
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  return counts
}
