/** Loads a module of `bench/` or `scripts/`: plain JavaScript, to which its test says what it has. */
export async function loadModule<T>(path: string): Promise<T> {
  const module: T = await import(new URL(`../../../${path}`, import.meta.url).href)
  return module
}
