/** The columns of the logs that the usage history keeps. */
import { INSTANCE_STAGES } from './instance-timeline.ts'

/** Returns the index of each column of a log by name. `previous` is the previous line of the same subject. -1: none. */
function columns<Name extends string>(...names: Name[]): Readonly<Record<Name | 'width', number>> {
  return { ...Object.fromEntries(names.map((name, i) => [name, i])), width: names.length } as Record<
    Name | 'width',
    number
  >
}

export const STATUS = columns('previous', 'at', 'status')
/** `encodedLoad` is twice the position of the load, plus 1 while batches run. */
export const SEGMENT = columns(
  'previous',
  'at',
  'effectiveInstances',
  'encodedLoad',
  'served',
  'refused',
  'backlog',
  'capacityTime',
  'usedTime',
)
export const TIMELINE = columns('previous', ...INSTANCE_STAGES, 'end', 'cause')
export const TOTALS = columns(
  'previous',
  'at',
  'arrived',
  'served',
  'refused',
  'failed',
  'left',
  'promptTokens',
  'answerTokens',
  'workTime',
  'timesLine',
)
/** Requests of an interval for which a phase took about equally long. */
export const TIMES = columns('previous', 'key', 'count')
export const LINES = columns('at', 'done', 'failed')
/** `gpuType` is -1 if the event is not about a type. */
export const EVENT = columns('at', 'event', 'gpuType')
export const CAPACITY = columns('at', 'gpuType', 'gpus', 'spotGpus', 'othersGpus')
export const PERIOD = columns('previous', 'from', 'to')
