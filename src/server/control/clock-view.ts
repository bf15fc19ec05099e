/** The clock of a world in responses of the control plane: its mode and its holds. */
import * as z from 'zod'
import { CLOCK_MODES } from '../../simulator/clock/settings.ts'
import type { Simulator } from '../../simulator/simulator.ts'

export const ClockModeSchema = z.object({
  mode: z.enum(CLOCK_MODES),
  speed: z.number().nullable(),
  paused_by: z.array(z.string()),
})

export function clockModeOf({ clock }: Simulator): z.infer<typeof ClockModeSchema> {
  return { mode: clock.mode, speed: clock.speed ?? null, paused_by: [...clock.pausedBy] }
}
