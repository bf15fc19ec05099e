/** Nothing of a world is forgotten by a snapshot: whoever has state says so, and the world asks everybody. */
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { CLASSES_ARCHIVED_BY_FIELDS, CLASSES_ARCHIVED_BY_PARTS } from '../../src/simulation/archived-classes.ts'

const SOURCE = resolve(import.meta.dirname, '../../src')

/** What is no state: made anew, or of the journal, which a snapshot has empty as a fork does. */
const NOT_KEPT: Readonly<Record<string, readonly string[]>> = {
  Table: ['generation'],
  Index: ['listeners', 'all', 'byUnique'],
  Store: ['variants'],
  Journal: [
    ...['next', 'times', 'causes', 'kindOf', 'subjects', 'fieldsOf', 'kinds', 'listeners'],
    // The hash of the row that an event is happening to.
    ...['h0', 'h1', 'h2', 'h3'],
  ],
  // What was told last.
  Clock: ['toldAt', 'told'],
  // JSON that was made before.
  Deployments: ['texts'],
  Batches: ['texts'],
  // What follows from its table, and the doors that hold clients.
  Inference: ['inFlight', 'queues', 'onInstance', 'onDeployment', 'calls'],
  NumberLog: ['width', 'most'],
  World: ['loop', 'causeIsFresh', 'visibleChanges', 'watch'],
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

function kept({ body }: Class): string | undefined {
  return /^ {2}#?archive\(archive: Archive\): void \{\n([\s\S]*?)^ {2}\}/m.exec(body)?.[1]
}

function fieldsOf({ body }: Class): string[] {
  return Array.from(body.matchAll(/^ {2}(?:readonly )?#(\w+)(?:[?!]?:| =)/gm), ([, name]) => name!)
}

test('who can be forked can be kept', () => {
  const forgotten = classes.filter(one => /^ {2}fork\(/m.test(one.body) && kept(one) === undefined)
  expect(
    forgotten.map(({ file, name }) => `${file}: ${name}`),
    'give it archive(archive), as its neighbours have, and have the world call it',
  ).toEqual([])
  expect(classes.filter(one => kept(one) !== undefined).length).toBeGreaterThan(20)
})

test('who is kept is kept with every field', () => {
  const forgotten = classes.flatMap(one => {
    const body = kept(one)
    if (body === undefined) return []
    return fieldsOf(one)
      .filter(field => field !== 'world' && !NOT_KEPT[one.name]?.includes(field))
      .filter(field => !new RegExp(`this\\.#${field}(\\.archive\\(archive\\)| = .*archive\\.value\\()`).test(body))
      .map(field => `${one.file}: #${field}`)
  })
  expect(forgotten, 'name it in archive(archive), or above where it is no state').toEqual([])
})

test('the world keeps everybody that it has', () => {
  const world = classes.find(({ name }) => name === 'World')!
  const keepable = new Set(classes.filter(one => kept(one) !== undefined).map(({ name }) => name))
  const members = Array.from(world.body.matchAll(/^ {2}readonly (\w+): (\w+)$/gm), ([, field, type]) => ({
    field,
    type,
  }))
  const forgotten = members.filter(
    ({ field, type }) => keepable.has(type!) && !kept(world)!.includes(`this.${field}.archive(archive)`),
  )
  expect(forgotten).toEqual([])
})

test('every row, and whatever else a row leads to, has its class among those that are kept', () => {
  const rows = classes.filter(({ parent }) => parent === 'Row').map(({ name }) => name)
  expect(
    rows.filter(name => !(name in CLASSES_ARCHIVED_BY_FIELDS)),
    'name it in src/cluster/kept-classes.ts',
  ).toEqual([])
  for (const [name, of] of Object.entries(CLASSES_ARCHIVED_BY_FIELDS)) expect((of as { name: string }).name).toBe(name)
  for (const [name, { of }] of Object.entries(CLASSES_ARCHIVED_BY_PARTS))
    expect((of as { name: string }).name).toBe(name)
})
