import type { Store } from '../store.ts'

/** Cents per million tokens. */
export interface TokenPrice {
  readonly input: number
  readonly output: number
}

/** Returns a share of the present price of a catalog model; undefined if it has no price by token. */
export function tokenPriceOf(store: Store, model: string, share: number): TokenPrice | undefined {
  const serverless = store.hardware.get(model)?.hardware.find(one => one.type === 'serverless')
  if (serverless?.type !== 'serverless') return undefined
  const { cents_per_million_input_tokens: input, cents_per_million_output_tokens: output } = serverless.pricing
  return { input: input * share, output: output * share }
}
