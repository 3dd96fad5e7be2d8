/** What bench/package.json installs, as far as it is used here: the types are there without it. */

declare module 'fetch-h2' {
  export function context(options: {
    httpProtocol: 'http2'
    httpsProtocols: ['http2']
    session: { ca?: string }
  }): {
    fetch(
      url: string,
      init: object,
    ): Promise<{ status: number; text(): Promise<string>; json(): Promise<unknown> }>
    disconnectAll(): Promise<void>
  }
}

declare module 'tinybench' {
  interface Task {
    readonly result: {
      readonly state: string
      readonly latency: { readonly p50: number; readonly rme: number }
    }
  }
  export class Bench {
    constructor(options: { time: number; warmupTime: number; iterations: number; warmupIterations: number })
    readonly tasks: readonly Task[]
    add(name: string, run: () => unknown): this
    run(): Promise<unknown>
  }
}
