import * as z from 'zod'
import type { AggregatorModel } from '../../data/records/catalog.ts'
import { oncePer } from '../../lib/once.ts'
import { documented } from '../endpoint.ts'
import { AggregatorEntry } from '../records.ts'
import { JsonText } from '../results.ts'

export const listAggregatorModels = documented({
  route: 'GET /aggregator/models',
  summary: 'List the catalog models in the format of an aggregator',
  assumptions: [
    'the path starts with the literal /aggregator',
    'prices are decimal strings in USD per token',
    "deprecation_date is '' for a model that is not deprecated",
    'aggregator maps strings to strings',
  ],
  auth: 'none',
  returns: z.object({ data: z.array(AggregatorEntry) }),
  handle: ({ world }) => new JsonText(toListJson(world.store.aggregator.all())),
})

const toListJson = oncePer((data: readonly AggregatorModel[]) => JSON.stringify({ data }))
