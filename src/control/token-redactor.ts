import type { Simulator } from '../simulator/simulator.ts'

/** Returns a function that shortens the API tokens in a text: the path of a request may contain one. */
export function tokenRedactor(sim: Simulator): (text: string) => string {
  const { store, apiTokens } = sim.world
  const values = [...store.tokens.all().map(({ token }) => token), ...apiTokens.formerValues]
  return text => values.reduce((rest, value) => rest.replaceAll(value, `…${value.slice(-4)}`), text)
}
