/** Fifty commands that do not concern each other, given to one world in many orders: what becomes of it is one thing. */
import { createSimulator, type Simulator } from '../../src/simulator/simulator.ts'
import { type Ask, asking, batchInput, shuffled } from './asking.ts'

const GPUS = ['L4-24GB', 'L40S-48GB', 'A100-80GB', 'H100-80GB', 'H200-141GB'] as const
/** An account without limits, so that the last request is not refused. */
const account = { gpu_limits: Object.fromEntries(GPUS.map(gpu => [gpu, null])) }
const ALONE = { min_instances: 1, max_instances: 1 }

type Command = (sim: Simulator, ask: Ask) => unknown

const times = (count: number, command: (i: number) => Command): Command[] =>
  Array.from({ length: count }, (_, i) => command(i))
/** About the deployment that has this name. */
const about =
  (name: string, method: string, more = '', body?: unknown): Command =>
  ({ world }, ask) =>
    ask(method, `/deploy/${world.deployments.findLive(name)!.deploy_id}${more}`, body)

export const COMMANDS: readonly Command[] = [
  ...times(14, i => (_, ask) => {
    const gpu = GPUS[i % GPUS.length]
    const hub = { repo: 'acme/chat-8b' }
    return ask('POST', '/deploy/llm', { model_name: `acme/order-${i}`, gpu, max_batch_size: 16, hub })
  }),
  ...times(4, i => (_, ask) => {
    const image = { container_image: `registry.example/order:${i % 2}`, cloud_init_user_data: '#cloud-config' }
    return ask('POST', '/v1/containers', { name: `order-${i}`, gpu_config: `2x${GPUS[i]}`, ...image })
  }),
  ...times(2, i => (_, ask) => ask('POST', '/v1/hosted', { name: `order-${i}`, plan_id: 'small' })),
  ...times(15, i => (_, ask) => ask('POST', '/v1/files', batchInput(`order-${i}.jsonl`, i + 1))),
  ...times(
    10,
    i =>
      ({ cluster }) =>
        cluster.node(cluster.nodes()[i]!.name).degrade(1.5),
  ),
  about('acme/assistant', 'PUT', '', { settings: ALONE }),
  about('acme/summarizer', 'POST', '/start'),
  about('acme/translator', 'POST', '/stop'),
  (_, ask) => ask('PATCH', '/v1/hosted/inst_HmSomZNCU5EAVUqwFpxpN9vc', { name: 'order' }),
  (_, ask) => ask('POST', '/payment/funds', { amount: 500 }),
]

/**
 * Gives them in so many orders, half of them without waiting for one before the next, and lets two hours pass.
 *
 * @returns what became of it, each outcome once
 */
export async function orders(count: number): Promise<string[]> {
  const outcomes = new Set<string>()
  for (let nth = 0; nth < count; nth++) {
    const sim = createSimulator({ fixtures: 'default', with: { account } })
    const ask = asking(sim)
    const accepted: Ask = async (...request) => {
      const answer = await ask(...request)
      if (answer.status >= 400) throw new Error(`${request[0]} ${request[1]}: ${answer.status} ${answer.body.error}`)
      return answer
    }
    const given: unknown[] = []
    for (const command of shuffled(COMMANDS, `order ${nth}`)) {
      const result = command(sim, accepted)
      given.push(result)
      if (nth % 2 === 0) await result
    }
    await Promise.all(given)
    await sim.clock.advance('2h')
    outcomes.add(`digest ${sim.digest}, balance ${sim.ledger.balance}`)
  }
  return [...outcomes]
}
