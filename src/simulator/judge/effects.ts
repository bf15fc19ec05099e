/** The net effect of a client: what its requests changed in the world, less what they undid. */

import type { JournalEntry } from '../simulator-interface.ts'
import type { Conduct, CreatedThing, Effect, ObservedRequest } from './observation.ts'

/** Parts of things, and notes about them: no effects that a client asked for. */
const PARTS = /^(?:instance|model|request|fault|webhook)\./
const SETTINGS = /\.(?:set|resized|renamed|edited|allowed|described|requested|expanding)$/
const ORDERS = /\.(?:stopping|stopped|starting|cancelling|cancelled)$/

/** Returns the effects of the requests of a client by their keys, which are equal in other runs. */
export function effectsOf(
  { sim }: Pick<Conduct, 'sim'>,
  bySeq: ReadonlyMap<number, ObservedRequest>,
): ReadonlyMap<string, Effect> {
  const effects = new Map<string, Effect>()
  const keys = new Map<string, string>()
  for (const entry of sim.journal.entries()) {
    const request = bySeq.get(entry.cause)
    if (request === undefined || PARTS.test(entry.kind)) continue
    const [topic = '', verb = ''] = entry.kind.split('.')
    const noun = topic === 'ownRecord' ? `${entry.fields?.kind} record` : topic
    const id = idIn(entry)
    const touch = (what: string, name: string): Effect => {
      const key = `${what} ${name}`
      const effect = effects.get(key) ?? { what, name, made: 0, deleted: 0, value: undefined, request, id }
      Object.assign(effect, { request, id })
      effects.set(key, effect)
      return effect
    }
    const name = nameIn(entry) ?? keys.get(id) ?? id
    if (verb === 'created' || verb === 'added') {
      keys.set(id, name)
      touch(noun, name).made += typeof entry.fields?.cents === 'number' ? entry.fields.cents : 1
    } else if (verb === 'deleted') touch(noun, name).deleted++
    else if (SETTINGS.test(entry.kind)) touch(entry.kind, keys.get(id) ?? '').value = JSON.stringify(entry.fields)
    else if (ORDERS.test(entry.kind)) touch(`${noun} order`, name).value = verb.slice(0, 4)
  }
  return effects
}

function idIn({ subject, fields }: JournalEntry): string {
  const [, id] = Object.entries(fields ?? {}).find(([name]) => name.endsWith('_id') && !name.startsWith('input')) ?? []
  return typeof id === 'string' && !/^plan/.test(id) ? id : subject
}

function nameIn({ kind, fields = {} }: JournalEntry): string | undefined {
  if (!/\.(?:created|added)$/.test(kind)) return undefined
  const { name, model_name, filename, endpoint } = fields as Readonly<Record<string, unknown>>
  const found = name ?? model_name ?? filename ?? endpoint
  return typeof found === 'string' ? found : ''
}

/** Returns the effects of the run without faults that this run lacks, in words by effect. */
export function missingEffects(
  effects: ReadonlyMap<string, Effect>,
  usual: ReadonlyMap<string, Effect>,
  created: readonly CreatedThing[],
): readonly { readonly effect: Effect; readonly words: string }[] {
  return [...usual].flatMap(([key, effect]) => {
    const now = effects.get(key)
    const label = effect.name === '' || effect.name === effect.id ? effect.what : `${effect.what} '${effect.name}'`
    if (effect.value !== undefined) {
      const isOver = created.some(({ id, isAlive }) => id === now?.id && !isAlive)
      return now?.value === effect.value || isOver ? [] : [{ effect, words: `${label} did not happen` }]
    }
    // A client may give another name to what it creates again.
    const { made, deleted } = totalOf(effects, effect.what)
    const before = totalOf(usual, effect.what)
    if (deleted < before.deleted && made - deleted > before.made - before.deleted) {
      const isGone = created.some(({ id, isAlive }) => id === now?.id && !isAlive)
      return isGone ? [] : [{ effect, words: `${label} was not deleted` }]
    }
    if (made - deleted >= before.made - before.deleted) return []
    return [{ effect, words: `${label} is there ${made - deleted} times in place of ${before.made - before.deleted}` }]
  })
}

/** Adds up what was made and deleted of a kind, under any names. */
function totalOf(effects: ReadonlyMap<string, Effect>, what: string): Pick<Effect, 'made' | 'deleted'> {
  const ofKind = [...effects.values()].filter(effect => effect.what === what)
  const sum = (field: 'made' | 'deleted') => ofKind.reduce((total, effect) => total + effect[field], 0)
  return { made: sum('made'), deleted: sum('deleted') }
}

/** Returns the effects that happened more often than without faults, and that no other rule looks at. */
export function extraEffects(
  effects: ReadonlyMap<string, Effect>,
  usual: ReadonlyMap<string, Effect>,
): readonly (Effect & { readonly usual: number })[] {
  const kinds = new Map([...effects.values()].map(effect => [effect.what, effect]))
  return [...kinds.values()].flatMap(effect => {
    const { what } = effect
    const isOther = /^(?:file|scopedToken|deployment|adapter|hosted|container|batch)$| record$/.test(what)
    const [now, before] = [totalOf(effects, what), totalOf(usual, what)]
    const isMore = now.made - now.deleted > before.made - before.deleted
    return isOther || before.made === 0 || !isMore ? [] : [{ ...effect, ...now, usual: before.made - before.deleted }]
  })
}
