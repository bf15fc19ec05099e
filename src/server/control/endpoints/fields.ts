import * as z from 'zod'
import { fieldsOf } from '../../../lib/fields.ts'
import { ERROR_SHAPES, type Operations } from '../../../service/endpoint.ts'
import { HEADER_WORDS, PATH_WORDS, VARIANT_WORDS } from '../../../service/naming/sections.ts'
import { vocabularyOf } from '../../../service/naming/vocabulary.ts'
import { control } from '../endpoint.ts'

const FieldList = z.array(
  z.object({
    field: z.string().describe('As in config.gpu'),
    words: z.array(z.string()).describe('The words that the field is one of; empty if it may be others'),
  }),
)

export const getFields = control({
  route: 'GET /_sim/fields',
  summary:
    'List what a names profile can name: records with their fields and words, operations with the fields outside of ' +
    'records, words of paths, headers, tags and error shapes. The names are neutral',
  returns: z.object({
    records: z.array(z.object({ record: z.string(), fields: FieldList })),
    operations: z.array(z.object({ operation: z.string(), route: z.string(), fields: FieldList })),
    ...fieldsOf(z.array(z.string()), 'paths', 'headers', 'variants', 'tags'),
    error_shapes: z.array(z.enum(ERROR_SHAPES)),
  }),
  handle: ({ sim }) => {
    const operations = Object.entries(sim.api.operations as Operations<unknown>)
    const byOwner = new Map<string, { field: string; words: string[] }[]>()
    for (const [place, words] of vocabularyOf(sim.api.operations)) {
      const dot = place.indexOf('.')
      const owner = place.slice(0, dot)
      byOwner.set(owner, [...(byOwner.get(owner) ?? []), { field: place.slice(dot + 1), words: [...words] }])
    }
    const records = [...byOwner.keys()].filter(owner => !Object.hasOwn(sim.api.operations, owner)).sort()
    return {
      records: records.map(record => ({ record, fields: byOwner.get(record)! })),
      operations: operations.map(([operation, { route }]) => ({
        ...{ operation, route },
        fields: byOwner.get(operation) ?? [],
      })),
      paths: Object.keys(PATH_WORDS),
      headers: [...HEADER_WORDS],
      variants: [...VARIANT_WORDS],
      tags: [...new Set(sim.world.store.models.all().flatMap(({ tags }) => tags))].sort(),
      error_shapes: [...ERROR_SHAPES],
    }
  },
})
