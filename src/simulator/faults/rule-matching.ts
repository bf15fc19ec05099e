/** Decides which requests a fault rule matches, and for which of them its trigger fires. */
import { type Micros, micros } from '../../kernel/duration.ts'
import { type EntityKey, purpose } from '../../kernel/random.ts'
import { globOf } from '../../lib/patterns.ts'
import { isCredential } from '../../lib/text/secrets.ts'
import { KEY_HEADERS } from '../../service/http/authentication.ts'
import * as multipart from '../../service/http/bodies/multipart.ts'
import type { RequestContext } from '../../service/http/request-context.ts'
import { toCanonicalPath } from '../../service/http/router.ts'
import type { World } from '../../simulation/world.ts'
import type { FaultView } from './fault-controls.ts'
import { MODEL_FIELDS } from './model-fields.ts'
import type { ParsedRule } from './rules.ts'

const TRIGGER = purpose('fault.trigger')

/** A rule and its counts. It is immutable: a change replaces it. */
export interface ArmedRule extends ParsedRule, Pick<FaultView, 'id' | 'matches' | 'hits'> {
  readonly key: EntityKey
  readonly isArmed: boolean
  /** When the fault of the nth match ends; undefined before that match, and for a rule without `for`. */
  readonly continuesUntil?: Micros
}

/** The fields of a body that rules compare. A body is read only if a rule needs it. */
export type RequestFields = Readonly<Record<string, unknown>>

/** Returns whether a rule is armed and in its time window. */
function isActive({ isArmed, from, until }: ArmedRule, now: Micros): boolean {
  return isArmed && now >= from && now < until
}

/** Counts one more match of each active rule that matches, and one more hit of the first one whose trigger fires. */
export function countMatches(
  rules: readonly ArmedRule[],
  world: World,
  isMatch: (rule: ArmedRule) => boolean,
): { readonly rules: readonly ArmedRule[]; readonly triggered: ArmedRule | undefined } {
  const { now } = world.clock
  let triggered: ArmedRule | undefined
  const counted = rules.map(rule => {
    if (!isActive(rule, now) || !isMatch(rule)) return rule
    const matched = countMatch(rule, now)
    if (triggered !== undefined || !isTriggered(matched, world)) return matched
    triggered = { ...matched, hits: rule.hits + 1 }
    return triggered
  })
  return { rules: counted, triggered }
}

/** Returns the rule after one more match. */
function countMatch(rule: ArmedRule, now: Micros): ArmedRule {
  const counted = { ...rule, matches: rule.matches + 1 }
  const { nth, for: time } = rule.rule
  return time === undefined || counted.matches !== nth ? counted : { ...counted, continuesUntil: now + micros(time) }
}

/** Returns whether the trigger of a rule fires for the request that it just counted. */
function isTriggered(armed: ArmedRule, world: World): boolean {
  const { rule, hits, matches, continuesUntil = 0 } = armed
  const { times, nth, every, chance } = rule
  if (times !== undefined) return hits < times
  if (nth !== undefined) return matches === nth || world.clock.now < continuesUntil
  if (every !== undefined) return matches % every === 0
  return chance === undefined || drawTrigger(armed, world) < chance
}

/** Returns the number in [0, 1) by which a rule with a chance decides about the request that it just counted. */
export function drawTrigger({ key, matches }: Pick<ArmedRule, 'key' | 'matches'>, world: World): number {
  return world.chance.unit(key, TRIGGER, matches)
}

/** Returns whether a request has the path, token, deployment and model of a rule. */
export function matches({ rule }: ArmedRule, context: RequestContext<World>, body: RequestFields): boolean {
  const { path, token, model, deployment } = rule
  const { params, search } = context
  if (path !== undefined && !globOf(path)(toCanonicalPath(context.path) ?? context.path)) return false
  if (token !== undefined) {
    const bearer = context.header('authorization')?.replace(/^Bearer\s+/i, '')
    const sent = [bearer, ...KEY_HEADERS.map(name => context.header(name))]
    if (!sent.some(value => value != null && isCredential(token, value))) return false
  }
  if (deployment !== undefined && !matchesName(deployment, params.deploy_id)) return false
  if (model === undefined) return true
  const query = new URLSearchParams(search)
  const given = [params.model_name, query.get('model'), ...MODEL_FIELDS.map(field => body[field])]
  return given.some(one => matchesName(model, one))
}

/**
 * Returns whether a name matches the pattern of a rule. A name may lack its owner, as in the service. A pattern without an
 * owner matches the model of any owner.
 */
export function matchesName(pattern: string, name: unknown): boolean {
  if (typeof name !== 'string' || name === '') return false
  const matchesPattern = globOf(pattern)
  if (matchesPattern(name)) return true
  const nameStart = name.lastIndexOf('/') + 1
  if (nameStart === 0) return pattern.endsWith(`/${name}`)
  return !pattern.includes('/') && matchesPattern(name.slice(nameStart))
}

/** Returns the fields of a JSON body, or the text fields of an upload; none for another body. */
export async function readFields(request: Request): Promise<RequestFields> {
  try {
    const contentType = request.headers.get('content-type')
    if (contentType?.startsWith('multipart/')) {
      const form = await multipart.readForm(request.clone() as Request, contentType)
      return 'fields' in form ? form.fields : {}
    }
    const body: unknown = await request.clone().json()
    return typeof body === 'object' && body !== null ? (body as RequestFields) : {}
  } catch {
    // An invalid body names no model. Its endpoint rejects it.
    return {}
  }
}
