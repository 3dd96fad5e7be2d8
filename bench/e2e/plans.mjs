/** Who takes part in a scenario, and a word about each who can't. */
import { clientNamed, ownClients } from './clients/index.mjs'

/** Whom `--dodici` is about. @type {readonly string[]} */
const ours = Object.values(ownClients)

/** @param {string} nodeVersion @param {[number, number]} lowest */
function isOlder(nodeVersion, [lowestMajor, lowestMinor]) {
  const [major, minor] = nodeVersion.split('.').map(Number)
  return major < lowestMajor || (major === lowestMajor && minor < lowestMinor)
}

/**
 * The clients that run on a Node version, and are installed.
 *
 * @param {readonly string[]} wanted @param {string} nodeVersion @param {(line: string) => void} tell
 */
export async function toUsable(wanted, nodeVersion, tell) {
  const usable = []
  for (const name of wanted) {
    const { label, minNode, loadProgram } = clientNamed(name)
    if (isOlder(nodeVersion, minNode)) {
      tell(`Left out: ${label} needs Node ${minNode.join('.')}, and the clients run on ${nodeVersion}.`)
      continue
    }
    const reason = loadProgram === undefined ? null : (await loadProgram()).whyNot()
    if (reason === null) usable.push(name)
    else tell(`Left out: ${label}, ${reason}.`)
  }
  return usable
}

/**
 * The APIs that a scenario measures, client by client. The reference may have one for several of the scenario's.
 *
 * @param {import('./scenarios.mjs').Scenario} scenario @param {readonly string[]} clientNames
 * @param {{ nodeVersion: string, dodici: string | null }} setting `dodici`: the build of it to measure; null: this package
 * @param {(line: string) => void} tell
 * @returns {import('./measure.mjs').Plan[]}
 */
export function toPlans(scenario, clientNames, { nodeVersion, dodici }, tell) {
  return clientNames.flatMap((client) => {
    const { apiFor, canStream, label, whyNot } = clientNamed(client)
    const own = new Set(scenario.apis.map((api) => apiFor(api, scenario)).filter((api) => api !== null))
    return [...own].flatMap((api) => {
      const reason =
        scenario.isStreamed === true && !canStream
          ? 'which is measured with a Buffer for its body only'
          : whyNot(api, scenario, Number.parseInt(nodeVersion, 10))
      if (reason === null) return [{ client, label, api, entry: ours.includes(client) ? dodici : null }]
      tell(`Left out of ${scenario.name}: ${api} of ${label}, ${reason}.`)
      return []
    })
  })
}
