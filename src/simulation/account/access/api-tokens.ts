import type { ApiToken } from '../../../data/records/account.ts'
import type { Archive } from '../../../kernel/archive.ts'
import type { EntryFields } from '../../../kernel/journal.ts'
import { purpose } from '../../../kernel/random.ts'
import { formatSuggestion } from '../../../lib/did-you-mean.ts'
import { escapeRegExp } from '../../../lib/patterns.ts'
import { hideSecrets, type Replacement } from '../../../lib/text/secrets.ts'
import { CommandError } from '../../command-error.ts'
import type { JournalKindName } from '../../journal-kinds.ts'
import { Part } from '../../part.ts'
import type { LedgerParts } from '../ledger.ts'

const ID = purpose('token.id')
const VALUE = purpose('token.value')
/** Characters of the shortest token that is hidden in every text: a shorter one is a part of many words. */
const MIN_HIDDEN = 6

/** The account's API tokens: what its owner makes and deletes, and what is done to them by hand, by id or name. */
export class ApiTokens extends Part<LedgerParts> {
  /** Tokens that were revoked and can be restored. Replaced, never edited. */
  #revoked: ReadonlyMap<string, ApiToken> = new Map()
  /** Values of tokens that were deleted. Replaced, never edited. */
  #deleted: ReadonlySet<string> = new Set()

  archive(archive: Archive): void {
    this.#revoked = archive.value(this.#revoked)
    this.#deleted = archive.value(this.#deleted)
  }

  /** Returns the token of an id, a name or a value, revoked or not. Throws CommandError for an unknown one. */
  require(key: string): ApiToken {
    const tokens = [...this.context.store.tokens.all(), ...this.#revoked.values()]
    const token = tokens.find(one => [one.token_id, one.name, one.token].includes(key))
    if (token) return token
    const names = tokens.map(({ name }) => name)
    const advice = formatSuggestion(key, names, `Names are ${names.join(', ')}.`)
    throw new CommandError(
      `Failed to find the token '${key}': the account has none of that id, name or value. ${advice}`,
    )
  }

  /** Ids of the tokens that were revoked and can be restored. */
  get revokedIds(): string[] {
    return [...this.#revoked.keys()]
  }

  revoke(idOrName: string): void {
    const token = this.require(idOrName)
    if (this.#revoked.has(token.token_id)) return
    this.#revoked = new Map(this.#revoked).set(token.token_id, token)
    this.context.store.tokens.delete(token.token_id)
    this.#recordCommand('token.revoked', token)
  }

  restore(idOrName: string): void {
    const token = this.require(idOrName)
    if (!this.#revoked.has(token.token_id)) return
    this.#revoked = new Map([...this.#revoked].filter(([id]) => id !== token.token_id))
    this.context.store.tokens.put(token)
    this.#recordCommand('token.restored', token)
  }

  setAllowedAddresses(idOrName: string, addresses: readonly string[]): void {
    const token = { ...this.require(idOrName), allowed_ips: [...addresses] }
    if (this.#revoked.has(token.token_id)) this.#revoked = new Map(this.#revoked).set(token.token_id, token)
    else this.context.store.tokens.put(token)
    this.#recordCommand('token.allowed', token, addresses.join(','))
  }

  /** Values that were tokens of the account and were taken away. */
  get formerValues(): string[] {
    return [...this.#deleted, ...[...this.#revoked.values()].map(({ token }) => token)]
  }

  /**
   * Returns a text without credentials. Everything that leaves the simulator for a reader passes here.
   *
   * @param replace returns what takes the place of a credential. Default: the end of a token of the account, and
   *   `(hidden)` for others
   */
  hideSecrets(text: string, replace?: Replacement): string {
    let hidden = text
    for (const value of [...this.context.store.tokens.all().map(({ token }) => token), ...this.formerValues]) {
      if (value.length < MIN_HIDDEN || !hidden.includes(value)) continue
      // The name of a field stays, also if a token is the same word.
      const own = new RegExp(String.raw`${escapeRegExp(value)}(?!\\*"\s*:)`, 'g')
      hidden = hidden.replaceAll(own, () => replace?.(value, value) ?? `…${value.slice(-4)}`)
    }
    return hideSecrets(hidden, replace)
  }

  /** Whether a token has this name, or would have it after a restore. */
  isNameTaken(name: string): boolean {
    return [...this.context.store.tokens.all(), ...this.#revoked.values()].some(token => token.name === name)
  }

  /** A token of a new value, which is good at once. */
  create(name: string): ApiToken {
    const { chance, clock, store } = this.context
    const key = this.context.newKey('token', name)
    const token = store.tokens.put({
      token: chance.letters(32, key, VALUE),
      token_id: `token_${chance.letters(24, key, ID)}`,
      name,
      created_at: clock.unix(),
      allowed_ips: [],
    })
    this.#recordRequest('token.created', token, { name })
    return token
  }

  /** By its id or its value; undefined for an unknown one, or one that was revoked. */
  find(idOrValue: string): ApiToken | undefined {
    const { store } = this.context
    return store.tokens.get(idOrValue) ?? store.tokenByValue(idOrValue)
  }

  /** Deletes a token for good. */
  delete(token: ApiToken): void {
    this.#deleted = new Set(this.#deleted).add(token.token)
    this.context.store.tokens.delete(token.token_id)
    this.#recordRequest('token.deleted', token)
  }

  /** Deletes all tokens, also the revoked ones, because the account is deleted. */
  deleteAll(): void {
    for (const token of this.#revoked.values()) {
      this.#deleted = new Set(this.#deleted).add(token.token)
      this.#recordRequest('token.deleted', token)
    }
    this.#revoked = new Map()
    for (const token of this.context.store.tokens.all()) this.delete(token)
  }

  /** Something a request did, not the user of the simulator. */
  #recordRequest(kind: JournalKindName, { token_id }: ApiToken, fields: EntryFields = {}): void {
    this.context.record(this.parts.ledger.account, kind, { token_id, ...fields })
    this.context.markVisibleChange()
  }

  #recordCommand(kind: JournalKindName, token: ApiToken, addresses?: string): void {
    this.context.recordCommand(this.parts.ledger.account, kind, {
      token_id: token.token_id,
      ...(addresses !== undefined && { addresses }),
    })
  }
}
