import type { CommandTable } from './command-definition.ts'

/** Commands to API tokens. */
export const TOKEN_COMMANDS = {
  'token.revoke': {
    target: 'token',
    undo: 'token.restore',
    description: 'requests with it answer 401',
    apply: (world, token) => world.apiTokens.revoke(token),
  },
  'token.restore': {
    target: 'token',
    undo: 'token.revoke',
    description: 'it is good again',
    apply: (world, token) => world.apiTokens.restore(token),
  },
  'token.allowIps': {
    target: 'token',
    undo: undefined,
    description: 'requests with it are answered from these addresses alone; none means from everywhere',
    args: { addresses: { kind: 'addresses' } },
    apply: (world, token, { addresses }) => world.apiTokens.setAllowedAddresses(token, addresses as readonly string[]),
  },
} as const satisfies CommandTable
