/** A plugin of typedoc: which page a symbol is on, and which members are shown there. */

import { Converter, ReflectionKind } from 'typedoc'
import { MemberRouter } from 'typedoc-plugin-markdown'

/** The entries: the names that typedoc gives to their files, and those that are imported. */
const ENTRIES = {
  index: 'dodici',
  'connect/declarations': 'dodici/connect',
  'grpc-js/declarations': 'dodici/grpc-js',
  testing: 'dodici/testing',
}

/** Behind typedoc's own listeners. */
const LAST = -10_000

/** @param {import('typedoc').Application} app */
export function load(app) {
  app.renderer.defineRouter('dodici', PageRouter)
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => prepare(project))
  app.converter.on(Converter.EVENT_RESOLVE_END, ({ project }) => withoutOrigins(project), LAST)
}

/** A page for each symbol of an entry, and one for the namespace `errors` with all its classes. */
class PageRouter extends MemberRouter {
  buildChildPages(reflection, pages) {
    if (isErrors(reflection.parent)) this.buildAnchors(reflection, reflection.parent)
    else super.buildChildPages(reflection, pages)
  }

  getIdealBaseName(reflection) {
    return toPageName(reflection)
  }
}

const isErrors = (reflection) =>
  reflection !== undefined && reflection.kind === ReflectionKind.Namespace && reflection.name === 'errors'

/** The path of a symbol's page below `reference/`, without `.md`. */
function toPageName(reflection) {
  if (reflection.kind === ReflectionKind.Module) return reflection.name.replace('dodici/', '')
  return `${toPageName(reflection.parent)}/${reflection.name}`
}

/** Before groups are made and links are resolved. */
function prepare(project) {
  for (const reflection of Object.values(project.reflections)) {
    // What `util.inspect()` calls.
    if (reflection.name === '[custom]') project.removeReflection(reflection)
    // A parameter that the function takes apart.
    if (reflection.name === '__namedParameters') reflection.name = 'options'
    keepForCallers(project, reflection.signatures ?? [])
    // A setter takes what its getter gives.
    if (reflection.setSignature?.hasComment() === false)
      reflection.setSignature.comment = reflection.getSignature?.comment?.clone()
    moveToProperty(reflection)
  }
  for (const entry of project.children ?? []) {
    entry.name = ENTRIES[entry.name] ?? entry.name
    for (const child of [...(entry.children ?? [])]) {
      if (isErrors(child)) for (const error of child.children ?? []) keepOwnMembers(project, error)
      // `Client.Options` is another name for `ClientOptions`, which has a page: a page that says so is of no use.
      else if (child.kind === ReflectionKind.Namespace) project.removeReflection(child)
    }
  }
}

/**
 * Of a function with overloads. Some are for the compiler alone (types/api-methods.ts): those that take `never`, and those whose parameters
 * are an earlier one's. What stands above the first is said of all.
 */
function keepForCallers(project, signatures) {
  const comment = signatures.find((signature) => signature.hasComment())?.comment
  const seen = new Set()
  for (const signature of [...signatures]) {
    const { parameters = [] } = signature
    const key = parameters.map(({ name, flags }) => `${flags.isRest ? '...' : ''}${name}`).join()
    const takesNever = parameters.some(({ type }) => type?.type === 'intrinsic' && type.name === 'never')
    if (takesNever || seen.has(key)) project.removeReflection(signature)
    else if (!signature.hasComment() && comment !== undefined)
      signature.comment = withoutOthers(comment.clone(), parameters)
    if (!takesNever) seen.add(key)
  }
}

/** A comment of another overload, without what it says of parameters that this one doesn't have. */
function withoutOthers(comment, parameters) {
  comment.blockTags = comment.blockTags.filter(
    ({ tag, name }) => tag !== '@param' || parameters.some((parameter) => parameter.name === name),
  )
  return comment
}

/** What a function says that is the value of a property is said of the property. */
function moveToProperty(reflection) {
  const [signature] = reflection.type?.declaration?.signatures ?? []
  if (reflection.kind !== ReflectionKind.Property || reflection.hasComment() || !signature?.hasComment())
    return
  reflection.comment = signature.comment
  delete signature.comment
}

/** The fields that each error has are those of `DodiciError`: the page of all errors says them once. */
function keepOwnMembers(project, error) {
  for (const member of [...(error.children ?? [])])
    if (member.flags.isInherited || member.kind === ReflectionKind.Constructor)
      project.removeReflection(member)
}

/** Which class a member comes from, and what it overrides, is of no use to a reader; the class often has no page. */
function withoutOrigins(project) {
  for (const reflection of Object.values(project.reflections)) {
    for (const field of ['inheritedFrom', 'overwrites', 'implementationOf']) delete reflection[field]
    for (const list of ['extendedTypes', 'implementedTypes', 'extendedBy', 'implementedBy']) {
      const types = reflection[list]?.filter((type) => type.reflection !== undefined)
      if (types === undefined || types.length === 0) delete reflection[list]
      else reflection[list] = types
    }
    if (reflection.extendedTypes === undefined && reflection.extendedBy === undefined)
      delete reflection.typeHierarchy
  }
}

/**
 * @param {import('typedoc').ProjectReflection} project
 * @returns {{ text: string, collapsed: boolean, items: { text: string, link: string }[] }[]} a group of the sidebar for each kind of each entry
 */
export function toGroupsOf(project) {
  return (project.children ?? []).flatMap((entry) =>
    (entry.groups ?? []).map(({ title, children }) => ({
      text: `${entry.name}: ${title.toLowerCase()}`,
      collapsed: title !== 'Classes' && title !== 'Functions',
      items: children.map((child) => ({ text: child.name, link: `/reference/${toPageName(child)}` })),
    })),
  )
}
