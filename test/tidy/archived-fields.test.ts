/** A snapshot misses nothing of a world: each part with state archives each of its fields, and the world archives each part. */
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { CLASSES_ARCHIVED_BY_FIELDS, CLASSES_ARCHIVED_BY_PARTS } from '../../src/simulation/archived-classes.ts'

const SOURCE = resolve(import.meta.dirname, '../../src')

/** Fields with the other objects that a part uses. Each of them archives itself. */
const COLLABORATORS: readonly string[] = ['context', 'parts', 'ports', 'models', 'targets']

/** Fields that are not state: derived ones, caches, and the journal's, which is empty in a snapshot and in a fork. */
const NOT_ARCHIVED: Readonly<Record<string, readonly string[]>> = {
  Table: ['generation'],
  Index: ['listeners', 'all', 'byUnique'],
  Store: ['variants'],
  Journal: [
    ...['next', 'times', 'causes', 'kindOf', 'subjects', 'fieldsOf', 'kinds', 'listeners'],
    // The hash of the entry in progress.
    ...['h0', 'h1', 'h2', 'h3'],
  ],
  // Cached texts.
  Clock: ['cachedIsoAt', 'cachedIso'],
  Deployments: ['jsonCache'],
  Batches: ['jsonTexts'],
  // Derived from its table, and the transports that hold clients.
  InferenceRequests: ['inFlight', 'queues', 'onInstance', 'onDeployment', 'handles'],
  NumberLog: ['width', 'limit'],
  // Constants, and the marks of the step in progress.
  SimulationContext: ['eventPriorities', 'nextEntryIsCause', 'visibleChanges'],
  // Joins parts, and belongs to the process.
  World: ['loop', 'tenants', 'attachObserver'],
}

interface Class {
  readonly file: string
  readonly name: string
  readonly parent: string | undefined
  readonly body: string
}

const classes: Class[] = ['kernel', 'data', 'simulation'].flatMap(folder =>
  readdirSync(join(SOURCE, folder), { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.ts'))
    .flatMap(name => classesOf(`${folder}/${name}`, readFileSync(join(SOURCE, folder, name), 'utf8'))),
)

function classesOf(file: string, text: string): Class[] {
  const found = text.matchAll(
    /^(?:export )?(?:abstract )?class (\w+)(?:<[^{]*?>)?(?: extends (\w+))?[^{]*\{\n([\s\S]*?)^\}/gm,
  )
  return Array.from(found, ([, name, parent, body]) => ({ file, name: name!, parent, body: body! }))
}

function archiveBody({ body }: Class): string | undefined {
  return /^ {2}(?:archive|#archiveParts)\(archive: Archive\): void \{\n([\s\S]*?)^ {2}\}/m.exec(body)?.[1]
}

function findClass(name: string): Class {
  const found = classes.find(each => each.name === name)
  if (found === undefined) throw new Error(`Failed to find the class ${name} in src. Rename it here too.`)
  return found
}

function fieldsOf({ body }: Class): string[] {
  return Array.from(body.matchAll(/^ {2}(?:readonly )?#(\w+)(?:[?!]?:| =)/gm), ([, name]) => name!)
}

test('a class can be archived when it can be forked', () => {
  const missing = classes.filter(each => /^ {2}fork\(/m.test(each.body) && archiveBody(each) === undefined)
  expect(
    missing.map(({ file, name }) => `${file}: ${name}`),
    'give it archive(archive), and call it from the world',
  ).toEqual([])
  expect(classes.filter(each => archiveBody(each) !== undefined).length).toBeGreaterThan(20)
})

test('an archived class archives every field', () => {
  const missing = classes.flatMap(each => {
    const body = archiveBody(each)
    if (body === undefined) return []
    return fieldsOf(each)
      .filter(field => !COLLABORATORS.includes(field) && !NOT_ARCHIVED[each.name]?.includes(field))
      .filter(field => !new RegExp(`this\\.#${field}(\\.archive\\(archive\\)| = .*archive\\.value\\()`).test(body))
      .map(field => `${each.file}: #${field}`)
  })
  expect(missing, 'name it in archive(archive), or in NOT_ARCHIVED if it is not state').toEqual([])
})

test('the world archives every part', () => {
  const world = findClass('World')
  const archivable = new Set(classes.filter(each => archiveBody(each) !== undefined).map(({ name }) => name))
  const members = Array.from(world.body.matchAll(/^ {2}readonly (\w+): (\w+)$/gm), ([, field, type]) => ({
    field: field!,
    type: type!,
  })).filter(({ type }) => archivable.has(type))
  expect(members.length).toBeGreaterThan(15)

  const byContext = archiveBody(findClass('SimulationContext'))!
  const missing = members.filter(
    ({ field, type }) =>
      !new RegExp(`this\\.#part\\(\\s*new ${type}\\(`).test(world.body) &&
      !byContext.includes(`this.${field}.archive(archive)`),
  )
  expect(missing).toEqual([])
})

test('every class of rows is registered for the archive', () => {
  const rows = classes.filter(({ parent }) => parent === 'Row').map(({ name }) => name)
  expect(
    rows.filter(name => !(name in CLASSES_ARCHIVED_BY_FIELDS)),
    'name it in src/simulation/archived-classes.ts',
  ).toEqual([])
  for (const [name, of] of Object.entries(CLASSES_ARCHIVED_BY_FIELDS)) expect((of as { name: string }).name).toBe(name)
  for (const [name, { of }] of Object.entries(CLASSES_ARCHIVED_BY_PARTS))
    expect((of as { name: string }).name).toBe(name)
})
