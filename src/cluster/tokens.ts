import type { Fields } from '../kernel/journal.ts'
import { nearest } from '../kernel/nearest.ts'
import { purpose } from '../kernel/random.ts'
import type { Tape } from '../kernel/tape.ts'
import type { ApiToken } from '../store/records.ts'
import { CommandError } from './commands.ts'
import type { World } from './world.ts'

const ID = purpose('token.id')
const VALUE = purpose('token.value')

/** The account's API tokens: what its owner makes and deletes, and what is done to them by hand, by id or name. */
export class Tokens {
  readonly #world: World
  /** Tokens that were revoked and can be restored. Replaced, never edited. */
  #revoked: ReadonlyMap<string, ApiToken>
  /** Values of tokens that were deleted. Replaced, never edited. */
  #deleted: ReadonlySet<string>

  constructor(world: World, from?: Tokens) {
    this.#world = world
    this.#revoked = from ? from.#revoked : new Map()
    this.#deleted = from ? from.#deleted : new Set()
  }

  keep(tape: Tape): void {
    this.#revoked = tape.value(this.#revoked)
    this.#deleted = tape.value(this.#deleted)
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

  /** Values that were tokens of the account and were taken away. */
  get former(): string[] {
    return [...this.#deleted, ...[...this.#revoked.values()].map(({ token }) => token)]
  }

  /** Whether somebody has this name, or would have it again. */
  isTaken(name: string): boolean {
    return [...this.#world.store.tokens.all(), ...this.#revoked.values()].some(token => token.name === name)
  }

  /** A token of a new value, which is good at once. */
  create(name: string): ApiToken {
    const { chance, clock, store } = this.#world
    const key = this.#world.newKey('token', name)
    const token = store.tokens.put({
      token: chance.letters(32, key, VALUE),
      token_id: `token_${chance.letters(24, key, ID)}`,
      name,
      created_at: clock.unix(),
      allowed_ips: [],
    })
    this.#happened('token.created', token, { name })
    return token
  }

  /** By its id or its value; undefined for an unknown one, or one that was revoked. */
  find(named: string): ApiToken | undefined {
    const { tokens } = this.#world.store
    return tokens.get(named) ?? tokens.getByUnique(named)
  }

  /** Deletes a token for good. */
  delete(token: ApiToken): void {
    this.#deleted = new Set(this.#deleted).add(token.token)
    this.#world.store.tokens.delete(token.token_id)
    this.#happened('token.deleted', token)
  }

  /** Something a request did, not the user of the simulator. */
  #happened(kind: string, { token_id }: ApiToken, fields: Fields = {}): void {
    this.#world.happened(this.#world.ledger.account, kind, { token_id, ...fields })
    this.#world.seen()
  }

  #record(kind: string, token: ApiToken, addresses?: string): void {
    this.#world.command(this.#world.ledger.account, kind, {
      token_id: token.token_id,
      ...(addresses !== undefined && { addresses }),
    })
  }
}
