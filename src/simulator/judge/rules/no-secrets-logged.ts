import { encodeBase64 } from '../../../lib/bytes.ts'
import { violationAt, walk } from '../facts.ts'
import type { Observation, ObservedRequest } from '../observation.ts'
import { defineRule, type Violation } from '../rule.ts'
import { nameRequest, pathOf, quoteText } from '../words.ts'

/** Shorter values could be words of their own. */
const MIN_SECRET = 6

interface Secret {
  readonly name: string
  readonly value: string
}

/**
 * No secret is part of the output of the client, or of the error that it throws: its message, its stack, its causes and
 * its own fields. Secrets are the API tokens of the world, also as `Authorization` value and in base64, and the hub
 * tokens that the client sends. Secrets of fewer than 6 characters are ignored. The words never repeat a secret.
 */
export const noSecretsLogged = defineRule({
  summary: 'The output and the error of the client contain no API token and no hub token.',
  advice: 'Log method, path and status, never headers or bodies as they are. Replace tokens before you print.',
  place: 'operation',
  premise: ({ end, output }) => output !== '' || end.kind === 'threw',
  otherwise: 'it printed nothing and threw nothing',
  check(observation) {
    const secrets = secretsOf(observation)
    const inOutput = findSecret(observation.output, secrets)
    const inError = observation.end.kind === 'threw' ? findInError(observation.end.error, secrets) : undefined
    const violations: Violation[] = []
    if (inOutput) violations.push(toViolation(observation, `The client printed ${inOutput.name}.`, 'printed'))
    if (inError) {
      const place = inError.place === '' ? 'the thrown value' : `the field ${quoteText(inError.place)} of the error`
      violations.push(toViolation(observation, `The client threw ${inError.name}: it is in ${place}.`, 'threw'))
    }
    return violations
  },
})

function toViolation({ requests }: Observation, words: string, verb: 'printed' | 'threw'): Violation {
  const failed = requests.findLast(({ outcome, status }) => outcome !== 'answered' || status >= 400)
  const last = verb === 'threw' ? (failed ?? requests.at(-1)) : (failed ?? requests[0])
  const context = failed ? ` The last failed request before was ${nameRequest(failed)}.` : ''
  return violationAt(last, `${words}${context}`)
}

function findInError(error: unknown, secrets: readonly Secret[]): { name: string; place: string } | undefined {
  let found: { name: string; place: string } | undefined
  walk(error, (value, key) => {
    if (found !== undefined) return false
    const secret = typeof value === 'string' ? findSecret(value, secrets) : undefined
    if (secret !== undefined) found = { name: secret.name, place: key }
    return undefined
  })
  return found
}

function findSecret(text: string, secrets: readonly Secret[]): Secret | undefined {
  if (text === '') return undefined
  return secrets.find(({ value }) => text.includes(value))
}

/** Returns the secrets in each of their forms. */
function secretsOf({ sim, requests }: Observation): Secret[] {
  const tokens = sim.world.store.tokens
    .all()
    .map(({ name, token }) => ({ name: `the API token '${name}'`, value: token }))
  const hubTokens = requests.flatMap(request =>
    hubTokensOf(request).map(value => ({ name: `the hub token of ${pathOf(request)}`, value })),
  )
  return [...tokens, ...hubTokens]
    .filter(({ value }) => value.length >= MIN_SECRET)
    .flatMap(({ name, value }) => [
      { name, value },
      ...base64Forms(value).map(form => ({ name: `${name} in base64`, value: form })),
    ])
}

function hubTokensOf({ body }: ObservedRequest): string[] {
  const tokens: string[] = []
  if (typeof body !== 'object' || body === null) return tokens
  walk(body, (value, key) => {
    if (key === 'token' && typeof value === 'string') tokens.push(value)
    return undefined
  })
  return tokens
}

/** Returns what base64 has of a value at each of the three places where the value can begin within a longer text. */
function base64Forms(value: string): string[] {
  const bytes = new TextEncoder().encode(value)
  return [0, 1, 2].map(offset => {
    const padded = new Uint8Array(offset + bytes.length)
    padded.set(bytes, offset)
    const encoded = encodeBase64(padded)
    // Characters at both ends also depend on the neighbours of the value.
    const from = Math.ceil((offset * 8) / 6)
    const to = Math.floor((padded.length * 8) / 6)
    return encoded.slice(from, to)
  })
}
