/** Logs in words, as an engine and who runs it would write them: a level, and what happened. */
import { MINUTE, type Micros, readable } from '../kernel/duration.ts'
import type { ServingChapter } from './chronicle.ts'
import type { DeploymentRow } from './deployment-row.ts'
import { CONTROLLER, type LogLine } from './logs.ts'
import { waitingOf } from './request-totals.ts'
import { type ServingFigures, servingFigures } from './series.ts'
import { NOTHING_SERVED, type Served, wholeRequests } from './serving.ts'
import type { World } from './world.ts'

/** How often a controller counts requests: at whole multiples since the epoch of the world. */
const COUNTED_EVERY: Micros = 5 * MINUTE

/** A line as it is read. */
export interface ToldLine {
  readonly at: Micros
  /** `<deploy_id>-<nth>`, or `<deploy_id>-controller`. */
  readonly pod: string
  readonly text: string
}

export interface LogWindow {
  readonly from: Micros
  readonly to: Micros
  /** The newest so many. */
  readonly limit: number
}

/** The newest lines of a deployment between two moments, oldest first. */
export function logLines(world: World, deployment: number, { from, to, limit }: LogWindow): ToldLine[] {
  const row = world.deployments.read(deployment)
  const told: ToldLine[] = []
  const last = new Map<number, LogLine>()
  for (const line of world.logs.of(deployment)) {
    if (line.at > to) break
    if (line.at >= from)
      told.push({ at: line.at, pod: podName(row, line.nth), text: textOf(world, row, line, last.get(line.nth)) })
    last.set(line.nth, line)
  }
  const counted = countsOf(world, row, { from, to, limit })
  // What happened at one moment stands in its order, and a count after it.
  return [...told, ...counted].sort((a, b) => a.at - b.at).slice(-limit)
}

function podName({ id }: Readonly<DeploymentRow>, nth: number): string {
  return nth === CONTROLLER ? `${id}-controller` : `${id}-${nth}`
}

/** Requests up to a moment: those of the load, and those that clients made. */
interface Counted {
  readonly served: number
  readonly refused: number
  readonly failed: number
  readonly left: number
  readonly waiting: number
}

/** The requests, counted at regular moments while there are any. */
function countsOf(world: World, row: Readonly<DeploymentRow>, { from, to, limit }: LogWindow): ToldLine[] {
  const { chronicle } = world
  // Read backwards, chapter by chapter, because only the newest lines are asked for.
  const chapters = chronicle.servings(row)
  let chapter: ServingChapter | undefined = chapters.next().value ?? undefined
  const offeredAt = (at: Micros): Served => {
    while (chapter !== undefined && chapter.at > at) chapter = chapters.next().value ?? undefined
    return chapter === undefined ? NOTHING_SERVED : chronicle.totalsIn(chapter, at).served
  }
  const pod = podName(row, CONTROLLER)
  const lines: ToldLine[] = []
  const before = countedAt(world, row, from - COUNTED_EVERY, chronicle.totalsAt(row, from - COUNTED_EVERY).served)
  let end = to - (to % COUNTED_EVERY)
  let offered = offeredAt(end)
  let counted = countedAt(world, row, end, offered)
  while (end >= from && end > 0 && lines.length < limit && (counted.waiting > 0 || over(counted) > over(before))) {
    const figures = chapter && servingFigures(chapter, offered, end)
    const start = end - COUNTED_EVERY
    offered = offeredAt(start)
    const earlier = countedAt(world, row, start, offered)
    const text = countText(earlier, counted)
    if (text !== undefined) lines.push({ at: end, pod, text: `${text}${figures ? pace(figures) : ''}` })
    end = start
    counted = earlier
  }
  return lines.reverse()
}

function countedAt({ chronicle }: World, row: Readonly<DeploymentRow>, at: Micros, offered: Served): Counted {
  const whole = wholeRequests(offered)
  // A count at a moment has what happened at that moment; before the world nothing did.
  const live = chronicle.requestsBy(row, at <= 0 ? -1 : at)
  return {
    served: whole.served + live.served,
    refused: whole.refused + live.refused,
    failed: live.failed,
    left: live.left,
    waiting: whole.backlog + waitingOf(live),
  }
}

function over({ served, refused, failed, left }: Counted): number {
  return served + refused + failed + left
}

/** Undefined for a stretch without requests. */
function countText(before: Counted, after: Counted): string | undefined {
  const served = after.served - before.served
  const refused = after.refused - before.refused
  const failed = after.failed - before.failed
  const left = after.left - before.left
  if (served + refused + failed + left + after.waiting === 0) return undefined
  const level = refused + failed > 0 ? 'WARNING' : 'INFO'
  const cutOff = failed > 0 ? `, ${failed} cut off` : ''
  const gone = left > 0 ? `, ${left} left before their turn` : ''
  return `${level} last ${readable(COUNTED_EVERY)}: ${served} requests served, ${refused} refused${cutOff}${gone}, ${after.waiting} waiting`
}

