/** Lists of models that need no authentication, and the families of models. */
import * as z from 'zod'
import type { AggregatorModel } from '../../../data/records/catalog.ts'
import { oncePer } from '../../../lib/once.ts'
import { isDeprecated } from '../../../simulation/deployments/model-lookup.ts'
import { documented, neighbour } from '../../endpoint.ts'
import { toModelEntry } from '../../models/catalog-json.ts'
import { findFamily, listFamilyNames, ModelFamily } from '../../models/model-families.ts'
import { listOwnModels, toOwnModelEntry } from '../../models/own-models.ts'
import { AggregatorEntry, ModelEntry } from '../../records.ts'
import { refuse } from '../../refusals.ts'
import { JsonText } from '../../results.ts'

export const listFeaturedModels = neighbour({
  route: 'GET /models/featured',
  summary: 'List the featured models, without authentication',
  assumptions: ['a bare array: the current catalog models with featured true, in the order of the fixture'],
  auth: 'none',
  returns: z.array(ModelEntry),
  handle: ({ world }) =>
    world.store.models
      .all()
      .filter(model => model.featured && !isDeprecated(model, world.clock))
      .map(toModelEntry),
})

export const listLoraModels = neighbour({
  route: 'GET /models/lora/list',
  summary: 'List the public LoRA adapters, without authentication',
  roles: ['show adapter'],
  assumptions: [
    'a bare array of entries as in GET /models/list: the adapters of the account with private 0',
    'GET /v1/user/loras lists all adapters of the account',
  ],
  auth: 'none',
  returns: z.array(ModelEntry),
  handle: ({ world }) =>
    listOwnModels(world)
      .filter(({ type }) => type === 'lora')
      .map(model => toOwnModelEntry(world, model))
      .filter(entry => entry.private === 0),
})

export const listModelFamilies = neighbour({
  route: 'GET /model-families/names',
  summary: 'List the names of the model families, without authentication',
  assumptions: [
    'a bare array, sorted',
    'the family of a catalog model: the field family of the fixture, else the first word of its name, as aurora of aurora-labs/aurora-8b-instruct',
  ],
  auth: 'none',
  returns: z.array(z.string()),
  handle: ({ world }) => [...listFamilyNames(world)],
})

export const getModelFamily = neighbour({
  route: 'GET /model-families/{family_name}',
  summary: 'Get one model family with the prices of its models, without authentication',
  assumptions: [
    'developer: the owner of its first model',
    'pp_sections_out: one section for each pricing type of its current models',
    'faq_entries is empty; meta_title and meta_description are null',
  ],
  refusals: { 404: 'unknown family' },
  auth: 'none',
  returns: ModelFamily,
  example: { target: '/model-families/aurora' },
  handle: ({ params: { family_name }, world }) =>
    findFamily(world, family_name) ?? refuse(404, `no model family ${family_name}`),
})

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
