/** Types of the DOM that declarations of connect-es take for granted. */
export {}

declare global {
  type HeadersInit = ConstructorParameters<typeof Headers>[0]
}
