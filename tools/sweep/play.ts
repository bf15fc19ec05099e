/** Plays a random world from end to end. */

import { loadTokenizer } from '../../src/service/openai/tokenizer.ts'
import { findModelTarget } from '../../src/simulation/deployments/model-lookup.ts'
import { customWork } from '../../src/simulation/inference/media-work.ts'
import { findViolations } from '../../src/simulation/invariants/check-world.ts'
import { CommandError } from '../../src/simulation/operations/commands.ts'
import type { World } from '../../src/simulation/world.ts'
import { createSimulator, type Simulator } from '../../src/simulator/simulator.ts'
import { type Sometimes, type SometimesName, sometimes } from './sometimes.ts'
import type { Deed, RandomWorld } from './world.ts'

const PIECE = 2 * 3_600_000_000

export interface Played {
  readonly digest: string
  /** Entries of the journal. */
  readonly entries: number
  readonly balance: number
  /** How often each thing was met that a sweep must meet. */
  readonly met: Readonly<Record<SometimesName, number>>
}

/**
 * Plays a world. With `check` every law is held after every event; with `putBack` it goes on, half-way, from the bytes of a
 * snapshot of itself.
 *
 * @throws InvariantError, or what else went wrong
 */
export async function play(
  world: RandomWorld,
  options: { readonly check: boolean; readonly putBack?: boolean },
): Promise<Played> {
  const sim = createSimulator({
    ...world.options,
    check: options.check,
    onBug: error => {
      throw error
    },
  })
  await loadTokenizer()
  const counter = sometimes(sim)
  let entries = 0
  for (const [i, { at, deed }] of world.steps.entries()) {
    moveTo(sim, at, counter)
    if (options.putBack && i === world.steps.length >> 1) {
      entries = sim.world.journal.last
      sim.restore(sim.snapshot().toBytes())
    }
    await perform(sim, deed)
    counter.look()
  }
  moveTo(sim, Math.floor(world.hours * 3600), counter)
  const broken = options.check ? findViolations(sim.world) : []
  if (broken.length > 0) {
    const [{ invariant: law, message }] = broken as [(typeof broken)[0]]
    throw new Error(`Failed to keep invariant ${law}: ${message}. Only the full count at the end found it.`)
  }
  return {
    digest: sim.digest,
    entries: entries + sim.world.journal.last,
    balance: sim.ledger.balance,
    met: counter.end(),
  }
}

/** Moves in pieces, so that short-lived states are observed too. No client sleeps, so the moves need not wait. */
function moveTo({ world }: Simulator, seconds: number, counter: Sometimes): void {
  const target = Math.round(seconds * 1_000_000)
  while (world.clock.now < target) {
    world.runTo(Math.min(target, world.clock.now + PIECE))
    counter.look()
  }
}

async function perform(sim: Simulator, deed: Deed): Promise<void> {
  switch (deed.do) {
    case 'request':
      await send(sim, deed.method, deed.path, deed.body)
      return
    case 'about': {
      const id = sim.world.deployments.findLive(deed.name)?.deploy_id ?? 'nothing'
      await send(sim, deed.method, deed.path.replace('{id}', id))
      return
    }
    case 'batch': {
      const form = new FormData()
      form.set('purpose', 'batch')
      form.set('file', new File([inputOf(deed)], 'input.jsonl'))
      const uploaded = (await send(sim, 'POST', '/v1/files', form)) as { id?: string }
      await send(sim, 'POST', '/v1/batches', {
        input_file_id: uploaded.id ?? 'nothing',
        endpoint: '/v1/chat/completions',
        completion_window: '24h',
      })
      return
    }
    case 'cancel': {
      const [, row] = [...sim.world.batches.entries()][deed.nth] ?? []
      if (row) await send(sim, 'POST', `/v1/batches/${row.id}/cancel`)
      return
    }
    case 'rented': {
      const [, row] = [...sim.world.rentals.entries()][deed.nth] ?? []
      if (row === undefined) return
      const path = `/v1/${row.kind === 'hosted' ? 'hosted' : 'containers'}/${row.id}`
      if (deed.verb === 'delete' || row.kind === 'container') await send(sim, 'DELETE', path)
      else await send(sim, 'POST', `${path}/${deed.verb}`)
      return
    }
    case 'chats':
      chats(sim.world, deed)
      return
    case 'heal':
      sim.cluster.recoverAll()
      return
    case 'command':
      try {
        sim.world.commands.schedule({
          verb: deed.verb,
          ...(deed.target && { target: deed.target }),
          args: deed.args ?? {},
        })
      } catch (error) {
        // A node of the beginning may have gone by now.
        if (!(error instanceof CommandError)) throw error
      }
  }
}

/**
 * Clients who ask a model at once, as far as it takes them on; so many leave at once, the others wait for their answers.
 * Each third asks for work that is charged by units instead of tokens.
 */
export function chats(
  world: World,
  { model, clients, left, tokens }: { model: string; clients: number; left: number; tokens: number },
): void {
  const target = findModelTarget(world, model)
  const lengths = { promptTokens: 500, answerTokens: tokens, longestAnswer: tokens }
  const spec = { prefix: 'chatcmpl-', hash: `${tokens}`, ...lengths }
  const mediaSpec = { ...spec, work: customWork(world.profile), answerTokens: 0, longestAnswer: 2 }
  for (let client = 0; client < clients; client++) {
    // The service would refuse these requests with 402.
    if (world.ledger.suspensionReason !== undefined) return
    if (target === undefined || world.inferenceRequests.rejectionFor(model, 'token', target) !== undefined) return
    const call = world.inferenceRequests.submit(client % 3 === 2 ? mediaSpec : spec, { model, token: 'token' }, target)
    if (client < left) call.abandon(0)
  }
}

function inputOf({ lines, model, tokens, bad }: Extract<Deed, { do: 'batch' }>): string {
  return Array.from({ length: lines }, (_, i) => {
    const custom_id = bad === 'file' && i > 0 ? 'twice' : `line-${i}`
    const messages = bad === 'requests' && i % 7 === 3 ? [] : [{ role: 'user', content: `Question ${i} of many` }]
    const body = { model, messages, max_tokens: tokens }
    return JSON.stringify({ custom_id, method: 'POST', url: '/v1/chat/completions', body })
  }).join('\n')
}

async function send(sim: Simulator, method: string, path: string, body?: unknown): Promise<unknown> {
  const answer = await sim.fetch(`http://sim${path}`, {
    method,
    headers: { authorization: `Bearer ${sim.token}` },
    ...(body !== undefined && { body: body instanceof FormData ? body : JSON.stringify(body) }),
  })
  return answer.json()
}
