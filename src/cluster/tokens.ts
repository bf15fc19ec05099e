import { nearest } from '../kernel/nearest.ts'
import type { ApiToken } from '../store/records.ts'
import { CommandError } from './commands.ts'
import type { World } from './world.ts'

/** What is done to the account's API tokens by hand. A token is named by its id or its name, never by its value. */
export class Tokens {
  readonly #world: World
  /** Tokens that were revoked and can be restored. Replaced, never edited. */
  #revoked: ReadonlyMap<string, ApiToken>

  constructor(world: World, from?: Tokens) {
    this.#world = world
    this.#revoked = from ? from.#revoked : new Map()
  }

  /** The token of this id or name, revoked or not. Throws CommandError for an unknown one. */
  known(named: string): ApiToken {
    const all = [...this.#world.store.tokens.all(), ...this.#revoked.values()]
    const token = all.find(one => one.token_id === named || one.name === named)
    if (token) return token
    const hint = nearest(
      named,
      all.map(one => one.name),
    )
    throw new CommandError(
      `Failed to find the token '${named}': the account has none of that id or name. ` +
        (hint ? `Did you mean '${hint}'?` : `Names are ${all.map(one => one.name).join(', ')}.`),
    )
  }

  /** Ids of the tokens that were revoked and can be restored. */
  get revoked(): string[] {
    return [...this.#revoked.keys()]
  }

  revoke(named: string): void {
    const token = this.known(named)
    if (this.#revoked.has(token.token_id)) return
    this.#revoked = new Map(this.#revoked).set(token.token_id, token)
    this.#world.store.tokens.delete(token.token_id)
    this.#record('token.revoked', token)
  }

  restore(named: string): void {
    const token = this.known(named)
    if (!this.#revoked.has(token.token_id)) return
    this.#revoked = new Map([...this.#revoked].filter(([id]) => id !== token.token_id))
    this.#world.store.tokens.put(token)
    this.#record('token.restored', token)
  }

  allow(named: string, addresses: readonly string[]): void {
    const token = { ...this.known(named), allowed_ips: [...addresses] }
    if (this.#revoked.has(token.token_id)) this.#revoked = new Map(this.#revoked).set(token.token_id, token)
    else this.#world.store.tokens.put(token)
    this.#record('token.allowed', token, addresses.join(','))
  }

  #record(kind: string, token: ApiToken, addresses?: string): void {
    this.#world.command(this.#world.ledger.account, kind, {
      token_id: token.token_id,
      ...(addresses !== undefined && { addresses }),
    })
  }
}
