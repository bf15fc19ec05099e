import fc from 'fast-check'
import { expect, test } from 'vitest'
import { forAll } from '../../../setup/for-all.ts'
import { call, MODEL, onlyWords, violationsOf } from '../../clients.ts'
import { type Client, observe } from '../../observe.ts'

const failing: Client = context => call(context, 'GET', '/deploy/missing')

test('a client that prints method, path and status holds it', async () => {
  const observation = await observe(async context => {
    context.print('GET /deploy/missing: 404')
    return failing(context)
  })
  expect(violationsOf('noSecretsLogged', observation)).toEqual([])
})

const base64 = (text: string) => Buffer.from(text).toString('base64')

test.each<[string, (token: string) => string]>([
  ['as it is', token => token],
  ['as Authorization', token => `authorization: Bearer ${token}`],
  ['in base64', base64],
  ['in base64 after one byte', token => base64(`u${token}`)],
  ['in base64 as a password', token => base64(`user:${token}:x`)],
])('a token that is printed %s breaks it, and the words do not repeat it', async (_, format) => {
  const observation = await observe(async context => {
    context.print(`failed with ${format(context.token)}`)
    return failing(context)
  })
  const words = onlyWords('noSecretsLogged', observation)
  expect(words).toMatch(/^The client printed the API token '.+'( in base64)?\. The last failed request before was /)
  expect(words).not.toContain(observation.sim.token)
})

test('a token within the thrown error breaks it', async () => {
  const observation = await observe(async ({ token }) => {
    const request = { headers: new Headers({ authorization: `Bearer ${token}` }) }
    throw Object.assign(new Error('failed', { cause: new Error('inner') }), { request })
  })
  expect(onlyWords('noSecretsLogged', observation)).toMatch(
    /^The client threw the API token '.+': it is in the field 'authorization' of the error\.$/,
  )
})

test('a hub token that the client sends is a secret too', async () => {
  const observation = await observe(async context => {
    const hub = { ...MODEL.hub, token: 'hf_secret_of_the_hub' }
    context.print(JSON.stringify(hub))
    return call(context, 'POST', '/deploy/llm', { ...MODEL, hub })
  })
  expect(onlyWords('noSecretsLogged', observation)).toContain('The client printed the hub token of /deploy/llm.')
})

test('base64 of any text with the token in it breaks it, base64 of other texts does not', async () => {
  const observation = await observe(async () => 'done')
  const { token } = observation.sim
  const countIn = (text: string) =>
    violationsOf('noSecretsLogged', { ...observation, output: `x ${base64(text)} y` }).length
  forAll([fc.string(), fc.string()], (before, after) => {
    expect(countIn(before + token + after)).toBe(1)
    expect(countIn(before + token.slice(0, -2) + after)).toBe(0)
  })
})
