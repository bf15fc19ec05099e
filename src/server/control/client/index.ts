/** What a user may import from `modelhost-sim/client`. */

export { Refusal } from '../../../service/client/refusal.ts'
export type { AnswersByRoute, ControlRoute, FieldsByRoute } from './client.ts'
export { type ControlAddress, type ControlClient, createControlClient } from './client.ts'
export type { ControlEntry, ControlEvent, ControlRequest, EventsOptions } from './events.ts'
