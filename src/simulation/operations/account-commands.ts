import { micros } from '../../kernel/duration.ts'
import { CommandError } from '../command-error.ts'
import {
  type CommandTable,
  type CommandTargets,
  requireGpuType,
  type SUSPENSION_REASONS,
} from './command-definition.ts'

const CENTS_PER_USD = 100

/** Commands to the account: card, top-ups, prices, GPU quotas, suspension. */
export const ACCOUNT_COMMANDS = {
  'card.decline': {
    undo: 'card.accept',
    description: 'charges to the card fail',
    apply: world => world.ledger.setCardAccepted(false),
  },
  'card.accept': {
    undo: 'card.decline',
    description: 'charges to the card go through; a failed top-up is made up for',
    apply: world => world.ledger.setCardAccepted(true),
  },
  'topup.delay': {
    undo: 'topup.normal',
    description: 'automatic top-ups come this much later, one under way included',
    args: { by: { kind: 'duration' } },
    apply: (world, _, { by }) => world.ledger.topups.setDelay(micros(by as string)),
  },
  'topup.normal': {
    undo: 'topup.delay',
    description: 'they come as soon as ever; one that is late comes now',
    apply: world => world.ledger.topups.setDelay(0),
  },
  'funds.set': {
    description:
      'the account has this many US dollars left, whatever it had; below the threshold of an enabled top-up the card is charged, unless card.decline comes before',
    args: { usd: { kind: 'usd' } },
    apply: (world, _, { usd }) => world.ledger.setFunds(Number(usd) * CENTS_PER_USD),
  },
  'price.set': {
    target: 'gpuType',
    description: 'a GPU of a type costs this much an hour from now on',
    args: { cents: { kind: 'cents' } },
    apply: (world, gpu, { cents }) => world.ledger.setPrice(requireGpuType(gpu), Number(cents)),
  },
  'limit.set': {
    target: 'gpuType',
    description: 'the account may hold this many GPUs of a type; null for no limit',
    args: { limit: { kind: 'countOrNone' } },
    apply: (world, gpu, { limit }) => world.gpuQuotas.setByCommand(requireGpuType(gpu), limit as number | null),
  },
  'limit.approve': {
    target: 'gpuType',
    undo: 'limit.deny',
    description: 'the pending request for a type is approved now',
    apply: (world, gpu) => decideQuotaRequest(world, gpu, 'approved'),
  },
  'limit.deny': {
    target: 'gpuType',
    undo: 'limit.approve',
    description: 'the pending request for a type is denied now',
    apply: (world, gpu) => decideQuotaRequest(world, gpu, 'denied'),
  },
  'rateLimit.set': {
    description: 'so many requests to a model may be in flight with a token; null for no limit',
    args: { requests: { kind: 'countOrNone' } },
    apply: (world, _, { requests }) => world.access.rateLimits.setByCommand({ requests: (requests as number) ?? -1 }),
  },
  'rateLimit.setTokens': {
    description: 'a model accepts so many tokens a minute with a token; null for no limit',
    args: { tokens: { kind: 'countOrNone' } },
    apply: (world, _, { tokens }) =>
      world.access.rateLimits.setByCommand({ tokensPerMinute: (tokens as number) ?? -1 }),
  },
  'rateLimit.approve': {
    undo: 'rateLimit.deny',
    description: 'the pending request for higher rate limits is approved now',
    apply: world => decideRateLimits(world, 'approved'),
  },
  'rateLimit.deny': {
    undo: 'rateLimit.approve',
    description: 'the pending request for higher rate limits is denied now',
    apply: world => decideRateLimits(world, 'denied'),
  },
  'account.suspend': {
    undo: 'account.resume',
    description: 'creates answer 402, and what runs stops after the grace',
    args: { reason: { kind: 'reason', optional: true } },
    apply: (world, _, { reason }) =>
      world.ledger.suspension.impose((reason ?? 'admin') as (typeof SUSPENSION_REASONS)[number]),
  },
  'account.resume': {
    undo: 'account.suspend',
    description: 'the account may spend again, unless it has no funds',
    apply: world => {
      const reason = world.ledger.suspension.resume()
      if (reason === undefined) return
      throw new CommandError(
        reason === 'balance'
          ? "Failed to execute 'account.resume': the account is out of funds. Add some with POST /payment/funds."
          : "Failed to execute 'account.resume': the spending limit is reached. Raise it with POST /payment/config.",
      )
    },
  },
} as const satisfies CommandTable

function decideQuotaRequest(world: CommandTargets, gpu: string, decision: 'approved' | 'denied'): void {
  if (world.gpuQuotas.decideByCommand(requireGpuType(gpu), decision)) return
  const commandName = decision === 'approved' ? 'limit.approve' : 'limit.deny'
  throw new CommandError(
    `Failed to execute '${commandName}': no request for ${gpu} is pending. File one with POST /v1/me/gpu_limit/request first.`,
  )
}

function decideRateLimits({ access }: CommandTargets, decision: 'approved' | 'denied'): void {
  if (access.rateLimits.decide(decision)) return
  const commandName = decision === 'approved' ? 'rateLimit.approve' : 'rateLimit.deny'
  throw new CommandError(
    `Failed to execute '${commandName}': no request is pending. File one with POST /v1/me/rate_limit/request first.`,
  )
}
