import type { CommandTable } from './command-definition.ts'

/** Commands to the model hub and the image registry. */
export const HUB_COMMANDS = {
  'hub.down': {
    undo: 'hub.up',
    description: 'downloads stall and, after a while, are given up',
    apply: world => world.operationEffects.setHub({ hubDown: true }, 'hub.down'),
  },
  'hub.up': {
    undo: 'hub.down',
    description: 'the hub answers again',
    apply: world => world.operationEffects.setHub({ hubDown: false }, 'hub.up'),
  },
  'hub.throttle': {
    undo: 'hub.unthrottle',
    description: 'downloads run at a share of their rate',
    args: { share: { kind: 'share' } },
    apply: (world, _, { share }) => world.operationEffects.setHub({ hubShare: Number(share) }, 'hub.throttled'),
  },
  'hub.unthrottle': {
    undo: 'hub.throttle',
    description: 'downloads have their rate back',
    apply: world => world.operationEffects.setHub({ hubShare: 1 }, 'hub.unthrottled'),
  },
  'hub.gate': {
    target: 'repository',
    undo: 'hub.open',
    description: 'a repository answers 401 without a token',
    apply: (world, repo) => world.operationEffects.setRepository(repo, 'gated'),
  },
  'hub.open': {
    target: 'repository',
    undo: 'hub.gate',
    description: 'a repository can be downloaded without a token',
    apply: (world, repo) => world.operationEffects.setRepository(repo, 'open'),
  },
  'hub.remove': {
    target: 'repository',
    undo: 'hub.open',
    description: 'a repository answers 404',
    apply: (world, repo) => world.operationEffects.setRepository(repo, 'missing'),
  },
  'registry.down': {
    undo: 'registry.up',
    description: 'images cannot be pulled',
    apply: world => world.operationEffects.setRegistryDown(true),
  },
  'registry.up': {
    undo: 'registry.down',
    description: 'images can be pulled again',
    apply: world => world.operationEffects.setRegistryDown(false),
  },
} as const satisfies CommandTable
