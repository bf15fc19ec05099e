import { micros } from '../../kernel/duration.ts'
import type { CommandTable } from './command-definition.ts'

/** Commands to the public catalog of models. */
export const CATALOG_COMMANDS = {
  'model.deprecate': {
    target: 'model',
    undo: 'model.restore',
    description: 'the catalog shows a date of deprecation at once; new requests are refused from that date on',
    args: { after: { kind: 'duration', optional: true } },
    apply: (world, model, { after }) =>
      world.catalog.deprecate(model, after === undefined ? 0 : micros(after as string)),
  },
  'model.restore': {
    target: 'model',
    undo: 'model.deprecate',
    description: 'the model is current, without a date of deprecation',
    apply: (world, model) => world.catalog.restore(model),
  },
  'model.addVersion': {
    target: 'model',
    undo: undefined,
    description: 'the model has a newer version',
    apply: (world, model) => world.catalog.addVersion(model),
  },
  'model.setInputPrice': {
    target: 'model',
    undo: undefined,
    description: 'a million input tokens of new requests and batches cost so many cents',
    args: { cents: { kind: 'centsPerMillion' } },
    apply: (world, model, { cents }) => world.catalog.setPrice(model, 'input', Number(cents)),
  },
  'model.setOutputPrice': {
    target: 'model',
    undo: undefined,
    description: 'a million output tokens of new requests and batches cost so many cents',
    args: { cents: { kind: 'centsPerMillion' } },
    apply: (world, model, { cents }) => world.catalog.setPrice(model, 'output', Number(cents)),
  },
} as const satisfies CommandTable
