/** An event that happens once, and can be awaited. */
export class Gate {
  readonly opened: Promise<void>
  isOpen = false
  #resolve: () => void = () => {}

  constructor() {
    this.opened = new Promise((resolve) => {
      this.#resolve = resolve
    })
  }

  open(): void {
    this.isOpen = true
    this.#resolve()
  }
}

/** One turn of the event loop. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
