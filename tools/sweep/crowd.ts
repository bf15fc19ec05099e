/**
 * Many worlds at once in one process, each asked the same fifty requests by five clients in an order of its own, all of
 * them in turn and overlapping: what each answers and becomes must be what it answers and becomes alone.
 */
import { createHash } from 'node:crypto'
import { answerRootRequest } from '../../src/server/routing/world-routing.ts'
import { Worlds } from '../../src/server/worlds/worlds.ts'
import { createSimulator, type Simulator, type SimulatorOptions } from '../../src/simulator/simulator.ts'
import { type Answer, type Ask, answered, asking, batchInput, requestOf, shuffled } from './asking.ts'

const MODEL = 'aurora-labs/aurora-8b-instruct'

/** One request of a client; it sees what the client was answered before. */
type Turn = (ask: Ask, answers: readonly Answer[]) => Promise<Answer>

const plain =
  (method: string, path: string, body?: unknown): Turn =>
  ask =>
    ask(method, path, body)
/** A request about what the client's nth answer held. */
const about =
  (nth: number, method: string, path: (body: Answer['body']) => string, body?: unknown): Turn =>
  (ask, answers) =>
    ask(method, path(answers[nth]!.body), body)

const deployer = (model_name: string): Turn[] => {
  const creating = plain('POST', '/deploy/llm', {
    model_name,
    gpu: 'L40S-48GB',
    max_batch_size: 16,
    hub: { repo: 'acme/chat-8b' },
  })
  const its = (method: string, more = '', body?: unknown) =>
    about(0, method, ({ deploy_id }) => `/deploy/${deploy_id}${more}`, body)
  return [
    creating,
    its('GET'),
    plain('GET', '/deploy/list?status=running'),
    its('PUT', '', { settings: { min_instances: 1, max_instances: 2 } }),
    its('GET'),
    its('POST', '/stop'),
    its('GET'),
    its('POST', '/start'),
    its('GET'),
    creating,
  ]
}

const batcher: Turn[] = [
  plain('POST', '/v1/files', batchInput('questions.jsonl', 3)),
  about(0, 'GET', ({ id }) => `/v1/files/${id}`),
  (ask, [file]) =>
    ask('POST', '/v1/batches', {
      input_file_id: file!.body.id,
      endpoint: '/v1/chat/completions',
      completion_window: '24h',
    }),
  about(2, 'GET', ({ id }) => `/v1/batches/${id}`),
  plain('GET', '/v1/batches'),
  about(2, 'GET', ({ id }) => `/v1/batches/${id}`),
  about(2, 'POST', ({ id }) => `/v1/batches/${id}/cancel`),
  about(2, 'GET', ({ id }) => `/v1/batches/${id}`),
  about(0, 'DELETE', ({ id }) => `/v1/files/${id}`),
  about(0, 'GET', ({ id }) => `/v1/files/${id}/content`),
]

const keeper: Turn[] = [
  plain('POST', '/v1/api-tokens', { name: 'crowd' }),
  plain('GET', '/v1/api-tokens'),
  about(0, 'GET', ({ token_id }) => `/v1/api-tokens/${token_id}`),
  about(0, 'DELETE', ({ token_id }) => `/v1/api-tokens/${token_id}`),
  about(0, 'GET', ({ token_id }) => `/v1/api-tokens/${token_id}`),
  plain('GET', '/v1/voices'),
  plain('GET', `/v2/hardware?model=${encodeURIComponent(MODEL)}`),
  plain('POST', '/vendor_a/v1/messages/count_tokens', { model: MODEL, messages: [{ role: 'user', content: 'Hello' }] }),
  plain('GET', '/nowhere'),
  plain('GET', '/v1/me?checklist=true'),
]

const payer: Turn[] = [
  plain('POST', '/payment/funds', { amount: 500 }),
  plain('GET', '/payment/checklist'),
  plain('POST', '/payment/topup', { amount: 5000, threshold: 260_000, enabled: true }),
  plain('POST', '/v1/me/gpu_limit/request', { gpu_type: 'H100-80GB', requested_limit: 16, reason: 'a crowd' }),
  plain('GET', '/v1/me/gpu_limit'),
  plain('GET', '/payment/usage/rent?from=1767225600'),
  plain('POST', '/payment/funds', { amount: -1 }),
  plain('GET', '/payment/checklist'),
  plain('GET', '/v1/me/gpu_limit'),
  plain('GET', '/payment/usage/rent?from=1767225600'),
]