function pace(figures: ServingFigures): string {
  const { concurrency, time_to_first_token_seconds: first, tokens_per_second } = figures
  const firstToken = first === null ? 'no instance is ready' : `first token after ${first.toFixed(2)} s`
  return `; ${Math.round(concurrency)} in work, ${firstToken}, ${Math.round(tokens_per_second)} tokens/s`
}

function textOf(world: World, row: Readonly<DeploymentRow>, line: LogLine, before: LogLine | undefined): string {
  const { kind, fields = {}, at } = line
  const { plan, weights, numGpus, gpu } = row
  const repo = weights.repo || plan.modelName
  const image = plan.containerImage === '' ? "the provider's image" : `image ${plan.containerImage}`
  const gigabytes = `${(weights.bytes / 1e9).toFixed(1)} GB`
  const after = (...kinds: string[]) =>
    before !== undefined && before.at < at && kinds.includes(before.kind) ? ` after ${readable(at - before.at)}` : ''
  // What a fixture has is older than the world.
  const created = plan.createdAt === at ? 'created' : `created at ${world.clock.iso(plan.createdAt)}`
  switch (kind) {
    case 'instance.pending':
      return `INFO waiting for ${numGpus} ${gpu} on one node`
    case 'instance.placed':
      return `INFO placed on ${fields.node} with ${fields.gpus} of its GPUs${after('instance.pending')}`
    case 'instance.pulling':
      return fields.image === 'cached' ? `INFO ${image} is on the node` : `INFO pulling ${image}`
    case 'instance.imagePulled':
      return `INFO container started${after('instance.pulling')}; ${
        fields.weights === 'cached' ? `weights of ${repo} are on the node` : `downloading ${gigabytes} of ${repo}`
      }`
    case 'instance.loading':
      return `INFO weights complete${after('instance.imagePulled')}; loading ${gigabytes} into the memory of ${numGpus} ${gpu}`
    case 'instance.warming':
      return `INFO weights loaded${after('instance.loading')}; warming up for max_batch_size ${row.maxBatchSize}`
    case 'instance.ready':
      return `INFO ready${after('instance.warming')}; serving ${plan.modelName}`
    case 'instance.draining':
      return 'INFO draining: no new requests; those in work are finished'
    case 'instance.gone':
      return 'INFO stopped'
    case 'instance.outOfMemory':
    case 'instance.refused':
    case 'instance.crashed':
      return `ERROR ${fields.reason}`
    case 'instance.lost':
      return `ERROR lost while ${fields.state}: ${fields.reason}`
    case 'node.preemptionNoticed':
      return `WARNING ${fields.node} is taken back in ${readable(Number(fields.notice_seconds) * 1e6)}`
    case 'node.drained':
      return `WARNING ${fields.node} is being drained`
    case 'deployment.created':
      if (plan.type === 'legacy' || plan.type === 'tts') {
        return `INFO ${created}: ${plan.modelName} of the catalog, on GPUs of the provider`
      }
      return `INFO ${created}: ${plan.modelName} on ${numGpus} ${gpu} an instance`
    case 'deployment.failed':
      return `ERROR failed: ${fields.reason}`
    case 'deployment.limited':
      return fields.suspended === undefined
        ? `WARNING an instance is not asked for: the limit of the account for ${fields.gpu} is reached`
        : `WARNING an instance is not asked for: the account is suspended (${fields.suspended})`
    case 'deployment.resized':
      return `INFO min_instances ${fields.min_instances}, max_instances ${fields.max_instances}`
    case 'deployment.scaledUp':
    case 'deployment.scaledDown':
      return `INFO scaled from ${fields.from} to ${fields.to} instances`
    case 'deployment.idled':
      return 'INFO nobody has asked for a while: down to zero instances'
    case 'deployment.woken':
      return 'INFO work has come: an instance is asked for'
    case 'adapter.created':
      return `INFO ${created}: adapter ${plan.modelName} on ${fields.base}`
    case 'adapter.resident':
      return `INFO loaded on ${fields.instance}`
    case 'adapter.evicted':
      return `INFO left its slot on ${fields.instance} to another adapter`
    case 'batch.linesRetried':
      return `WARNING ${fields.lines} lines of ${fields.batch} are run again`
    default: {
      const [thing, status] = kind.split('.')
      return thing === 'batch' ? `INFO batch ${fields.batch} is ${status}` : `INFO status ${status}`
    }
  }
}
