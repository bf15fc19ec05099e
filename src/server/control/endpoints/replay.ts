import * as z from 'zod'
import { LIMITS } from '../../../lib/limits.ts'
import { refuse } from '../../../service/refusals.ts'
import type { StepLines } from '../../../simulator/history/lines.ts'
import { ServedReplay } from '../../../simulator/history/replay/served-replay.ts'
import { CONTROL_PROVENANCE, control, refuseInvalid } from '../endpoint.ts'

const Position = z.tuple([z.number(), z.int()])

const LINE_KINDS = ['request', 'step', 'waits', 'ready', 'end', 'read', 'answer', 'action', 'digest']

export const replayLine = control({
  ...CONTROL_PROVENANCE,
  route: 'POST /_sim/replay',
  summary:
    'Perform a line of a recording in this world: its events, then its step. The command `replay --url` sends it. ' +
    '`begin` comes first, with the position and the snapshot. The answer has what differs, or null',
  example: { body: { begin: { at: [0, 0], journal: 0 } } },
  maxBodyValues: LIMITS.worldBodyValues,
  refusals: { 400: 'a line before begin, a second begin, a world that is recorded, or an invalid line' },
  body: z.strictObject({
    begin: z.strictObject({ at: Position, snapshot: z.string().optional(), journal: z.int() }).optional(),
    line: z.looseObject({ at: Position }).optional(),
    paced: z.boolean().optional(),
  }),
  returns: z.object({
    difference: z.object({ subject: z.string(), recorded: z.string(), replayed: z.string() }).nullable(),
  }),
  handle: async ({ body: { begin, line, paced = false }, sim }) => {
    if (begin !== undefined) {
      await refuseInvalid(() => ServedReplay.begin(sim, begin.at, begin.snapshot, begin.journal))
    }
    if (line === undefined) return { difference: null }
    if (!LINE_KINDS.some(kind => kind in line)) {
      refuse(400, `Failed to replay: the line has an unknown kind. Give one of ${LINE_KINDS.join(', ')}.`)
    }
    const { observer } = sim
    if (!(observer instanceof ServedReplay)) {
      refuse(400, 'Failed to replay: the world has no replay. Send begin first, as the command replay --url does.')
    }
    const difference = await refuseInvalid(() => observer.perform(line as unknown as StepLines, paced))
    return { difference: difference ?? null }
  },
})
