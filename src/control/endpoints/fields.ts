import * as z from 'zod'
import { ERROR_SHAPES } from '../../service/endpoint.ts'
import { vocabularyOf } from '../../service/naming/vocabulary.ts'
import { SECTIONS } from '../../service/naming/word-sections.ts'
import { CONTROL_PROVENANCE, control } from '../endpoint.ts'

const FieldList = z.array(
  z.object({
    field: z.string().describe('As in config.gpu'),
    words: z.array(z.string()).describe('The words that the field is one of; empty if it may be others'),
  }),
)

export const getFields = control({
  ...CONTROL_PROVENANCE,
  route: 'GET /_sim/fields',
  summary:
    'List what a names profile can name: records with their fields and words, operations with the fields outside of ' +
    'records, words of paths, headers, tags and error shapes. The names are neutral',
  returns: z.object({
    records: z.array(z.object({ record: z.string(), fields: FieldList })),
    operations: z.array(z.object({ operation: z.string(), route: z.string(), fields: FieldList })),
    paths: z.array(z.string()),
    headers: z.array(z.string()),
    variants: z.array(z.string()),
    tags: z.array(z.string()),
    error_shapes: z.array(z.enum(ERROR_SHAPES)),
  }),
  handle: ({ sim }) => {
    const { fields, routes } = vocabularyOf(sim.api.operations)
    const byOwner = new Map<string, { field: string; words: string[] }[]>()
    for (const { place, words } of fields.values()) {
      const dot = place.indexOf('.')
      const owner = place.slice(0, dot)
      byOwner.set(owner, [...(byOwner.get(owner) ?? []), { field: place.slice(dot + 1), words: [...words] }])
    }
    const records = [...byOwner.keys()].filter(owner => !routes.has(owner)).sort()
    return {
      records: records.map(record => ({ record, fields: byOwner.get(record)! })),
      operations: Array.from(routes, ([operation, route]) => ({
        operation,
        route,
        fields: byOwner.get(operation) ?? [],
      })),
      paths: [...SECTIONS.paths.words],
      headers: [...SECTIONS.headers.words],
      variants: [...SECTIONS.variants.words],
      tags: [...new Set(sim.world.store.models.all().flatMap(({ tags }) => tags))].sort(),
      error_shapes: [...ERROR_SHAPES],
    }
  },
})
