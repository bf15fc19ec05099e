import * as z from 'zod'
import type { AggregatorModel } from '../../data/records/records.ts'
import { endpoint, JsonText } from '../endpoint.ts'
import { AggregatorEntry } from '../records.ts'

export const listAggregatorModels = endpoint({
  route: 'GET /aggregator/models',
  summary: 'The models as an aggregator lists them',
  provenance: 'documented',
  assumptions: [
    'the path begins with /aggregator literally',
    'prices are decimal strings in USD per token',
    "deprecation_date is '' when there is none",
    'aggregator is a map of strings',
  ],
  auth: 'none',
  returns: z.object({ data: z.array(AggregatorEntry) }),
  handle: ({ world }) => new JsonText(toListJson(world.store.aggregator.all())),
})

/** The text of a list, kept as long as the list is: a pure function's memory. */
const cachedJson = new WeakMap<readonly AggregatorModel[], string>()

function toListJson(data: readonly AggregatorModel[]): string {
  let text = cachedJson.get(data)
  if (text === undefined) {
    text = JSON.stringify({ data })
    cachedJson.set(data, text)
  }
  return text
}
