/** Families of catalog models: models of one design in several sizes. They follow from the catalog. */

import * as z from 'zod'
import type { CatalogModel } from '../../data/records/catalog.ts'
import { PRICING_TYPES, PricingAnswer } from '../../data/records/pricing.ts'
import { isDeprecated } from '../../simulation/deployments/model-lookup.ts'
import type { World } from '../../simulation/world.ts'
import { recordSchema, rowsOf } from '../fields.ts'

export const ModelFamily = recordSchema('ModelFamily', {
  name: z.string(),
  title: z.string(),
  description: z.string(),
  developer: z.string(),
  meta_title: z.string().nullable(),
  meta_description: z.string().nullable(),
  featured_models: z.array(z.string()),
  pp_sections_out: rowsOf({
    section_id: z.string(),
    ptype: z.enum(PRICING_TYPES),
    title: z.string(),
    description: z.string(),
    mf_description: z.string(),
    entries: rowsOf({
      model_name: z.string(),
      short_name: z.string(),
      max_tokens: z.int().nullable(),
      pricing: PricingAnswer,
    }),
  }),
  faq_entries: rowsOf({ faq_id: z.string(), question: z.string(), answer: z.string(), order: z.int() }),
})

/** Returns the name of the family of a catalog model. */
function familyName({ family, model_name }: CatalogModel): string {
  if (family !== undefined) return family
  const name = model_name.slice(model_name.indexOf('/') + 1)
  return name.split(/[-_.:]/, 1)[0] || name
}

/** Returns the names of all families, sorted. */
export function listFamilyNames({ store }: World): readonly string[] {
  return [...new Set(store.models.all().map(familyName))].sort()
}

/** Returns a family by its name; undefined if no catalog model belongs to it. */
export function findFamily({ store, clock }: World, name: string): z.input<typeof ModelFamily> | undefined {
  const members = store.models.all().filter(model => familyName(model) === name)
  const [first] = members
  if (first === undefined) return undefined
  const current = members.filter(model => !isDeprecated(model, clock))
  const pricingTypes = [...new Set(current.map(({ pricing }) => pricing.type))]
  return {
    name,
    title: toTitle(name),
    description: describe(name),
    developer: first.model_name.slice(0, first.model_name.indexOf('/')),
    meta_title: null,
    meta_description: null,
    featured_models: current.filter(({ featured }) => featured).map(({ model_name }) => model_name),
    pp_sections_out: pricingTypes.map(ptype => ({
      section_id: ptype,
      ptype,
      title: `${toTitle(name)} by ${ptype.replaceAll('_', ' ')}`,
      description: '',
      mf_description: describe(name),
      entries: current
        .filter(({ pricing }) => pricing.type === ptype)
        .map(({ model_name, max_tokens, pricing }) => ({
          model_name,
          short_name: model_name.slice(model_name.indexOf('/') + 1),
          max_tokens,
          pricing,
        })),
    })),
    faq_entries: [],
  }
}

/** Returns the fields of the record of a model that name its family. */
export function toFamilyFields(model: CatalogModel) {
  const name = familyName(model)
  return { mf_name: name, mf_title: toTitle(name), mf_description: describe(name) }
}

function toTitle(name: string): string {
  return `${name.charAt(0).toUpperCase()}${name.slice(1)}`
}

function describe(name: string): string {
  return `The ${toTitle(name)} family of models.`
}