/** Five clients, ten requests each; none needs what another was answered. */
const CLIENTS: readonly (readonly Turn[])[] = [
  deployer('acme/crowd-one'),
  deployer('acme/crowd-two'),
  batcher,
  keeper,
  payer,
]

/** How far a world's time is moved in between, so that its clients see things on their way. */
const MOVES = ['3s', '20s', '45s', '2m', '10m', '1h']

/** Whose turn it is in a world: a client, or the hand that moves time. */
type Order = readonly number[]
const HAND = CLIENTS.length

function orderOf(world: number): Order {
  const turns = [...CLIENTS.flatMap((requests, client) => requests.map(() => client)), ...MOVES.map(() => HAND)]
  return shuffled(turns, `world ${world}`)
}

const optionsOf = (world: number): SimulatorOptions => ({ fixtures: 'default', seed: world })

/** A world and its clients. */
class Played {
  readonly #sim: Simulator
  readonly #ask: Ask
  readonly #order: Order
  readonly #answers: Answer[][] = CLIENTS.map(() => [])
  readonly #record = createHash('sha256')
  #place = 0
  #moves = 0

  constructor(sim: Simulator, ask: Ask, order: Order) {
    this.#sim = sim
    this.#ask = ask
    this.#order = order
  }

  async turn(): Promise<void> {
    const client = this.#order[this.#place++]!
    if (client === HAND) {
      this.#record.update(JSON.stringify(await this.#sim.clock.advance(MOVES[this.#moves++]!)))
      return
    }
    const answers = this.#answers[client]!
    const answer = await CLIENTS[client]![answers.length]!(this.#ask, answers)
    answers.push(answer)
    this.#record.update(`${client} ${answer.status} ${JSON.stringify(answer.body)}\n`)
  }

  /** All that it answered, and what it has become. */
  outcome() {
    const { digest, ledger, clock } = this.#sim
    return { answers: this.#record.digest('hex'), digest, balance: ledger.balance, now: clock.iso }
  }
}

/**
 * Plays so many worlds at once behind one server's root address, so that tokens and their routing are part of it, then
 * each of them alone in a simulator.
 *
 * @returns the worlds that differ, and in what
 */
export async function crowd(worlds: number): Promise<string[]> {
  const server = new Worlds(createSimulator({ fixtures: 'default' }), { maxWorlds: worlds })
  const orders = Array.from({ length: worlds }, (_, world) => orderOf(world))
  const together = orders.map((order, world) => {
    const { sim, token, name } = server.make({ options: optionsOf(world) })
    return new Played(sim, askingAtRoot(server, token!, name), order)
  })
  const tails: Promise<void>[] = orders.map(() => Promise.resolve())
  const turns = shuffled(
    orders.flatMap((order, world) => order.map(() => world)),
    'all requests',
  )
  for (const [n, world] of turns.entries()) {
    tails[world] = tails[world]!.then(() => together[world]!.turn())
    // So that there are always some under way when another begins, and never all.
    if (n % 64 === 63) await tails[world]
  }
  await Promise.all(tails)

  const differing: string[] = []
  for (const [world, order] of orders.entries()) {
    const sim = createSimulator(optionsOf(world))
    const alone = new Played(sim, asking(sim), order)
    for (const _ of order) await alone.turn()
    const [here, there] = [together[world]!.outcome(), alone.outcome()]
    const what = (['answers', 'digest', 'balance', 'now'] as const).filter(name => here[name] !== there[name])
    if (what.length > 0) differing.push(`world ${world} of ${worlds} is another when it is alone: ${what.join(', ')}`)
  }
  return differing
}

function askingAtRoot(server: Worlds, token: string, name: string): Ask {
  return async (method, path, body) => {
    const request = requestOf(token, method, path, body)
    const answer = await answered(answerRootRequest(server, request, { clientAddress: '127.0.0.1', path }))
    // A token in an answer has the word that leads to this world; alone it needs none.
    return { ...answer, body: JSON.parse(JSON.stringify(answer.body).replaceAll(`.${name}"`, '"')) }
  }
}
