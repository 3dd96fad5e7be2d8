/** The packages that nothing but the benchmarks needs: bench/package.json has them, and this installs them. */
import { fileURLToPath } from 'node:url'
import { installPackages } from '../scripts/packages.mjs'

/** Installs them where they are missing, or others than the lock file says. */
export function installPeers() {
  installPackages(fileURLToPath(new URL('.', import.meta.url)))
}
