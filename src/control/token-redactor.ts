import type { Simulator } from '../simulator/simulator.ts'

/** A scoped token in a text. The colon of a query can be escaped. */
const SCOPED_TOKEN = /jwt(?::|%3A)[\w-]+\.[\w-]+\.[\w-]*([\w-]{4})/gi

/** Returns a function that shortens the API tokens in a text: the path of a request may contain one. */
export function tokenRedactor(sim: Simulator): (text: string) => string {
  const { store, apiTokens } = sim.world
  const values = [...store.tokens.all().map(({ token }) => token), ...apiTokens.formerValues]
  return text =>
    values
      .reduce((rest, value) => rest.replaceAll(value, `…${value.slice(-4)}`), text)
      .replaceAll(SCOPED_TOKEN, (_, end: string) => `jwt:…${end}`)
}
