/** What a client that has no types of its own offers, as far as it is used here. */

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
